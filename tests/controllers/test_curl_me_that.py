"""curl-me-that at work on a server in memory, in virtual time: what it fetches, writes and says, counted."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.cache.samples import Obj, config_map, merged, status, virtual
from tests.controller.apiserver import ApiServer
from tests.controller.working import Events, working

from trimtab.controller import Controllers, Options
from trimtab.controllers.curl_me_that import app, fetcher, memory
from trimtab.controllers.curl_me_that.fetch import Busy, FetchError
from trimtab.controllers.curl_me_that.memory import Memory
from trimtab.controllers.curl_me_that.pairs import ANNOTATIONS
from trimtab.controllers.curl_me_that.record import RECORD
from trimtab.kube.core.v1 import ConfigMap

MARK = ANNOTATIONS[0]
HOUR = 3600.0


class Web:
    """All URLs, and how often each was fetched. Each answers differently each time, unless the test says what."""

    def __init__(self) -> None:
        self.fetches: Counter[str] = Counter()
        self.says: dict[str, bytes | Exception] = {}
        self.takes = 0.1

    async def fetch(self, url: str, *, largest: int) -> bytes:
        self.fetches[url] += 1
        count = self.fetches.total()
        await asyncio.sleep(self.takes)
        answer = self.says.get(url, f"joke {count}".encode())
        if isinstance(answer, Exception):
            raise answer
        if len(answer) > largest:
            raise FetchError("TooLarge", "no room")
        return answer


class Bench:
    """A cluster, the web, and what people were told."""

    def __init__(self) -> None:
        self.server = ApiServer(ConfigMap)
        self.web = Web()
        self.events = Events()

    @asynccontextmanager
    async def working(self) -> AsyncIterator[Controllers]:
        """The controller, newly started."""
        loop = asyncio.get_running_loop()
        options = Options()
        options.put(fetcher, self.web)  # type: ignore[arg-type]
        start = datetime(2026, 7, 1, 12, tzinfo=UTC)
        options.put(memory, Memory(now=lambda: start + timedelta(seconds=loop.time()), random=lambda: 0.0))
        async with working(app, self.server, options=options, events=self.events) as controllers:
            await asyncio.sleep(1)
            yield controllers

    def put(self, text: str | None, name: str = "demo", data: Any = None, **more: Any) -> None:
        annotations = {} if text is None else {MARK: text}
        self.server.put({**config_map(name, data=data, annotations=annotations), **more})

    def annotate(self, text: str | None, name: str = "demo") -> None:
        self.change({"metadata": {"annotations": {MARK: text}}}, name)

    def change(self, patch: Obj, name: str = "demo") -> None:
        self.server.put(merged(self.get(name), patch))

    def get(self, name: str = "demo") -> Obj:
        found = self.server.get("configmaps", f"default/{name}")
        assert found is not None
        return found

    def data(self, name: str = "demo") -> dict[str, str]:
        return self.get(name).get("data", {})

    def told(self, type_: str = "Warning") -> list[tuple[str, str]]:
        return [(reason, note) for _, kind, reason, note in self.events.told if kind == type_]


def on_bench(test: Callable[[Bench], Any]) -> Callable[[], None]:
    async def run() -> None:
        await test(Bench())

    return virtual(run)


async def resyncs(controllers: Controllers, *keys: str, seconds: int = 60) -> None:
    """As if an event came each second."""
    for _ in range(seconds):
        for key in keys:
            controllers.queues["curl-me-that"].add(key)
        await asyncio.sleep(1)


@on_bench
async def test_an_answer_that_differs_each_time_is_fetched_once_and_written_once_then_there_is_silence(
    bench: Bench,
) -> None:
    bench.put("mydata=data.example.com", data={"other": "1"})
    async with bench.working() as controllers:
        assert bench.data() == {"other": "1", "mydata": "joke 1"}
        await resyncs(controllers, "default/demo")
        for i in range(30):  # and real changes, which do not concern us
            bench.change({"data": {"other": str(i)}, "metadata": {"labels": {"n": str(i)}}})
            await asyncio.sleep(1)
        assert bench.web.fetches == {"http://data.example.com": 1}
        assert bench.server.written() == ["patch configmaps/demo"]
    async with bench.working() as controllers:  # and after a restart
        await resyncs(controllers, "default/demo")
        await asyncio.sleep(HOUR)
        assert bench.web.fetches.total() == 1
        assert len(bench.server.written()) == 1
    assert bench.data()["mydata"] == "joke 1"
    assert bench.told("Normal") == [("Fetched", "mydata=http://data.example.com: 6 bytes")]
    key, at, digest, url = bench.get()["metadata"]["annotations"][RECORD].split()
    assert (key, at, url) == ("mydata", "2026-07-01T12:00:00Z", "http://data.example.com")
    assert digest.startswith("sha256:")


@on_bench
async def test_pairs_come_and_go(bench: Bench) -> None:
    bench.put("a=x.com\nb=y.com", data={"mine": "1"})
    bench.web.says = {f"http://{host}.com": host.encode() for host in "xyz"}
    async with bench.working():
        assert bench.data() == {"mine": "1", "a": "x", "b": "y"}
        assert len(bench.server.writes) == 1  # both in one
        bench.annotate("b=z.com")
        await asyncio.sleep(1)
        assert bench.data() == {"mine": "1", "b": "z"}
        bench.annotate(None)
        await asyncio.sleep(1)
        assert bench.data() == {"mine": "1"}
        assert RECORD not in bench.get()["metadata"]["annotations"]
        assert bench.told("Normal")[-1] == ("Removed", "b goes, for nothing asks for it any more")
    assert bench.web.fetches == {"http://x.com": 1, "http://y.com": 1, "http://z.com": 1}


@on_bench
async def test_a_pair_that_goes_while_nobody_looks(bench: Bench) -> None:
    bench.put("a=x.com")
    async with bench.working():
        pass
    bench.annotate(None)
    async with bench.working():
        assert bench.data() == {}


@on_bench
async def test_the_interval(bench: Bench) -> None:
    bench.put("a=x.com every 10m")
    async with bench.working() as controllers:
        await resyncs(controllers, "default/demo", seconds=590)
        assert bench.data() == {"a": "joke 1"}
        await asyncio.sleep(15)
        assert bench.data() == {"a": "joke 2"}
        await asyncio.sleep(HOUR)
        assert bench.web.fetches.total() == 8
    await asyncio.sleep(HOUR)
    async with bench.working():
        assert bench.web.fetches.total() == 9  # one for all that was missed


@on_bench
async def test_a_refresh_that_brings_the_same_is_written_down(bench: Bench) -> None:
    bench.put("a=x.com every 10m")
    bench.web.says = {"http://x.com": b"same"}
    async with bench.working():
        await asyncio.sleep(601)
        assert len(bench.server.writes) == 2
        assert "12:10:0" in bench.get()["metadata"]["annotations"][RECORD]


@on_bench
async def test_a_value_that_was_changed_by_hand_is_fetched_again(bench: Bench) -> None:
    bench.put("a=x.com")
    async with bench.working():
        await asyncio.sleep(60)
        bench.change({"data": {"a": "mine!"}})
        await asyncio.sleep(1)
        assert bench.data() == {"a": "joke 2"}
        bench.change({"data": {"a": None}})
        await asyncio.sleep(6)
        assert bench.data() == {"a": "joke 3"}
    await asyncio.sleep(60)
    bench.change({"data": {"a": "while you were away"}})
    async with bench.working():
        assert bench.data() == {"a": "joke 4"}


@on_bench
async def test_who_fights_over_a_value_costs_one_fetch_in_five_seconds(bench: Bench) -> None:
    bench.put("a=x.com")
    async with bench.working():
        for i in range(300):
            bench.change({"data": {"a": f"mine {i}"}})
            await asyncio.sleep(0.2)
        assert bench.web.fetches.total() <= 14


@on_bench
async def test_failures_leave_the_data_alone_are_told_and_tried_again_later_each_time(bench: Bench) -> None:
    bench.put("a=x.com\nb=y.com")
    async with bench.working() as controllers:
        before = dict(bench.data())
        bench.web.says = {"http://z.com": FetchError("BadStatus", "it answered 503")}
        bench.annotate("a=z.com\nb=y.com")
        await resyncs(controllers, "default/demo", seconds=36)  # tries at 0, 5, 15 and 35 s, whatever events come
        assert bench.web.fetches["http://z.com"] == 4
        assert bench.data() == before
        assert len(bench.server.writes) == 1
        assert bench.told() == [("BadStatus", "a=http://z.com: it answered 503")] * 4
        bench.web.says = {}
        await asyncio.sleep(60)
        assert bench.data() == {**before, "a": "joke 7"}
        await asyncio.sleep(HOUR)
        assert bench.web.fetches["http://z.com"] == 5


@on_bench
async def test_what_only_an_edit_can_mend_is_told_once_and_again_while_it_lasts(bench: Bench) -> None:
    bench.put("a=totally not a url\nb=x.com", data={"a": "1"})
    async with bench.working() as controllers:
        await resyncs(controllers, "default/demo")
        text = "'a=totally not a url': a URL has no spaces"
        assert bench.told() == [("BadURL", text)]
        assert bench.data() == {"a": "1", "b": "joke 1"}
        await asyncio.sleep(2 * HOUR)
        assert bench.told() == [("BadURL", text)] * 5  # each half an hour: the server forgets events after an hour
        assert len(bench.server.writes) == 1
        bench.annotate("b=x.com")
        await asyncio.sleep(2 * HOUR)
        assert len(bench.told()) == 5


@virtual
async def test_what_only_an_edit_can_mend_is_logged_once_for_each_edit(caplog: pytest.LogCaptureFixture) -> None:
    def logged() -> list[str]:
        return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]

    bench = Bench()
    bench.web.says = {"http://z.com": FetchError("BadStatus", "it answered 503", for_good=True)}
    bench.put("a=not a url\nno pair\n..b=x.com\nc=z.com")
    async with bench.working() as controllers:
        await resyncs(controllers, "default/demo")
        await asyncio.sleep(2 * HOUR)
        assert all("not fetched" in line for line in logged())
        for reason in ("BadURL", "BadPair", "BadKey", "BadStatus"):
            assert sum(reason in line for line in logged()) == 1, reason
        assert any("'a=not a url': a URL has no spaces" in line for line in logged())
        caplog.clear()
        bench.annotate("a=x.com")
        await asyncio.sleep(60)
        assert logged() == []
        bench.annotate("a=not a url")
        await asyncio.sleep(60)
        assert len(logged()) == 1


@on_bench
async def test_a_refusal_for_good_is_not_tried_again_until_the_pair_is_another(bench: Bench) -> None:
    bench.web.says = {"http://10.0.0.1": FetchError("Refused", "it is private", for_good=True)}
    bench.put("a=10.0.0.1")
    async with bench.working() as controllers:
        await resyncs(controllers, "default/demo")
        await asyncio.sleep(HOUR)
        assert bench.web.fetches == {"http://10.0.0.1": 1}
        assert bench.told()[0] == ("Refused", "a=http://10.0.0.1: it is private")
        bench.annotate("a=x.com")
        await asyncio.sleep(1)
        assert bench.data() == {"a": "joke 2"}


@on_bench
async def test_a_key_of_somebody_else_is_not_taken(bench: Bench) -> None:
    bench.put("a=x.com\nb=y.com", data={"a": "theirs"})
    async with bench.working() as controllers:
        await resyncs(controllers, "default/demo")
        assert bench.data() == {"a": "theirs", "b": "joke 1"}
        assert bench.web.fetches == {"http://y.com": 1}  # nor is it fetched
        note = "a=http://x.com: the key is there already, and is set by somebody else"
        assert bench.told() == [("KeyTaken", note)]
        bench.change({"data": {"a": None}})  # they let go of it
        await asyncio.sleep(1)
        assert bench.data()["a"] == "joke 2"


@on_bench
async def test_what_is_no_text_goes_to_binary_data(bench: Bench) -> None:
    bench.web.says = {"http://x.com": b"\xff\xfe", "http://y.com": b"a\0b", "http://z.com": "ä".encode()}
    bench.put("a=x.com\nb=y.com\nc=z.com")
    async with bench.working() as controllers:
        assert bench.data() == {"c": "ä"}
        assert bench.get()["binaryData"] == {"a": "//4=", "b": "YQBi"}
        await resyncs(controllers, "default/demo")
        assert len(bench.server.writes) == 1
        bench.web.says = {"http://x.com": b"text"}
        bench.change({"binaryData": {"a": None}})
        await asyncio.sleep(6)
        assert bench.data() == {"c": "ä", "a": "text"}


@on_bench
async def test_all_values_together_have_to_fit(bench: Bench) -> None:
    bench.web.says = {"http://x.com": b"x" * 400_000, "http://y.com": b"y" * 400_000, "http://z.com": b"z" * 900_000}
    bench.put("a=x.com\nb=y.com\nc=z.com", data={"theirs": "1" * 200_000})
    async with bench.working():
        assert bench.data().keys() == {"theirs", "a", "b"}
        assert [reason for reason, _ in bench.told()] == ["TooLarge"]
        bench.change({"data": {"theirs": None}})
        bench.annotate("c=z.com")
        await asyncio.sleep(10)
        assert bench.data().keys() == {"c"}


@on_bench
async def test_one_that_is_immutable_is_told_of(bench: Bench) -> None:
    bench.put("a=x.com", immutable=True)
    async with bench.working():
        await asyncio.sleep(60)
        assert bench.web.fetches == {}
        assert [reason for reason, _ in bench.told()] == ["Immutable"]


@on_bench
async def test_what_could_not_be_written_is_not_fetched_again(bench: Bench) -> None:
    bench.server.always["patch"] = status(500, "InternalError")
    bench.put("a=x.com")
    async with bench.working():
        await asyncio.sleep(60)
        assert len(bench.server.writes) > 5
        del bench.server.always["patch"]
        await asyncio.sleep(120)
        assert bench.data() == {"a": "joke 1"}
    assert bench.web.fetches == {"http://x.com": 1}


@on_bench
async def test_what_changed_while_it_was_fetched(bench: Bench) -> None:
    bench.web.takes = 10.0
    bench.put("a=x.com", name="edited")
    bench.put("a=y.com", name="deleted")
    bench.put("a=z.com", name="replaced")
    async with bench.working():
        await asyncio.sleep(5)
        bench.annotate("a=other.com", name="edited")
        bench.server.delete("default/deleted", "configmaps")
        bench.server.delete("default/replaced", "configmaps")
        await asyncio.sleep(1)
        bench.put(None, name="replaced")
        await asyncio.sleep(60)
        assert bench.data("edited").keys() == {"a"}
        assert "other.com" in bench.get("edited")["metadata"]["annotations"][RECORD]
        assert bench.server.written().count("patch configmaps/edited") == 1  # not what nobody wants any more
        assert bench.server.get("configmaps", "default/deleted") is None
        assert bench.data("replaced") == {}
    assert bench.web.fetches == {f"http://{name}.com": 1 for name in ("x", "y", "z", "other")}


@on_bench
async def test_a_busy_host_is_asked_when_it_says(bench: Bench) -> None:
    bench.web.says = {"http://x.com": Busy("x.com", 7.0)}
    bench.put("a=x.com")
    async with bench.working():
        bench.web.says = {}
        await asyncio.sleep(5)
        assert bench.data() == {}
        await asyncio.sleep(2)
        assert bench.data() == {"a": "joke 2"}
        assert bench.told() == []


@on_bench
async def test_who_puts_back_what_was_fetched_has_mended_it(bench: Bench) -> None:
    bench.put("a=x.com")
    async with bench.working():
        await asyncio.sleep(60)
        bench.web.says = {"http://x.com": FetchError("BadStatus", "it answered 503")}
        bench.change({"data": {"a": "mine"}})
        await asyncio.sleep(1)
        assert len(bench.told()) == 1
        bench.change({"data": {"a": "joke 1"}})
        await asyncio.sleep(2 * HOUR)
        assert len(bench.told()) == 1
        assert bench.web.fetches.total() == 2
