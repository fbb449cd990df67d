"""The feed: semantics.md's section Reflector, as it is carried out against a server.

Which request follows on which event is tried in test_reflector; here it is that the store comes out like the server.
What goes wrong is in test_feed_troubles, what a list costs in test_feed_memory.
"""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any

import msgspec
import pytest
from tests.cache.feeding import feeding, server_with
from tests.cache.samples import EXPIRED, TOO_LARGE, config_map, pod, virtual
from tests.cache.streams import OpenStream

# Where the state comes from


@virtual
async def test_the_state_is_streamed_and_the_same_stream_goes_on() -> None:
    server = server_with("a", "b")
    async with feeding(server) as fed:
        [asked] = server.requests
        query = asked.query
        assert (query["sendInitialEvents"], query["resourceVersionMatch"]) == ("true", "NotOlderThan")
        assert query["allowWatchBookmarks"] == "true"
        assert 300 <= int(query["timeoutSeconds"]) <= 600
        assert fed.is_like_the_server()
        assert [first for _, first in fed.delivered if first] == [True]
        server.put(pod("c"))
        await asyncio.sleep(0.01)
        assert fed.is_like_the_server()
        assert server.verbs() == ["watchlist"]


@virtual
async def test_the_old_state_stays_until_the_new_one_is_whole() -> None:
    server = server_with("a")
    async with feeding(server) as fed:
        server.next["watchlist"].append(0.5)
        await asyncio.sleep(2)
        server.watches[0].refuse(EXPIRED)
        await asyncio.sleep(0.1)
        server.delete("default/a")
        server.put(pod("b"))
        await asyncio.sleep(0.1)
        assert [entry.name for entry in fed.store] == ["a"]
        await asyncio.sleep(0.5)
        assert fed.is_like_the_server()
        assert fed.changes == [("default/a", "+"), ("default/a", "-"), ("default/b", "+")]
        assert [first for _, first in fed.delivered].count(True) == 1


@virtual
async def test_a_server_that_refuses_to_stream_the_state_is_listed_and_watched() -> None:
    server = server_with("a", streams_state=False)
    async with feeding(server) as fed:
        assert fed.is_like_the_server()
        assert server.verbs() == ["watchlist", "list", "watch"]
        assert server.asked_for("list")[0].version == "0"
        assert server.asked_for("watch")[0].version == "1"
        server.put(pod("b"))
        await asyncio.sleep(0.01)
        assert fed.is_like_the_server()


@virtual
async def test_pages_are_read_until_there_are_no_more() -> None:
    server = server_with(*(f"p{n:04}" for n in range(1234)), streams_state=False, pages_version_0=True)
    async with feeding(server) as fed:
        assert [asked.query.get("limit") for asked in server.asked_for("list")] == ["500"] * 3
        assert [asked.query.get("continue") for asked in server.asked_for("list")] == [None, "1234:500", "1234:1000"]
        assert len(fed.store) == 1234
        assert fed.is_like_the_server()
        assert [first for _, first in fed.delivered if first] == [True]


@virtual
async def test_an_expired_token_gives_one_whole_list_without_what_the_first_pages_had() -> None:
    server = server_with(*(f"p{n:04}" for n in range(800)), streams_state=False, pages_version_0=True)
    server.next["list"] += [None, EXPIRED]
    async with feeding(server) as fed:
        lists = server.asked_for("list")
        assert [(asked.query.get("limit"), "continue" in asked.query) for asked in lists] == [
            ("500", False),
            ("500", True),
            (None, False),
        ]
        assert fed.is_like_the_server()
        assert not fed.feed.pulse.problem


@virtual
async def test_what_vanished_between_an_expired_page_and_the_whole_list_is_not_kept() -> None:
    server = server_with(*(f"p{n:04}" for n in range(800)), streams_state=False, pages_version_0=True)
    server.next["list"] += [None, 5.0, EXPIRED]
    async with feeding(server) as fed:
        server.delete("default/p0000")
        await asyncio.sleep(6)
        assert len(server.asked_for("list")) == 3
        assert fed.is_like_the_server()


@pytest.mark.parametrize("streams", [True, False])
@pytest.mark.parametrize("refusal", [EXPIRED, TOO_LARGE])
@virtual
async def test_a_version_that_the_server_does_not_have_is_left_behind_at_once(streams: bool, refusal: Any) -> None:
    server = server_with("a", streams_state=streams)
    async with feeding(server) as fed:
        server.put(pod("b"))
        await asyncio.sleep(70)  # a bookmark came: the watch is well
        server.watches[0].refuse(EXPIRED)
        verb = "watchlist" if streams else "list"
        server.next[verb].append(refusal)
        before = len(server.requests)
        server.put(pod("c"))
        await asyncio.sleep(0.01)
        assert [(asked.verb, asked.version) for asked in server.requests[before:]][:2] == [(verb, "2"), (verb, "")]
        assert fed.is_like_the_server()


@virtual
async def test_a_list_starts_at_any_version_and_never_goes_back_in_time() -> None:
    server = server_with("a", streams_state=False, behind=1)
    server.put(pod("b"))
    async with feeding(server) as fed:
        assert [entry.name for entry in fed.store] == ["a"]  # stale, as this server is
        server.behind = None
        server.tell_watches()
        await asyncio.sleep(1.5)
        assert fed.is_like_the_server()
        server.behind = 1  # another server answers from here on, which lags
        server.watches[0].refuse(EXPIRED)
        before = len(server.requests)
        await asyncio.sleep(0.01)
        assert [asked.version for asked in server.requests[before:] if asked.verb == "list"] == ["2", ""]
        assert [entry.name for entry in fed.store] == ["a", "b"]


