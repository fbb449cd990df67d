"""Handlers: each is told in order and one by one, at its own pace, whatever it does."""

from __future__ import annotations

import asyncio
import logging
import sys
from itertools import count
from typing import Any

import msgspec
import pytest
from tests.cache.samples import pod, virtual

from trimtab.cache import Cached, Change, DeletedFinalStateUnknown, Store
from trimtab.cache.handlers import Handler
from trimtab.cache.intake import Intake
from trimtab.kube.core.v1 import Pod
from trimtab.packing import Packer

_INTAKE = Intake(Pod, Pod.resource, Store[Pod]().indexer, Packer())


def entry(name: str, version: int = 1, uid: str = "") -> Cached[Pod]:
    body = msgspec.json.encode(pod(name, uid=uid or f"uid-{name}", resourceVersion=str(version)))
    return _INTAKE.from_answer(body)


def added(*names: str) -> list[Change[Pod]]:
    return [Change(None, entry(name)) for name in names]


class Running:
    """Handlers that run until the end of the block."""

    def __init__(self, *handlers: Handler[Pod]) -> None:
        self.handlers = handlers

    async def __aenter__(self) -> list[asyncio.Task[None]]:
        self.tasks = [asyncio.create_task(handler.run()) for handler in self.handlers]
        return self.tasks

    async def __aexit__(self, *_: object) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.wait(self.tasks)


@virtual
async def test_each_change_is_told_as_what_it_is() -> None:
    told: list[Any] = []
    handler = Handler[Pod](
        "h",
        lambda obj, initial: told.append(("add", obj, initial)),
        lambda old, new: told.append(("update", old, new)),
        lambda obj: told.append(("delete", obj)),
    )
    one, two, three = entry("a", 1), entry("a", 2), entry("b", 3)
    async with Running(handler):
        handler.tell([Change(None, one)], initial=True)
        handler.tell([Change(one, two), Change(None, three)], initial=False)
        handler.tell([Change(two, None), Change(three, None, witnessed=False)], initial=False)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    lost = DeletedFinalStateUnknown(three)
    assert told == [
        ("add", one, True),
        ("update", one, two),
        ("add", three, False),
        ("delete", two),
        ("delete", lost),
    ]
    assert (lost.key, lost.last.name) == ("default/b", "b")


@virtual
async def test_what_a_handler_has_no_function_for_is_passed_over() -> None:
    told: list[str] = []
    handler = Handler[Pod]("h", None, None, lambda _: told.append("gone"))
    async with Running(handler):
        one = entry("a")
        handler.tell([Change(None, one), Change(one, one), Change(one, None)], initial=False)
        await asyncio.sleep(0.1)
    assert told == ["gone"]
    assert (handler.told, handler.failures) == (3, 0)


@virtual
async def test_a_handler_is_told_one_by_one_and_in_order() -> None:
    inside = 0
    told: list[str] = []
    pauses = count()

    async def slow(obj: Cached[Pod], initial: bool) -> None:
        nonlocal inside
        inside += 1
        assert inside == 1, "the next change came before this one was done with"
        await asyncio.sleep((next(pauses) * 7) % 5)  # some take longer than those that follow
        told.append(obj.name)
        inside -= 1

    handler = Handler[Pod]("h", slow, None, None)
    names = [f"p{n}" for n in range(250)]
    async with Running(handler):
        for at in range(0, 250, 50):
            handler.tell(added(*names[at : at + 50]), initial=False)
            await asyncio.sleep(20)
        await asyncio.sleep(1000)
    assert told == names


