"""The error for a value that no API server would take."""

from trimtab.errors import TrimtabError


class InvalidValueError(TrimtabError, ValueError):
    """A quantity, duration, time, selector or reference that is not well formed: its text says why."""
