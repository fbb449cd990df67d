"""The loop: which keys come to a reconciler, when again, and what it counts."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from typing import Any

import pytest
from tests.cache.samples import config_map, virtual
from tests.controller.apiserver import ApiServer
from tests.controller.working import running, working

from trimtab.client import Conflict, Unreachable
from trimtab.controller import App, Context, requeue, terminal
from trimtab.errors import TrimtabError
from trimtab.kube.core.v1 import ConfigMap, Secret
from trimtab.kube.meta.v1 import Status
from trimtab.queue import ItemExponential

Times = list[float]


def now() -> float:
    return asyncio.get_running_loop().time()


def with_objects(*names: str) -> ApiServer:
    server = ApiServer(ConfigMap)
    for name in names:
        server.put(config_map(name))
    return server


def answering(answer: Callable[[int], Any], **options: Any) -> tuple[App, Times]:
    """An app whose reconciler does what this function does with the number of the time that it is called."""
    app, times = App("app"), Times()

    @app.controller(ConfigMap, name="c", **options)
    async def reconcile(cm: ConfigMap, ctx: Context) -> Any:
        times.append(now())
        return answer(len(times))

    return app, times


def fail(error: BaseException) -> Any:
    raise error


@virtual
async def test_each_object_is_looked_at_once_when_it_is_there_and_once_for_each_change() -> None:
    app, seen = App("app"), []

    @app.controller(ConfigMap)
    async def look(cm: ConfigMap, ctx: Context) -> None:
        seen.append((ctx.key, cm.data, str(ctx.causes)))

    server = ApiServer(ConfigMap)
    server.put(config_map("a", data={"x": "1"}))
    async with working(app, server) as controllers:
        server.put(config_map("a", data={"x": "2"}))
        await asyncio.sleep(1)
        assert seen == [
            ("default/a", {"x": "1"}, "ConfigMap default/a: initial"),
            ("default/a", {"x": "2"}, "ConfigMap default/a: spec"),
        ]
        assert controllers.numbers["look"].results["success"] == 2


@virtual
async def test_a_failure_is_tried_again_after_pauses_that_double_and_success_begins_anew() -> None:
    limiter = {"limiter": lambda: ItemExponential(first=1.0)}
    app, times = answering(lambda n: fail(OSError("no")) if n <= 5 else None, **limiter)
    server = with_objects("a")
    async with working(app, server) as controllers:
        await asyncio.sleep(100)
        assert [round(b - a) for a, b in pairwise(times)] == [1, 2, 4, 8, 16]
        assert controllers.numbers["c"].results == {"error": 5, "success": 1, "requeue": 0, "requeue_after": 0}
        assert controllers.queues["c"].retries("default/a") == 0


@virtual
async def test_an_event_comes_before_the_pause_of_a_failure_is_over() -> None:
    app, times = answering(lambda n: fail(OSError("no")) if n == 1 else None, limiter=lambda: ItemExponential(first=50))
    server = with_objects("a")
    async with working(app, server):
        server.put(config_map("a", data={"x": "2"}))
        await asyncio.sleep(1)
        assert len(times) == 2


@virtual
async def test_a_reconciler_that_asks_to_come_again_comes_again_when_it_said() -> None:
    app, times = answering(lambda n: requeue(after=7) if n < 4 else None)
    async with working(app, with_objects("a")) as controllers:
        await asyncio.sleep(100)
        assert [round(b - a) for a, b in pairwise(times)] == [7, 7, 7]
        assert controllers.numbers["c"].results["requeue_after"] == 3


@virtual
async def test_what_is_told_to_come_again_has_no_failures_any_more() -> None:
    answers = {1: OSError("no"), 2: OSError("no"), 3: requeue(after=100), 4: OSError("no")}

    def answer(n: int) -> Any:
        return fail(given) if isinstance(given := answers.get(n), OSError) else given

    app, times = answering(answer, limiter=lambda: ItemExponential(first=1.0))
    async with working(app, with_objects("a")):
        await asyncio.sleep(1000)
        assert [round(b - a) for a, b in pairwise(times)] == [1, 2, 100, 1]


@virtual
async def test_a_requeue_without_a_time_pauses_longer_each_time_and_is_no_error() -> None:
    app, times = answering(lambda n: requeue() if n < 4 else None, limiter=lambda: ItemExponential(first=1.0))
    async with working(app, with_objects("a")) as controllers:
        await asyncio.sleep(100)
        assert [round(b - a) for a, b in pairwise(times)] == [1, 2, 4]
        assert controllers.numbers["c"].results == {"error": 0, "success": 1, "requeue": 3, "requeue_after": 0}


def test_a_requeue_without_a_pause_is_refused() -> None:
    with pytest.raises(TrimtabError, match="without a pause"):
        requeue(after=0)


@pytest.mark.parametrize("answer", [lambda: terminal("no such plan"), lambda: fail(terminal(KeyError("plan")))])
@virtual
async def test_a_terminal_error_is_counted_and_not_tried_again_until_something_changes(answer: Any) -> None:
    app, times = answering(lambda n: fail(OSError("no")) if n == 1 else answer())
    server = with_objects("a")
    async with working(app, server) as controllers:
        await asyncio.sleep(2000)
        assert len(times) == 2
        numbers = controllers.numbers["c"]
        assert (numbers.terminal, numbers.results["error"]) == (1, 2)
        assert controllers.queues["c"].retries("default/a") == 0
        server.put(config_map("a", data={"x": "2"}))
        await asyncio.sleep(1)
        assert len(times) == 3


@virtual
async def test_an_exception_is_logged_with_key_id_and_traceback_and_ends_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    app, ids = App("app"), []

    @app.controller(ConfigMap)
    async def clumsy(cm: ConfigMap, ctx: Context) -> None:
        ids.append(ctx.reconcile_id)
        if ctx.name == "bad" and len(ids) < 3:
            raise KeyError("oops")

    async with working(app, with_objects("bad", "good")) as controllers:
        await asyncio.sleep(1)
        [record] = [r for r in caplog.records if r.levelno == logging.ERROR]
        text = record.getMessage()
        for part in ("controller='clumsy'", "key='default/bad'", f"reconcile_id='{ids[0]}'", "initial"):
            assert part in text
        assert record.exc_info is not None
        assert "oops" in str(record.exc_info[1])
        assert controllers.numbers["clumsy"].panics == 1
        assert controllers.numbers["clumsy"].results["success"] == 2
        assert len(set(ids)) == 3


@pytest.mark.parametrize(
    ("error", "traceback"),
    [
        (Unreachable("cannot patch pods default/a: connection refused"), None),
        (Conflict("patch pods default/a", Status(code=409)), None),
        (terminal("there is no such plan"), None),
        (terminal(Unreachable("no such host")), None),
        (terminal(KeyError("plan")), KeyError),
        (TrimtabError("it cannot be"), TrimtabError),
    ],
    ids=str,
)
@virtual
async def test_what_the_network_did_or_was_said_on_purpose_is_one_line_and_where_it_was_is_told_for_debugging(
    error: Exception, traceback: type[Exception] | None, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "trimtab.controller")
    app, _ = answering(lambda n: fail(error) if n == 1 else None)
    async with working(app, with_objects("a")):
        [told] = [r for r in caplog.records if r.levelno == logging.ERROR]
        assert str(error) in told.getMessage()
        assert (told.exc_info and told.exc_info[0]) == traceback
        where = [r for r in caplog.records if "where it failed" in r.getMessage()]
        assert [r.exc_info is not None for r in where] == ([True] if traceback is None else [])


@virtual
async def test_an_answer_that_is_none_is_an_error_that_says_so(caplog: pytest.LogCaptureFixture) -> None:
    app, _ = answering(lambda n: 30 if n == 1 else None)
    async with working(app, with_objects("a")):
        assert "c returned 30: return None, requeue(...) or terminal(...)" in caplog.text


@pytest.mark.parametrize("undeclared", [True, False])
@virtual
async def test_what_only_an_edit_of_the_program_mends_is_one_line_and_not_tried_again(
    undeclared: bool, caplog: pytest.LogCaptureFixture
) -> None:
    app, times = App("app"), Times()

    @app.controller(ConfigMap)
    async def wrong(cm: ConfigMap, ctx: Context) -> Any:
        times.append(now())
        return ctx.find(Secret, "s") if undeclared else 5

    server = with_objects("a")
    async with working(app, server) as controllers:
        await asyncio.sleep(2000)
        assert len(times) == controllers.numbers["wrong"].terminal == 1
        server.put(config_map("a", data={"x": "2"}))
        await asyncio.sleep(1)
        assert len(times) == 2
    records = [record for record in caplog.records if record.levelname == "ERROR"]
    assert len(records) == 2
    assert "only a change of the program will help" in records[0].getMessage()
    assert not any("Traceback" in record.getMessage() or record.exc_info for record in records)


@virtual
async def test_who_ignores_that_time_is_up_is_counted_and_told_of_once(caplog: pytest.LogCaptureFixture) -> None:
    app, end = App("app"), asyncio.Event()

    @app.controller(ConfigMap, timeout=3)
    async def deaf(cm: ConfigMap, ctx: Context) -> None:
        while not end.is_set():
            with suppress(asyncio.CancelledError):
                await end.wait()

    async with working(app, with_objects("a")) as controllers:
        await asyncio.sleep(10)
        assert controllers.numbers["deaf"].timeouts == 1
        assert caplog.text.count("takes longer than 3 s, and goes on: it ignores that it was cancelled") == 1
        assert controllers.at_work == ["deaf default/a"]
        end.set()
        await asyncio.sleep(1)
        assert controllers.numbers["deaf"].timeouts == 1
        assert controllers.at_work == []


@virtual
async def test_a_reconcile_that_takes_too_long_is_ended_counted_and_tried_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    app, times = App("app"), Times()

    @app.controller(ConfigMap, timeout=3)
    async def slow(cm: ConfigMap, ctx: Context) -> None:
        times.append(now())
        if len(times) == 1:
            await asyncio.sleep(100)
        if len(times) == 2:
            raise TimeoutError("of its own")

    async with working(app, with_objects("a")) as controllers:
        await asyncio.sleep(10)
        assert [round(t - times[0]) for t in times] == [0, 3, 3]
        assert controllers.numbers["slow"].timeouts == 1
        assert controllers.numbers["slow"].results["error"] == 2
        assert "slow default/a took longer than 3 s" in caplog.text


@virtual
async def test_what_is_cancelled_inside_of_a_reconcile_is_a_failure_of_it_and_not_the_end_of_the_worker() -> None:
    async def cancelled() -> None:
        task = asyncio.create_task(asyncio.sleep(50))
        await asyncio.sleep(0)
        task.cancel()
        await task

    app, calls = App("app"), Counter[str]()

    @app.controller(ConfigMap)
    async def waits(cm: ConfigMap, ctx: Context) -> None:
        calls[ctx.key] += 1
        if calls[ctx.key] == 1:
            await cancelled()

    async with working(app, with_objects("a", "b")) as controllers:
        assert calls == {"default/a": 2, "default/b": 2}
        assert controllers.numbers["waits"].results["error"] == 2


@virtual
async def test_workers_work_at_once_and_never_two_on_one_key() -> None:
    app, at_work, most, looks = App("app"), Counter[str](), 0, 0

    @app.controller(ConfigMap, workers=3)
    async def slow(cm: ConfigMap, ctx: Context) -> None:
        nonlocal most, looks
        at_work[ctx.key] += 1
        looks += 1
        assert at_work[ctx.key] == 1
        most = max(most, at_work.total())
        await asyncio.sleep(1)
        at_work[ctx.key] -= 1

    server = with_objects(*"abcdef")
    async with working(app, server) as controllers:
        for number in range(10):
            server.put(config_map("a", data={"x": str(number)}))
            await asyncio.sleep(0.3)
            assert controllers.numbers["slow"].active <= 3
        await asyncio.sleep(20)
        assert most == 3
        assert looks >= 9
        assert controllers.numbers["slow"].results["error"] == 0


@virtual
async def test_what_a_person_changes_now_overtakes_what_was_there_at_the_start() -> None:
    app, order = App("app"), []

    @app.controller(ConfigMap)
    async def one_by_one(cm: ConfigMap, ctx: Context) -> None:
        order.append(ctx.name)
        await asyncio.sleep(1)

    server = with_objects(*(f"old-{n:03}" for n in range(100)))
    async with working(app, server):
        server.put(config_map("new"))
        await asyncio.sleep(3)
        assert "new" in order[:3]


@pytest.mark.parametrize("answer", [OSError("no"), requeue(), requeue(after=1)], ids=repr)
@virtual
async def test_what_is_tried_again_keeps_its_place_behind_what_people_change(answer: Any) -> None:
    app, order = App("app"), []

    @app.controller(ConfigMap, limiter=lambda: ItemExponential(first=1.0))
    async def again_once(cm: ConfigMap, ctx: Context) -> Any:
        order.append(ctx.name)
        if order == ["old"]:
            return fail(answer) if isinstance(answer, OSError) else answer
        await asyncio.sleep(5)
        return None

    server = with_objects("old")
    async with working(app, server):
        server.put(config_map("first"))
        await asyncio.sleep(3)  # old is ready again, while first is worked on
        server.put(config_map("second"))
        await asyncio.sleep(20)
        assert order == ["old", "first", "second", "old"]


@virtual
async def test_a_drain_finishes_what_is_queued_until_its_deadline_and_no_drain_ends_at_once() -> None:
    async def stopped(drain: float) -> tuple[float, list[str]]:
        app, done = App("app"), []

        @app.controller(ConfigMap)
        async def slow(cm: ConfigMap, ctx: Context) -> None:
            await asyncio.sleep(2)
            done.append(ctx.name)

        async with running(app, with_objects("a", "b", "c")) as (controllers, task):
            began = now()
            controllers.stop(drain)
            await task
            return round(now() - began, 1), done

    assert await stopped(100) == (5.5, ["a", "b", "c"])  # 0.5 s were gone
    assert await stopped(3) == (3.0, ["a"])
    assert await stopped(0) == (0.0, [])


@virtual
async def test_a_bug_in_a_worker_ends_the_run_loudly(monkeypatch: pytest.MonkeyPatch) -> None:
    app, _ = answering(lambda _: None, workers=2)
    monkeypatch.setattr("trimtab.controller.reconciling.Reconciler._settle", lambda *_: fail(ZeroDivisionError("bug")))
    async with running(app, with_objects("a")) as (_, task):
        with pytest.raises(ZeroDivisionError):
            await task