@virtual
async def test_a_slow_handler_does_not_delay_another_and_its_backlog_can_be_seen() -> None:
    slow = Handler[Pod]("slow", lambda *_: asyncio.sleep(10), None, None)
    times: list[float] = []
    quick = Handler[Pod]("quick", lambda *_: times.append(asyncio.get_running_loop().time()), None, None)
    async with Running(slow, quick):
        for handler in (slow, quick):
            handler.tell(added("a", "b", "c"), initial=False)
        await asyncio.sleep(1)
        assert times == [0, 0, 0]
        assert (quick.backlog, quick.told) == (0, 3)
        assert (slow.backlog, slow.told) == (3, 0)  # the one that it is being told included
        await asyncio.sleep(10)
        assert (slow.backlog, slow.told) == (2, 1)
        await asyncio.sleep(20)
        assert (slow.backlog, slow.told) == (0, 3)


@virtual
async def test_others_have_their_turn_during_a_long_backlog() -> None:
    order: list[str] = []
    handlers = [Handler[Pod](n, lambda *_, n=n: order.append(n), None, None) for n in ("one", "two")]
    async with Running(*handlers):
        for handler in handlers:
            handler.tell(added(*(f"p{n}" for n in range(1000))), initial=False)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert 0 < order.count("one") <= 200
        assert 0 < order.count("two") <= 200


@virtual
async def test_it_has_synced_when_it_was_told_all_of_the_first_state_and_no_sooner() -> None:
    handler = Handler[Pod]("h", lambda *_: asyncio.sleep(1), None, None)
    assert handler.initial_told
    async with Running(handler):
        handler.tell(added("a", "b"), initial=True)
        handler.tell(added("c"), initial=False)
        for seconds, synced in ((0.5, False), (1, False), (1, True), (1, True)):
            await asyncio.sleep(seconds)
            assert handler.initial_told == synced


def raises(obj: Cached[Pod], initial: bool) -> None:
    if obj.name == "bad":
        raise ValueError("no")


async def raises_later(obj: Cached[Pod], initial: bool) -> None:
    await asyncio.sleep(1)
    raises(obj, initial)


async def is_cancelled(obj: Cached[Pod], initial: bool) -> None:
    """Waits for something that somebody else cancels."""
    if obj.name == "bad":
        nothing = asyncio.get_running_loop().create_future()
        nothing.cancel()
        await nothing


@pytest.mark.parametrize("function", [raises, raises_later, is_cancelled])
@virtual
async def test_what_a_handler_raises_is_logged_with_the_key_and_counted_and_it_goes_on(
    function: Any, caplog: pytest.LogCaptureFixture
) -> None:
    handler = Handler[Pod]("h", function, None, None)
    async with Running(handler) as [task]:
        handler.tell(added("a", "bad", "b", "c"), initial=True)
        await asyncio.sleep(10)
        assert not task.done()
        assert (handler.told, handler.failures, handler.backlog) == (4, 1, 0)
        assert handler.initial_told
        [record] = caplog.records
        assert record.levelno == logging.ERROR
        assert record.getMessage() == ("handler h failed on <Pod default/bad at 1>, and goes on with the next change")
        assert record.exc_info


@virtual
async def test_it_can_be_cancelled_in_the_middle() -> None:
    handler = Handler[Pod]("h", lambda *_: asyncio.sleep(1000), None, None)
    async with Running(handler) as [task]:
        handler.tell(added("a", "b"), initial=False)
        await asyncio.sleep(1)
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
        assert handler.failures == 0


@virtual
async def test_what_it_was_told_is_let_go_of() -> None:
    handler = Handler[Pod]("h", lambda *_: None, None, None)
    changes = added("a", "b")
    held = sys.getrefcount(changes)
    async with Running(handler):
        handler.tell(changes, initial=True)
        await asyncio.sleep(1)
        assert (handler.told, sys.getrefcount(changes)) == (2, held)


@virtual
async def test_one_that_is_stopped_by_its_own_function_is_told_nothing_more() -> None:
    told: list[str] = []

    def stop(obj: Cached[Pod], initial: bool) -> None:
        told.append(obj.name)
        handler.stop()

    handler = Handler[Pod]("h", stop, None, None)
    async with Running(handler):
        handler.tell(added("a", "b"), initial=True)
        await asyncio.sleep(1)
    assert told == ["a"]
    assert (handler.backlog, handler.initial_told) == (0, True)
