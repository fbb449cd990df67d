"""One, two, four: and no more after a failure."""

from __future__ import annotations

import asyncio

import pytest

from trimtab.controllers.replicaset.slow_start import at_once, slow_start


@pytest.mark.parametrize(
    ("count", "failing", "tried"),
    [(0, 0, 0), (1, 99, 1), (20, 99, 20), (20, 0, 1), (20, 2, 3), (20, 3, 7), (20, 6, 7), (20, 7, 15)],
)
async def test_how_many_are_tried_until_one_fails(count: int, failing: int, tried: int) -> None:
    done: list[int] = []

    async def do(number: int) -> None:
        done.append(number)
        if number >= failing:
            raise ValueError(f"no {number}")

    error = await slow_start(range(count), do)
    assert done == list(range(tried))
    assert str(error) == ("None" if failing == 99 or not count else f"no {failing}")


async def test_a_batch_is_done_at_once_and_to_its_end() -> None:
    at_work, most, ended = 0, 0, 0

    async def do(number: int) -> None:
        nonlocal at_work, most, ended
        at_work += 1
        most = max(most, at_work)
        await asyncio.sleep(0)
        at_work -= 1
        if number == 0:
            raise ValueError("first")
        ended += 1

    error = await at_once(range(5), do)
    assert (str(error), most, ended) == ("first", 5, 4)


async def test_who_is_cancelled_cancels() -> None:
    async def do(_: int) -> None:
        await asyncio.Event().wait()

    task = asyncio.create_task(at_once(range(3), do))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
