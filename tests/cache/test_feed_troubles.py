"""What the feed does about troubles: it skips, waits, says so once, and goes on."""

from __future__ import annotations

import asyncio
import logging
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from tests.cache.fakeserver import FakeServer
from tests.cache.feeding import Fed, feeding, server_with
from tests.cache.samples import BUSY, EXPIRED, FORBIDDEN, config_map, pod, status, virtual

from trimtab.client import Broken, Closed, Unreachable
from trimtab.kube.core.v1 import Pod
from trimtab.kube.dynamic import dynamic
from trimtab.kube.partial import metadata_of

WIDGET = dynamic("example.com/v1", "Widget", plural="widgets", namespaced=True)
FOUND_OUT = dynamic("example.com/v1", "Widget")  # where it lives is asked of the server
DEEP = (
    b'{"type":"ADDED","object":{"metadata":{"name":"x","resourceVersion":"9","x":'
    + b"[" * 9000
    + b"]" * 9000
    + b"}}}\n"
)


def widget(name: str) -> Any:
    return {"kind": "Widget", "apiVersion": "example.com/v1", "metadata": {"name": name, "namespace": "default"}}


def lines_of(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    return [(record.levelname, record.getMessage()) for record in caplog.records if record.name == "trimtab.cache"]


# Events that are none


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"ADDED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"x","resourceVersion":"9"}}}\n',
        b'{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v2","metadata":{"name":"x","resourceVersion":"9"}}}\n',
        b'{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":7,"resourceVersion":"9"}}}\n',
        b'{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"x"}}}\n',
        b'{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"9"}}}\n',
        b'{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1"}}\n',
        b'{"type":"ADDED","object":"\xff"}\n',
        b'{"type":"ADDED"}\n',
        b'{"type":"RENAMED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"x","resourceVersion":"9"}}}\n',
        b'{"type":"BOOKMARK","object":7}\n',
        b"{}\n",
        b"no json\n",
        b"\n",
        DEEP,
    ],
)
@virtual
async def test_what_is_of_another_kind_or_cannot_be_decoded_is_skipped_counted_and_logged(
    line: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    server = server_with("a")
    async with feeding(server) as fed:
        watch = server.watches[0]
        watch.say(line)
        server.put(pod("b"))
        await asyncio.sleep(0.01)
        assert fed.is_like_the_server()
        assert server.watches == [watch]  # it stops nothing
        assert fed.feed.pulse.skipped == 1
        assert [(level, text.partition(": ")[0]) for level, text in lines_of(caplog)] == [
            ("WARNING", "skipped what came of pods")
        ]


@virtual
async def test_an_item_of_a_list_that_cannot_be_read_is_skipped_too(caplog: pytest.LogCaptureFixture) -> None:
    server = server_with("a", "b", "c", streams_state=False)
    server.current["pods"]["default/b"]["metadata"]["name"] = 7
    async with feeding(server) as fed:
        assert [entry.name for entry in fed.store] == ["a", "c"]
        assert fed.feed.pulse.skipped == 1
    assert len(lines_of(caplog)) == 1


@virtual
async def test_watches_of_nothing_but_the_wrong_kind_that_end_at_once_are_no_busy_loop() -> None:
    server = server_with("a", streams_state=False)
    async with feeding(server):
        wrong = msgspec.json.encode({"type": "ADDED", "object": config_map("x", resourceVersion="9")})
        server.on_watch = lambda watch: watch.say(wrong + b"\n", b"")
        server.watches[0].end()
        await asyncio.sleep(3600)
        assert 50 < len(server.requests) < 3600 / 30 + 10


@virtual
async def test_metadata_alone_is_asked_for_and_kept_where_that_is_the_kind() -> None:
    server = server_with("a", streams_state=False)
    async with feeding(server, metadata_of(Pod)) as fed:
        server.put(pod("b"))
        await asyncio.sleep(0.01)
        assert fed.is_like_the_server()
        assert fed.feed.pulse.skipped == 0
        assert {b"spec" in entry.json() for entry in fed.store} == {False}


# Problems


@virtual
async def test_a_problem_is_logged_once_again_when_it_changes_and_when_it_is_over(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    server = server_with("a")
    server.always = {"watchlist": FORBIDDEN, "list": FORBIDDEN, "watch": FORBIDDEN}
    async with feeding(server) as fed:
        await asyncio.sleep(600)
        assert fed.feed.pulse.problem.endswith("pods is forbidden")
        [(level, text), *more] = [line for line in lines_of(caplog) if "watch pods" in line[1]]
        assert (level, more) == ("WARNING", [])
        assert "Forbidden (403): pods is forbidden" in text
        server.always = {"watchlist": BUSY, "list": BUSY, "watch": BUSY}
        before = len(lines_of(caplog))
        await asyncio.sleep(600)
        assert len({text for _, text in lines_of(caplog)[before:]}) == len(lines_of(caplog)[before:])
        assert "TooManyRequests" in fed.feed.pulse.problem
        server.always.clear()
        await asyncio.sleep(60)
        assert fed.is_like_the_server()
        assert fed.feed.pulse.problem == ""
        level, text = lines_of(caplog)[-1]
        assert (level, text.startswith("pods: works again after 12")) == ("INFO", True)


@virtual
async def test_a_server_that_ends_each_watch_at_once_is_told_of_once_and_asked_ever_more_seldom(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    server = server_with("a")
    async with feeding(server) as fed:
        server.watch_lasts = 0.0
        server.watches[0].end()
        await asyncio.sleep(3600)
        assert fed.feed.pulse.problem == "the server ends each watch at once"
        assert 3600 / 60 - 1 <= len(server.requests) <= 3600 / 30 + 10
        assert len(lines_of(caplog)) == 1
        server.watch_lasts = None
        await asyncio.sleep(61)
        assert fed.feed.pulse.problem == ""


@pytest.mark.parametrize("refusal", [Unreachable("connection refused"), BUSY])
@virtual
async def test_refused_or_busy_is_asked_again_from_the_last_version_without_a_list(refusal: Any) -> None:
    server = server_with("a", streams_state=False)
    async with feeding(server) as fed:
        await asyncio.sleep(2)
        server.always["watch"] = refusal
        server.watches[0].cut()
        server.put(pod("b"))
        server.delete("default/a")
        await asyncio.sleep(300)
        before = server.verbs().count("list")
        waits = [b - a for a, b in pairwise(server.times[3:])]
        assert waits[0] < 1.7
        assert all(wait < 60.1 for wait in waits)
        assert max(waits) > 30
        server.always.clear()
        await asyncio.sleep(61)
        assert server.verbs().count("list") == before == 1
        assert fed.is_like_the_server()
        assert fed.changes == [("default/a", "+"), ("default/b", "+"), ("default/a", "-")]


@pytest.mark.parametrize("kind", [WIDGET, FOUND_OUT])
@virtual
async def test_a_kind_that_the_server_lacks_is_waited_for_and_resumed_without_a_busy_loop(
    kind: Any, caplog: pytest.LogCaptureFixture
) -> None:
    server = FakeServer()
    asked: list[float] = []
    send, stream = server.send, server.stream
    server.send = lambda request: (asked.append(1), send(request))[1]  # type: ignore[method-assign]
    server.stream = lambda request: (asked.append(1), stream(request))[1]  # type: ignore[method-assign]
    async with feeding(server, kind) as fed:
        await asyncio.sleep(3600)
        assert 30 < len(asked) < 3600 / 30 + 10
        assert len(lines_of(caplog)) == 1
        assert ("Widget" in fed.feed.pulse.problem) or ("widgets" in fed.feed.pulse.problem)
        assert not fed.feed.pulse.synced
        server.served["widgets"] = WIDGET.resource  # its definition is made
        server.put(widget("w"))
        await asyncio.sleep(61)
        assert fed.is_like_the_server()
        assert fed.feed.pulse.synced
        assert not fed.feed.pulse.problem
        # It goes away, with all its objects, and comes back.
        server.delete("default/w", "widgets")
        del server.served["widgets"]
        server.watches[0].end()
        asked.clear()
        await asyncio.sleep(3600)
        assert 30 < len(asked) < 3600 / 30 + 20
        assert fed.feed.pulse.problem
        server.served["widgets"] = WIDGET.resource
        server.put(widget("v"))
        await asyncio.sleep(61)
        assert fed.is_like_the_server()
        assert not fed.feed.pulse.problem


@pytest.mark.parametrize(
    "trouble",
    [
        Broken("cut"),
        status(500, "InternalError"),
        (200, b"<html>log in</html>"),
        (200, b'{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"9"}}'),
        (200, b'{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":[{"metadata":{"na'),
    ],
)
@virtual
async def test_a_list_that_breaks_changes_nothing_and_is_read_again(trouble: Any) -> None:
    server = server_with("a", streams_state=False)
    async with feeding(server) as fed:
        await asyncio.sleep(2)
        server.next["list"].append(trouble)
        server.next["watch"].append(EXPIRED)
        server.watches[0].end()
        server.put(pod("b"))
        await asyncio.sleep(0.5)
        assert [entry.name for entry in fed.store] == ["a"]
        await asyncio.sleep(10)
        assert fed.is_like_the_server()
        assert [key for key, what in fed.changes if what == "-"] == []


@virtual
async def test_health_says_when_the_server_was_heard_last_and_what_is_in_the_way() -> None:
    server = server_with("a")
    server.next["watchlist"].append(5.0)
    async with feeding(server) as fed:
        pulse, now = fed.feed.pulse, asyncio.get_running_loop().time
        assert (pulse.heard, pulse.synced) == (None, False)
        await asyncio.sleep(5)
        assert pulse.synced
        assert now() - pulse.heard < 0.1  # type: ignore[operator]
        await asyncio.sleep(50)
        assert now() - pulse.heard > 45  # type: ignore[operator]
        server.put(pod("b"))
        await asyncio.sleep(0.01)
        assert now() - pulse.heard < 0.1  # type: ignore[operator]
        assert (pulse.events, pulse.loads) == (2, 1)
        await asyncio.sleep(300)  # nothing but bookmarks
        assert now() - pulse.heard < 61  # type: ignore[operator]
        server.always = {"watch": Unreachable("connection refused")}
        server.watches[0].cut()
        await asyncio.sleep(100)
        assert now() - pulse.heard > 99  # type: ignore[operator]
        assert pulse.problem == "connection refused"


@virtual
async def test_it_ends_when_the_client_is_closed() -> None:
    server = server_with("a")
    fed = Fed(server)
    server.next["watchlist"].append(Closed("closed"))
    await asyncio.wait_for(fed.feed.run(), 1)
