"""What a reconciler may answer: nothing (all is well), `requeue(after=30)`, or `terminal(error)`."""

from __future__ import annotations

from datetime import timedelta
from typing import TypeAlias

import msgspec

from trimtab.errors import TrimtabError


class Requeue(msgspec.Struct, frozen=True, gc=False):
    """Look at this key again: after so many seconds, or (None) as if it had failed, later each time."""

    after: float | None = None


class Terminal(TrimtabError):
    """Trying again will not help: only a change of an object will. It may be returned or raised."""


Result: TypeAlias = Requeue | Terminal
"""What a reconciler returns where there is something to say."""


def requeue(*, after: float | timedelta | None = None) -> Requeue:
    """Look at the object again after so many seconds; without, after a pause that grows each time, as for failures.

    An event brings it back sooner.
    """
    if after is None:
        return Requeue()
    seconds = after.total_seconds() if isinstance(after, timedelta) else float(after)
    if seconds <= 0:
        raise TrimtabError(
            f"requeue(after={after!r}) would go round without a pause: give seconds, or leave `after` out"
        )
    return Requeue(seconds)


def terminal(error: BaseException | str) -> Terminal:
    """Say that trying again will not help. The error is logged and counted, and nothing is tried until an event comes.

    `return terminal("no such plan: edit spec.plan")`, or `raise` it.
    """
    if isinstance(error, Terminal):
        return error
    made = Terminal(str(error))
    if isinstance(error, BaseException):
        made.__cause__ = error
    return made
