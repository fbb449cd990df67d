"""Waiting for what another process does: look, and look again until a deadline."""

import time
from collections.abc import Callable

from trimtab.errors import TrimtabError

DEADLINE = 60.0
_INTERVAL = 0.02


class DeadlineError(TrimtabError):
    """Something that was waited for did not come true in time."""


def wait_until(condition: Callable[[], object], what: str, *, seconds: float = DEADLINE) -> None:
    """Return as soon as the condition holds; what it raises goes to the caller."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise DeadlineError(f"waited {seconds:g} s in vain for {what}")
        time.sleep(_INTERVAL)
