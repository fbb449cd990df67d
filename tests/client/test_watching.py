"""A watch, from bytes to events."""

import asyncio
import json
import logging
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from trimtab.client import (
    ApiError,
    Broken,
    Client,
    Expired,
    Forbidden,
    Gone,
    InternalError,
    NotKubernetes,
    Stalled,
    Unreachable,
)
from trimtab.client.deadlines import Deadlines
from trimtab.client.logs import LogLines
from trimtab.client.request import Request
from trimtab.client.streams import LineReader
from trimtab.errors import TrimtabError
from trimtab.kube.core.v1 import ConfigMap
from trimtab.kube.dynamic import dynamic

Run = Callable[[Any], Any]
REQUEST = Request("watch", "GET", "/x", "/x")
WIDGET = dynamic("example.com/v1", "Widget", plural="widgets", namespaced=True)


def line(kind_of: str, name: str = "a", version: str = "1", **changes: Any) -> bytes:
    head = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name, "resourceVersion": version}}
    return json.dumps({"type": kind_of, "object": {**head, **changes}}, separators=(",", ":")).encode() + b"\n"


def bookmark(version: str, ends_initial_events: bool = False) -> bytes:
    notes = {"k8s.io/initial-events-end": "true"} if ends_initial_events else {}
    return line("BOOKMARK", metadata={"resourceVersion": version, "annotations": notes, "creationTimestamp": None})