# What ends a watch


@pytest.mark.parametrize("streams", [True, False])
@virtual
async def test_a_silent_stream_is_cut_within_75_seconds_and_nothing_is_missed(streams: bool) -> None:
    server = server_with("a", streams_state=streams)
    async with feeding(server) as fed:
        server.put(pod("b"))
        await asyncio.sleep(0.01)
        server.watches[0].silent = True
        last_heard, before = asyncio.get_running_loop().time(), len(server.requests)
        server.put(pod("c"))
        server.touch("default/b", "other")
        server.delete("default/a")
        await asyncio.sleep(74)
        assert len(server.requests) == before
        await asyncio.sleep(2)
        assert server.verbs()[before:] == ["watch"]
        assert server.times[before] - last_heard == pytest.approx(75, abs=0.3)
        assert server.requests[before].version == "2"
        assert fed.feed.pulse.stalls == 1
        assert fed.is_like_the_server()
        assert fed.changes[2:] == [("default/c", "+"), ("default/b", "~"), ("default/a", "-")]


@virtual
async def test_a_quiet_watch_with_bookmarks_is_left_alone_and_goes_on_from_the_last_of_them() -> None:
    server = server_with("a", watch_lasts=400)
    async with feeding(server) as fed:
        server.put(config_map("elsewhere"))  # of another kind: the version goes on, and only bookmarks tell of it
        await asyncio.sleep(390)
        assert len(server.requests) == 1
        assert fed.feed.resource_version == str(server.now)
        await asyncio.sleep(20)
        assert server.verbs() == ["watchlist", "watch"]
        assert server.requests[1].version == str(server.now)


@virtual
async def test_a_state_that_never_comes_to_its_end_is_given_up_for_a_list() -> None:
    """A stream of the state that goes silent in the middle: what came of it is dropped."""
    server = server_with("a")
    async with feeding(server) as fed:
        server.on_watch = OpenStream.stall_before_the_end
        server.put(pod("b"))
        await asyncio.sleep(0.01)
        server.watches[0].refuse(EXPIRED)
        await asyncio.sleep(1)
        server.on_watch = None
        server.delete("default/b")
        assert [entry.name for entry in fed.store] == ["a", "b"]
        await asyncio.sleep(80)
        assert server.verbs() == ["watchlist", "watchlist", "list", "watch"]
        assert fed.is_like_the_server()


@pytest.mark.parametrize(
    "half", [b"", b'{"type":"DELETED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"']
)
@pytest.mark.parametrize("ends", ["cut", "end"])
@virtual
async def test_a_stream_that_breaks_off_is_resumed_and_half_an_event_is_none(half: bytes, ends: str) -> None:
    server = server_with("a")
    async with feeding(server) as fed:
        await asyncio.sleep(2)
        watch = server.watches[0]
        watch.silent = True
        server.put(pod("b"))
        watch.silent = False
        if half:
            watch.say(half)
        watch.cut() if ends == "cut" else watch.end()
        await asyncio.sleep(0.01)
        assert [(asked.verb, asked.version) for asked in server.requests[1:]] == [("watch", "1")]
        assert fed.is_like_the_server()
        assert fed.changes == [("default/a", "+"), ("default/b", "+")]
        assert not fed.feed.pulse.problem


@virtual
async def test_events_arrive_in_any_pieces() -> None:
    server = server_with("a")
    async with feeding(server) as fed:
        watch = server.watches[0]
        watch.silent = True
        for n in range(20):
            server.put(pod(f"p{n}"))
        watch.silent = False
        whole = b"".join(
            b'{"type":"ADDED","object":%b}\n' % msgspec.json.encode(server.current["pods"][f"default/p{n}"])
            for n in range(20)
        )
        dice = Random(3)
        while whole:
            size = dice.randint(1, 400)
            watch.say(whole[:size])
            whole = whole[size:]
            await asyncio.sleep(0.001)
        await asyncio.sleep(0.1)
        assert fed.is_like_the_server()


# How it is paced


async def rests_of(gap: float, count: int, together: int = 1, then: float = 0) -> list[float]:
    """How long a reader rests whose watch brings so many times so many changes with a gap between, then another."""
    server = server_with("a")
    async with feeding(server):
        [stream] = server.watches
        stream.rests.clear()
        for number, pause in enumerate([gap] * count + [then] * bool(then)):
            await asyncio.sleep(pause)
            line = b'{"type":"MODIFIED","object":%s}\n'
            objects = (pod("a", resourceVersion=str(100 * number + n + 10)) for n in range(together))
            stream.say(b"".join(line % msgspec.json.encode(obj) for obj in objects))
        await asyncio.sleep(0.001)
        return stream.rests


@virtual
async def test_changes_that_come_thick_and_fast_are_read_in_batches() -> None:
    assert len(await rests_of(gap=0.005, count=7)) == 0, "few are read as they come"
    assert await rests_of(gap=0.005, count=8) == [0.02]
    assert len(await rests_of(gap=0.021, count=20, together=3)) == 0
    assert len(await rests_of(gap=0.019, count=20)) == 11
    assert len(await rests_of(gap=0.005, count=8, then=0.039)) == 2, (
        "what comes soon after a rest is a reason for another"
    )
    assert len(await rests_of(gap=0.005, count=8, then=0.041)) == 1


@virtual
async def test_what_comes_in_large_pieces_is_read_without_a_rest() -> None:
    assert len(await rests_of(gap=0.005, count=20, together=2000)) == 0
