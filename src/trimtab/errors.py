"""The root of every error that Trimtab raises on purpose."""


class TrimtabError(Exception):
    """Something that a person can act on.

    Its text is one line that says what went wrong, with which object or file, and what to do about it.
    Programs print that line and exit non-zero; only errors of other types deserve a traceback.
    """
