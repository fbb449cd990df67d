"""Slow start: do one, then two at once, then four. What cannot be done is so found out by one request, not by 500."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


async def slow_start(work: Sequence[T], do: Callable[[T], Awaitable[object]], *, first: int = 1) -> Exception | None:
    """Do each, in batches that double; after a batch in which one failed, no more. The first failure, if any."""
    begun, size = 0, first
    while begun < len(work):
        batch = work[begun : begun + size]
        begun, size = begun + len(batch), 2 * size
        if (failed := await at_once(batch, do)) is not None:
            return failed
    return None


async def at_once(work: Sequence[T], do: Callable[[T], Awaitable[object]]) -> Exception | None:
    """Do all at once, to their end. The first failure, if any."""
    results = await asyncio.gather(*map(do, work), return_exceptions=True)
    failures = [result for result in results if isinstance(result, BaseException)]
    for failure in failures:
        if not isinstance(failure, Exception):
            raise failure
    return next((failure for failure in failures if isinstance(failure, Exception)), None)
