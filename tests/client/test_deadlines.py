"""Deadlines, in virtual time: they end what takes too long, and nothing else."""

# ruff: noqa: PT012 - what is left unfinished is the point

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from trimtab.client.deadlines import Deadlines

Run = Callable[[Any], Any]
LATE = 0.25  # how late a deadline may be


def now() -> float:
    return asyncio.get_running_loop().time()


def test_what_takes_too_long_is_ended(run: Run) -> None:
    async def main() -> None:
        deadlines = Deadlines()
        with pytest.raises(TimeoutError), deadlines.within(3) as deadline:
            assert deadline.left == 3
            await asyncio.sleep(1)
            assert deadline.left == 2
            await asyncio.sleep(100)
        assert 3 <= now() <= 3 + LATE
        await asyncio.sleep(10)  # the task is as good as new
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0

    run(main())


def test_what_ends_in_time_is_left_alone(run: Run) -> None:
    async def main() -> None:
        deadlines = Deadlines()
        for _ in range(10):
            with deadlines.within(3):
                await asyncio.sleep(2.9)
        await asyncio.sleep(30)
        with pytest.raises(KeyError), deadlines.within(3):
            raise KeyError

    run(main())


def test_many_at_once_end_each_at_its_own_time(run: Run) -> None:
    async def one(deadlines: Deadlines, allowed: float, takes: float) -> tuple[bool, float]:
        try:
            with deadlines.within(allowed):
                await asyncio.sleep(takes)
        except TimeoutError:
            return False, now()
        return True, now()

    async def main() -> None:
        deadlines = Deadlines()
        wanted = [(a / 7, t / 5) for a in range(1, 30) for t in range(1, 30)]
        ends = await asyncio.gather(*(one(deadlines, allowed, takes) for allowed, takes in wanted))
        for (allowed, takes), (done, at) in zip(wanted, ends, strict=True):
            if takes < allowed:
                assert (done, at) == (True, takes)
            elif takes > allowed + LATE:
                assert not done
                assert allowed <= at <= allowed + LATE

    run(main())


def test_a_cancellation_from_outside_wins(run: Run) -> None:
    async def body(deadlines: Deadlines) -> None:
        with deadlines.within(3):
            await asyncio.sleep(100)

    async def main() -> None:
        deadlines = Deadlines()
        task = asyncio.create_task(body(deadlines))
        await asyncio.sleep(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert now() == 1

    run(main())


def test_a_cancellation_at_the_same_moment_wins(run: Run) -> None:
    async def main() -> None:
        deadlines = Deadlines()
        entered: list[Any] = []

        async def body() -> None:
            with deadlines.within(3) as deadline:
                entered.append(deadline)
                await asyncio.sleep(100)

        task = asyncio.create_task(body())
        await asyncio.sleep(1)
        entered[0].expire()
        task.cancel()  # before the task could run
        with pytest.raises(asyncio.CancelledError):
            await task

    run(main())


@pytest.mark.parametrize(("inner", "outer"), [(1, 5), (5, 1)])
def test_deadlines_may_be_nested(run: Run, inner: float, outer: float) -> None:
    async def main() -> None:
        deadlines = Deadlines()
        seen: list[str] = []
        with pytest.raises(TimeoutError), deadlines.within(outer):
            try:
                with deadlines.within(inner):
                    await asyncio.sleep(100)
            except TimeoutError:
                seen.append("inner")
            await asyncio.sleep(100)
        assert seen == (["inner"] if inner < outer else [])
        assert outer <= now() <= outer + LATE

    run(main())


def test_asyncio_timeout_around_it_is_not_mistaken(run: Run) -> None:
    async def main() -> None:
        deadlines = Deadlines()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1):
                with deadlines.within(5):
                    await asyncio.sleep(100)
        assert now() == 1
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(50):
                with deadlines.within(5):
                    await asyncio.sleep(100)
        assert 6 <= now() <= 6 + LATE

    run(main())


def test_a_body_that_swallows_the_cancellation_goes_on(run: Run) -> None:
    async def main() -> None:
        with Deadlines().within(1), suppress(asyncio.CancelledError):
            await asyncio.sleep(100)
        await asyncio.sleep(5)

    run(main())


def test_one_timer_for_the_earliest_and_none_when_idle(run: Run) -> None:
    async def main() -> None:
        deadlines = Deadlines()
        with deadlines.within(20):
            late = deadlines._timer
            with deadlines.within(30):
                assert deadlines._timer is late
            with deadlines.within(10):
                assert deadlines._timer is not late  # nearer than what was looked for
        await asyncio.sleep(60)
        assert deadlines._timer is None  # it was not set anew
        with deadlines.within(10):
            deadlines.close()
            assert deadlines._timer is None

    run(main())


def test_an_idle_loop_is_not_woken(run: Run) -> None:
    """A watch has a deadline for its silence all the time: nobody may look at it four times a second."""
    looks = 0

    class Counting(Deadlines):
        def _look(self, loop: asyncio.AbstractEventLoop) -> None:
            nonlocal looks
            looks += 1
            super()._look(loop)

    async def main() -> None:
        deadlines = Counting()
        for _ in range(60):
            with deadlines.within(75):
                await asyncio.sleep(60)

    run(main())
    assert looks <= 60
