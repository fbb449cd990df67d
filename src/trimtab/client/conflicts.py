"""Trying again when somebody else wrote in between."""

from __future__ import annotations

import asyncio
import random as chance
from collections.abc import Awaitable, Callable
from typing import TypeVar

from trimtab.client.apierrors import Conflict

T = TypeVar("T")


async def retry_on_conflict(
    attempt: Callable[[], Awaitable[T]],
    *,
    tries: int = 8,
    pause: float = 0.01,
    random: Callable[[], float] = chance.random,
) -> T:
    """The result of `attempt`, called again while it raises Conflict. It has to read anew each time, then write.

    The pauses double: who meets somebody that writes without a break has to outlast them.
    """
    for number in range(tries - 1):
        try:
            return await attempt()
        except Conflict:
            await asyncio.sleep(pause * 2**number * (0.5 + random()))
    return await attempt()
