"""The root of every error that Trimtab raises on purpose, and how others' words fit into one."""


class TrimtabError(Exception):
    """Something that a person can act on.

    Its text is one line that says what went wrong, with which object or file, and what to do about it.
    Programs print that line and exit non-zero; only errors of other types deserve a traceback.
    """


def one_line(text: str, limit: int = 300) -> str:
    """Make others' words fit into an error: one line, nothing that a terminal obeys, not too long.

    What is cut is the middle: servers begin with where it is wrong, and end with why.
    """
    words = "".join(c if c.isprintable() else " " for c in text).split()
    line = " ".join(words)
    half = limit // 2
    return line if len(line) <= limit else f"{line[:half]} … {line[-half:]}"
