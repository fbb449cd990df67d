"""The recorder against a server that follows a script, in virtual time."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.cache.samples import status, virtual
from tests.client.conftest import ScriptedServer

from trimtab.client import Client, Retry
from trimtab.client.transport import Broken
from trimtab.controller.events import EventsCollector, Recorder
from trimtab.kube.core.v1 import ConfigMap
from trimtab.kube.meta.v1 import ObjectMeta

EVENT = {"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "x"}, "eventTime": None}
OK = (200, {**EVENT, "eventTime": "2026-07-01T12:00:00.000000Z"})
GONE = status(404, "NotFound")
THERE = status(409, "AlreadyExists")
FORBIDDEN = status(403, "Forbidden")
BROKEN = status(500, "InternalError")


def about(name: str = "a") -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="shop", uid=f"uid-{name}"))


class Told:
    def __init__(self, server: ScriptedServer, recorder: Recorder) -> None:
        self.server = server
        self.recorder = recorder

    def tell(self, times: int = 1, *, name: str = "a", note: str = "n") -> None:
        for _ in range(times):
            self.recorder.event(about(name), "Warning", "Failed", note, action="Try", controller="tester")

    async def sent(self, requests: int) -> None:
        async with asyncio.timeout(3600):
            while len(self.server.requests) < requests or self.recorder.waiting:  # noqa: ASYNC110  # virtual time
                await asyncio.sleep(1)
        assert len(self.server.requests) == requests

    def body(self, number: int) -> Any:
        return json.loads(self.server.requests[number].body or b"")


@asynccontextmanager
async def recording(*script: Any, **options: Any) -> AsyncIterator[Told]:
    server = ScriptedServer(*script)
    loop = asyncio.get_running_loop()

    def now() -> datetime:
        return datetime(2026, 7, 1, 12, tzinfo=UTC) + timedelta(seconds=loop.time())

    recorder = Recorder(
        Client(server, retry=Retry(attempts=1)), instance="host", now=now, random=lambda: 0.0, **options
    )
    running = asyncio.create_task(recorder.run())
    yield Told(server, recorder)
    running.cancel()
    await asyncio.wait([running])


@virtual
async def test_a_repeat_patches_the_series() -> None:
    async with recording(OK, OK, OK) as told:
        told.tell()
        await told.sent(1)
        created = told.body(0)
        assert told.server.requests[0].verb == "create"
        assert "/namespaces/shop/events" in told.server.requests[0].path
        assert "series" not in created
        await asyncio.sleep(5)
        told.tell()
        await told.sent(2)
        patch = told.server.requests[1]
        assert (patch.verb, patch.path.partition("?")[0].rpartition("/")[2]) == ("patch", created["metadata"]["name"])
        assert told.body(1)["series"]["count"] == 2
        assert told.body(1).keys() == {"series"}  # all else cannot be changed
        told.tell()  # the third waits: for the end of the series, or the fourth
        await asyncio.sleep(8 * 60)
        assert told.body(2)["series"]["count"] == 3
        assert told.recorder.written == {"create": 1, "patch": 2}


@virtual
async def test_repeats_during_a_request_become_one_more() -> None:
    async with recording(10.0, OK, OK) as told:
        told.tell()
        await asyncio.sleep(1)
        told.tell(16)
        await told.sent(2)
        assert told.body(1)["series"]["count"] == 17


@virtual
async def test_repeats_during_the_patch_of_a_series_are_not_lost() -> None:
    async with recording(OK, 10.0, OK, OK) as told:
        told.tell()
        await told.sent(1)
        told.tell()
        await asyncio.sleep(1)
        told.tell(14)
        await told.sent(3)
        assert [told.body(number)["series"]["count"] for number in (1, 2)] == [2, 16]


@virtual
async def test_an_event_that_the_server_forgot_is_made_anew() -> None:
    async with recording(OK, GONE, OK) as told:
        told.tell()
        await told.sent(1)
        told.tell()
        await told.sent(3)
        assert told.server.requests[2].verb == "create"
        assert told.body(2)["series"]["count"] == 2


@virtual
async def test_a_lost_answer_makes_no_second_event() -> None:
    async with recording(Broken("cut"), THERE, OK) as told:
        told.tell()
        await asyncio.sleep(1)
        told.tell()  # meanwhile
        await told.sent(3)
        assert told.body(0)["metadata"]["name"] == told.body(1)["metadata"]["name"]
        assert [request.verb for request in told.server.requests] == ["create", "create", "patch"]
        assert told.body(2)["series"]["count"] == 2


@virtual
async def test_twelve_tries_ten_seconds_apart_then_it_is_dropped(caplog: pytest.LogCaptureFixture) -> None:
    async with recording(*[BROKEN] * 12) as told:
        told.tell()
        await told.sent(12)
        assert [round(time) for time in told.server.times] == list(range(0, 120, 10))
        assert told.recorder.dropped == {"queue_full": 0, "tries": 1, "rejected": 0, "shutdown": 0}
    assert "<event Failed of ConfigMap shop/a> is dropped: 12 tries, the last: cannot create" in caplog.text


@virtual
async def test_what_is_refused_for_good_is_not_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    async with recording(FORBIDDEN, OK) as told:
        told.tell()
        await told.sent(1)
        told.tell(name="b")
        await told.sent(2)
        assert told.recorder.dropped["rejected"] == 1
    assert "Forbidden" in caplog.text


@virtual
async def test_a_full_queue_drops_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    async with recording(*[OK] * 3, queue=3) as told:
        for i in range(5):  # nobody could send meanwhile: this does not wait
            told.tell(name=f"n{i}")
        assert told.recorder.waiting == 3
        await told.sent(3)
        assert told.recorder.dropped["queue_full"] == 2
        metrics = {
            (sample.name, *sample.labels.values()): sample.value
            for metric in EventsCollector(told.recorder).collect()
            for sample in metric.samples
        }
        assert metrics["trimtab_events_dropped_total", "queue_full"] == 2
        assert metrics["trimtab_events_written_total", "create"] == 3
        assert metrics["trimtab_events_waiting",] == 0
    assert caplog.text.count("3 others wait") == 2


@virtual
async def test_flush_tells_the_last_of_all_series() -> None:
    async with recording(OK, OK, OK) as told:
        told.tell()
        await told.sent(1)
        told.tell(2)
        await told.sent(2)
        assert told.body(1)["series"]["count"] == 3  # both were there before the worker was
        told.tell()
        await told.recorder.flush(5)
        assert told.body(2)["series"]["count"] == 4


@virtual
async def test_flush_does_not_wait_for_ever() -> None:
    async with recording(*[60.0] * 4) as told:
        for i in range(6):
            told.tell(name=f"n{i}")
        await told.recorder.flush(5)
        assert asyncio.get_running_loop().time() == pytest.approx(5)
        assert told.recorder.dropped["shutdown"] == 6
        assert told.recorder.waiting == len(told.server.requests) == 4  # under way; no other is begun
