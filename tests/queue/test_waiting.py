"""Workers that wait for the queue, in virtual time."""

from __future__ import annotations

import asyncio

from tests.cache.samples import virtual

from trimtab.queue import AsyncWorkQueue, WorkQueue


class Served:
    """A queue on the loop's clock, and what its workers were given: when, and what."""

    def __init__(self, workers: int, *, works: float = 0.0) -> None:
        self.queue = WorkQueue(clock=asyncio.get_running_loop().time)
        self.waiting = AsyncWorkQueue(self.queue)
        self.given: list[tuple[float, str]] = []
        self.began = self.queue.now()
        self.works = works
        self.workers = [asyncio.create_task(self.work()) for _ in range(workers)]

    async def work(self) -> None:
        while (item := await self.waiting.get()) is not None:
            self.given.append((self.now(), item.key))
            if self.works:
                await asyncio.sleep(self.works)
            self.queue.done(item.key)

    def now(self) -> float:
        return round(self.queue.now() - self.began, 3)

    async def end(self) -> float:
        await asyncio.gather(*self.workers)
        return self.now()


@virtual
async def test_workers_are_woken_when_something_is_ready() -> None:
    served = Served(3, works=1.0)
    await asyncio.sleep(1)
    served.queue.add_after("later", 20)
    served.queue.add_after("soon", 2)
    await asyncio.sleep(5)
    served.queue.add("now")
    served.queue.add("now, too")
    await asyncio.sleep(30)
    assert served.given == [(3, "soon"), (6, "now"), (6, "now, too"), (21, "later")]
    served.queue.shut_down()
    assert await served.end() == 36


@virtual
async def test_what_was_delayed_while_all_were_busy_is_ready_in_time() -> None:
    served = Served(1, works=1.0)
    served.queue.add("now")
    await asyncio.sleep(0.5)
    served.queue.add_after("soon", 2)
    await asyncio.sleep(10)
    assert served.given == [(0, "now"), (2.5, "soon")]
    served.workers[0].cancel()


@virtual
async def test_thousands_that_are_due_at_once_are_all_handed_out() -> None:
    """After an outage everything is tried again at about the same time."""
    served = Served(3)
    await asyncio.sleep(1)
    for number in range(5000):
        served.queue.add_after(str(number), 2)
    await asyncio.sleep(5)
    assert served.given == [(3, str(number)) for number in range(5000)]
    for worker in served.workers:
        worker.cancel()


@virtual
async def test_a_worker_that_goes_while_it_is_woken_leaves_the_key_to_another() -> None:
    served = Served(2)
    await asyncio.sleep(1)
    served.queue.add("a")
    served.workers[0].cancel()
    await asyncio.sleep(1)
    assert served.given == [(1, "a")]
    await asyncio.wait(served.workers[:1])
    served.workers[1].cancel()  # it waits and was not woken
    served.queue.add("b")  # before it knows that it is to go
    await asyncio.wait(served.workers)
    assert [worker.cancelled() for worker in served.workers] == [True, True]
    assert served.queue.listener is None
    assert (await served.waiting.get()) is not None


@virtual
async def test_without_drain_workers_end_at_once() -> None:
    served = Served(2, works=5.0)
    for key in "abcd":
        served.queue.add(key)
    await asyncio.sleep(1)
    served.queue.shut_down()
    served.queue.add("e")
    assert await served.end() == 5  # what they had, they finished
    assert [key for _, key in served.given] == ["a", "b"]


@virtual
async def test_with_drain_workers_end_when_nothing_is_left() -> None:
    served = Served(3, works=5.0)
    for key in "abcd":
        served.queue.add(key)
    await asyncio.sleep(1)
    served.queue.add("a")  # while it is worked on
    served.queue.add_after("never", 3)
    served.queue.shut_down(drain=60)
    assert await served.end() == 10
    assert served.given == [(0, "a"), (0, "b"), (0, "c"), (5, "d"), (5, "a")]


@virtual
async def test_a_drain_has_an_end() -> None:
    served = Served(2, works=5.0)
    for key in "abcdef":
        served.queue.add(key)
    await asyncio.sleep(1)
    served.queue.add("a")
    served.queue.shut_down(drain=7)
    assert await served.end() == 10
    assert [key for _, key in served.given] == ["a", "b", "c", "d"]


@virtual
async def test_whoever_waits_for_a_busy_key_is_told_of_the_deadline() -> None:
    served = Served(2, works=100.0)
    served.queue.add("a")
    await asyncio.sleep(1)
    served.queue.add("a")
    served.queue.shut_down(drain=10)
    done, _ = await asyncio.wait(served.workers, return_when=asyncio.FIRST_COMPLETED)
    assert (len(done), served.now()) == (1, 11)
    assert await served.end() == 100


@virtual
async def test_workers_that_never_wait_let_others_have_their_turn() -> None:
    served = Served(1)
    for number in range(100):
        served.queue.add(str(number))
    for _ in range(3):  # turns of the loop
        await asyncio.sleep(0)
    assert 0 < len(served.given) < 50
    await asyncio.sleep(1)
    assert len(served.given) == 100
    served.workers[0].cancel()