class Seen:
    """What a watch gave, and how it ended."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str]] = []
        self.versions: list[str] = []
        self.error: Exception | None = None
        self.watch: Any = None
        self.time = 0.0


def watched(run: Run, server: Any, kind: Any = ConfigMap, **options: Any) -> Seen:
    async def main() -> Seen:
        seen = Seen()
        async with Client(server) as client:
            try:
                async with client.watch(kind, **options) as seen.watch:
                    async for event in seen.watch:
                        seen.events.append((event.type, event.object.metadata.name))
                        seen.versions.append(seen.watch.resource_version)
            except TrimtabError as error:
                seen.error = error
            seen.time = asyncio.get_running_loop().time()
        return seen

    return run(main())


class Pieces:
    """A stream of these chunks."""

    status, headers = 200, {}

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = [chunk for chunk in chunks if chunk]

    async def read(self) -> bytes:
        return self._chunks.pop(0) if self._chunks else b""


def read_lines(chunks: Iterable[bytes], **options: Any) -> tuple[list[bytes], Exception | None]:
    async def main() -> tuple[list[bytes], Exception | None]:
        reader = LineReader(Pieces(chunks), REQUEST, Deadlines(), **options)
        found: list[bytes] = []
        try:
            while lines := await reader.lines():
                found += lines
        except Broken as error:
            return found, error
        return found, None

    return asyncio.run(main())


@given(
    st.lists(st.binary(max_size=9).map(lambda b: b.replace(b"\n", b""))), st.lists(st.integers(0, 60)), st.booleans()
)
@example([b"ab", b"", b"c"], [0, 1, 1, 2, 3, 4], True)
@example([b"abc"], [1, 2], False)
def test_lines_do_not_depend_on_how_they_were_cut(lines: list[bytes], cuts: list[int], whole: bool) -> None:
    data = b"".join(part + b"\n" for part in lines)
    if not whole:
        data = data[:-1]
    places = sorted({min(cut, len(data)) for cut in cuts} | {0, len(data)})
    chunks = [data[a:b] for a, b in pairwise(places)]
    found, error = read_lines(chunks)
    torn = bool(data) and not data.endswith(b"\n")
    assert found == (lines[:-1] if torn or (lines and not whole) else lines)
    assert (error is not None) == torn


def test_a_line_without_end_is_given_up() -> None:
    found, error = read_lines([b"a\n", b"xxxx", b"yyyy", b"\n"], largest=7)
    assert found == [b"a"]
    assert "larger than 7 bytes" in str(error)


@given(st.lists(st.binary(max_size=9)))
def test_log_lines_are_all_there(chunks: list[bytes]) -> None:
    async def main() -> list[str]:
        return [line async for line in LogLines(LineReader(Pieces(chunks), REQUEST, Deadlines(), ragged=True))]

    data = b"".join(chunks)
    wanted = data.removesuffix(b"\n").split(b"\n") if data else []
    assert asyncio.run(main()) == [part.decode("utf-8", "replace") for part in wanted]


def test_events_come_in_order_and_move_the_version(run: Run, scripted: Any) -> None:
    stream = line("ADDED", "a", "5") + line("MODIFIED", "a", "6") + bookmark("9") + line("DELETED", "a", "12")
    seen = watched(run, scripted((200, [stream[:70], stream[70:200], stream[200:]])), resource_version="4")
    assert seen.events == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]
    assert seen.versions == ["5", "6", "12"]
    assert seen.error is None
    assert seen.watch.skipped == 0


def test_bookmarks_alone_move_the_version(run: Run, scripted: Any) -> None:
    seen = watched(run, scripted((200, [bookmark("9"), bookmark("15")])), resource_version="4")
    assert (seen.events, seen.watch.resource_version, seen.watch.initial_events_ended) == ([], "15", False)


def test_the_end_of_the_initial_events_is_told(run: Run, scripted: Any) -> None:
    server = scripted((200, [line("ADDED"), bookmark("9", ends_initial_events=True), line("ADDED", "b", "10")]))

    async def main() -> list[tuple[str, bool]]:
        async with Client(server) as client, client.watch(ConfigMap, initial_events=True) as events:
            return [(event.object.metadata.name, events.initial_events_ended) async for event in events]

    assert run(main()) == [("a", False), ("b", True)]
    [query] = [parse_qs(urlsplit(path).query) for path in server.paths]
    assert query["sendInitialEvents"] == ["true"]
    assert query["resourceVersionMatch"] == ["NotOlderThan"]


def test_what_is_asked(run: Run, scripted: Any) -> None:
    server = scripted((200, []), (200, []))
    watched(run, server, namespace="shop", labels="a=b", fields={"metadata.name": "x"}, resource_version="4")
    watched(run, server, timeout=0.4)
    path, query = urlsplit(server.paths[0]).path, parse_qs(urlsplit(server.paths[0]).query)
    assert path == "/api/v1/namespaces/shop/configmaps"
    assert 300 <= int(query.pop("timeoutSeconds")[0]) <= 600
    assert query == {
        "watch": ["true"], "allowWatchBookmarks": ["true"], "resourceVersion": ["4"],
        "labelSelector": ["a=b"], "fieldSelector": ["metadata.name=x"],
    }  # fmt: skip
    assert "timeoutSeconds=1&" in f"{server.paths[1]}&"  # 0 would be the server's own choice


@pytest.mark.parametrize(
    ("code", "reason", "error"),
    [
        (410, "Expired", Expired),
        (410, "Gone", Gone),
        (410, "", Gone),
        (500, "InternalError", InternalError),
        (403, "Forbidden", Forbidden),
        (0, "", InternalError),
    ],
)
def test_an_error_in_the_stream_is_raised(
    run: Run, scripted: Any, code: int, reason: str, error: type[ApiError]
) -> None:
    status = {"kind": "Status", "apiVersion": "v1", "code": code, "reason": reason, "message": "because"}
    frame = json.dumps({"type": "ERROR", "object": status}).encode() + b"\n"
    seen = watched(run, scripted((200, [line("ADDED", "a", "5") + frame + line("ADDED", "never")])))
    assert seen.events == [("ADDED", "a")]
    assert type(seen.error) is error
    assert "because" in str(seen.error)
    assert seen.watch.resource_version == "5"


@pytest.mark.parametrize("frame", [b'{"type":"ERROR","object":7}\n', b'{"type":"ERROR","object":{"message":null}}\n'])
def test_an_error_that_is_no_status_is_an_error_all_the_same(run: Run, scripted: Any, frame: bytes) -> None:
    seen = watched(run, scripted((200, [frame])))
    assert isinstance(seen.error, InternalError)
    assert len(str(seen.error).splitlines()) == 1


ODD = {
    "no JSON": b"nonsense\n",
    "an empty line": b"\n",
    "no UTF-8": b'{"type":"ADDED","object":{"kind":"\xff"}}\n',
    "an unknown type": line("RENAMED"),
    "no object": b'{"type":"ADDED"}\n',
    "null": b'{"type":"ADDED","object":null}\n',
    "another kind": line("ADDED", kind="Secret", apiVersion="v1"),
    "another version": line("ADDED", kind="ConfigMap", apiVersion="v2"),
    "no kind": b'{"type":"ADDED","object":{"metadata":{"name":"x","resourceVersion":"99"}}}\n',
    "a field of another shape": line("MODIFIED", data=["a"]),
    "text that is no UTF-8": line("ADDED", data={"k": "?"}).replace(b"?", b"\xff"),
    "metadata of another shape": line("ADDED", metadata="none"),
    "a bookmark of another shape": line("BOOKMARK", metadata=3),
    "a bookmark of another kind": line("BOOKMARK", kind="Secret"),
}


@pytest.mark.parametrize("odd", ODD.values(), ids=list(ODD))
def test_what_cannot_be_read_stops_nothing(
    run: Run, scripted: Any, caplog: pytest.LogCaptureFixture, odd: bytes
) -> None:
    seen = watched(run, scripted((200, [line("ADDED", "a", "5"), odd, odd, line("ADDED", "b", "6")])))
    assert seen.events == [("ADDED", "a"), ("ADDED", "b")]
    assert seen.versions == ["5", "6"]
    assert seen.error is None
    assert seen.watch.skipped == 2
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 2
    assert said[0].startswith("skipped an event of watch configmaps: ")


def test_odd_metadata_of_an_object_without_a_class_stops_nothing(run: Run, scripted: Any) -> None:
    def widget(metadata: Any) -> bytes:
        obj = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": metadata}
        return json.dumps({"type": "ADDED", "object": obj}).encode() + b"\n"

    server = scripted((200, [widget("x"), widget([1]), widget({"name": "w", "resourceVersion": "3"})]))
    seen = watched(run, server, WIDGET)
    assert seen.events == [("ADDED", "w")]
    assert (seen.watch.skipped, seen.watch.resource_version) == (2, "3")


@pytest.mark.parametrize("order", ["kind first", "version first", "spaced"])
def test_the_order_of_the_fields_does_not_matter(run: Run, scripted: Any, order: str) -> None:
    body = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "a", "resourceVersion": "5"}}
    if order != "kind first":
        body = dict(reversed(body.items()))
    text = json.dumps({"object": body, "type": "ADDED"}, separators=None if order == "spaced" else (",", ":"))
    seen = watched(run, scripted((200, [text.encode() + b"\n"])))
    assert seen.events == [("ADDED", "a")]


def test_a_version_that_is_missing_is_not_taken_for_the_beginning(run: Run, scripted: Any) -> None:
    odd = line("MODIFIED", metadata={"name": "a"}) + bookmark("")
    seen = watched(run, scripted((200, [line("ADDED", "a", "5") + odd])))
    assert seen.watch.resource_version == "5"


def test_a_torn_event_is_dropped_with_the_connection(run: Run, scripted: Any) -> None:
    torn = line("MODIFIED", "a", "6")[:-1]  # it even is whole JSON
    seen = watched(run, scripted((200, [line("ADDED", "a", "5"), torn])))
    assert seen.events == [("ADDED", "a")]
    assert isinstance(seen.error, Broken)
    assert str(seen.error) == "cannot watch configmaps: the connection broke in the middle of an event"
    assert seen.watch.resource_version == "5"


def test_a_cut_is_raised_after_what_was_whole(run: Run, scripted: Any) -> None:
    server = scripted((200, [line("ADDED", "a", "5") + b'{"type":', Broken("cut")]))
    seen = watched(run, server)
    assert (seen.events, str(seen.error)) == ([("ADDED", "a")], "cut")
    assert server.cut == 1


def test_silence_is_a_fault_and_bookmarks_break_it(run: Run, scripted: Any) -> None:
    server = scripted((200, [line("ADDED", "a", "5"), 70, bookmark("6"), 70, bookmark("7"), 76, line("ADDED", "b")]))
    seen = watched(run, server, silence=75)
    assert seen.events == [("ADDED", "a")]
    assert isinstance(seen.error, Stalled)
    assert str(seen.error) == "cannot watch configmaps: nothing came for 75 s"
    assert 215 <= seen.time <= 215.25
    assert seen.watch.resource_version == "7"


def test_a_slow_reader_is_no_silence(run: Run, scripted: Any) -> None:
    server = scripted((200, [line("ADDED", "a", "5"), line("ADDED", "b", "6")]))

    async def main() -> int:
        async with Client(server) as client, client.watch(ConfigMap, silence=5) as events:
            count = 0
            async for _ in events:
                await asyncio.sleep(100)
                count += 1
            return count

    assert run(main()) == 2


def test_a_page_of_html_is_no_watch(run: Run, scripted: Any) -> None:
    seen = watched(run, scripted((200, [b"<html>\n</html>\n"], {"Content-Type": "text/html; charset=utf-8"})))
    assert isinstance(seen.error, NotKubernetes)


def test_a_watch_that_cannot_begin_is_tried_once(run: Run, scripted: Any) -> None:
    seen = watched(run, scripted(Unreachable("refused")))  # the reader knows where it stopped and goes on by itself
    assert str(seen.error) == "refused"


def test_frames_are_bytes_as_they_came(run: Run, scripted: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    server = scripted((200, [line("ADDED") + bookmark("9") + b"odd\n" + line("DELETED")]))

    async def main() -> list[tuple[str, Any]]:
        async with Client(server) as client, client.watch(ConfigMap) as watch:
            found: list[tuple[str, str]] = []
            while frames := await watch.frames():
                found += [(frame.type, json.loads(bytes(frame.object))["kind"]) for frame in frames]
            return found

    assert run(main()) == [("ADDED", "ConfigMap"), ("BOOKMARK", "ConfigMap"), ("DELETED", "ConfigMap")]
    assert len(caplog.records) == 1


def test_silence_means_something_only_after_a_bookmark(run: Run, scripted: Any) -> None:
    """Not every kind has bookmarks: a quiet watch on core/v1 Events is as healthy as can be."""
    quiet = watched(run, scripted((200, [line("ADDED"), 314, line("ADDED", "b"), 314])), timeout=300)
    assert (len(quiet.events), quiet.error) == (2, None)
    dead = watched(run, scripted((200, [line("ADDED"), 316, line("ADDED", "b")])), timeout=300)
    assert (len(dead.events), type(dead.error)) == (1, Stalled)
    stalled = watched(run, scripted((200, [bookmark("9"), 76, line("ADDED")])), timeout=300)
    assert (len(stalled.events), type(stalled.error)) == (0, Stalled)
    lively = watched(run, scripted((200, [bookmark("9"), 74, bookmark("10"), 74, line("ADDED")])), timeout=300)
    assert (len(lively.events), lively.error) == (1, None)


def test_an_object_nested_too_deep_stops_nothing(run: Run, scripted: Any) -> None:
    """API servers take deeper objects than Python 3.11 does, from whoever may create a custom resource."""
    deep = line("ADDED", "deep").replace(b'"1"', b'"1"},"spec":{"x":' + b"[" * 100_000 + b"]" * 100_000)
    seen = watched(run, scripted((200, [deep, line("ADDED", "after")])))
    assert seen.events == [("ADDED", "after")]
    assert seen.watch.skipped == 1
