"""Sets of indexes, as a Job's status writes them: `1,3-5,7`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

_LONGEST: Final = 10  # digits


def read_indexes(text: str | None, completions: int) -> set[int]:
    """The indexes that are meant, of those that there are. What makes no sense is left out."""
    found: set[int] = set()
    for part in (text or "").split(","):
        first, _, last = part.partition("-")
        low, high = _number(first), _number(last or first)
        if low is not None and high is not None:
            found.update(range(low, min(high, completions - 1) + 1))
    return found


def write_indexes(indexes: Iterable[int]) -> str:
    """The shortest way to write them: two in a row with a comma, three or more with a dash."""
    parts: list[str] = []
    run: list[int] = []
    for index in sorted(set(indexes)):
        if run and index != run[-1] + 1:
            parts.append(_written(run))
            run = []
        run.append(index)
    return ",".join([*parts, _written(run)] if run else parts)


def _written(run: list[int]) -> str:
    return "-".join(map(str, (run[0], run[-1]))) if len(run) > 2 else ",".join(map(str, run))


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _LONGEST else None
