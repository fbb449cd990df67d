"""The cache against whatever a server may legally do: faults 2 (stale views), 3 (what is never observed) and 5 (what
becomes of a watch) of reliability.md, in any order, in virtual time.

Whenever the feed has delivered something (at every event, bookmark and list), the cache is compared with what the
server had as of the version that the cache says it is at. What handlers were told, folded up, is compared with the
cache; so is what its indexes find. What was written through the informers' client is read back at once.
"""

from __future__ import annotations

import asyncio
from random import Random
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.cache.fakeserver import FakeServer
from tests.cache.folding import Fold
from tests.cache.samples import BUSY, EXPIRED, TOO_LARGE, pod, status, version_of
from tests.cache.streams import OpenStream
from tests.client.conftest import JumpingLoop

from trimtab.cache import Cached, Informers
from trimtab.client import Broken, Client, Unreachable
from trimtab.client.retry import Retry
from trimtab.kube.core.v1 import Container, Pod, PodSpec
from trimtab.kube.meta.v1 import ObjectMeta

NAMES = st.sampled_from("abcd")
APPS = st.sampled_from(["web", "db"])
STREAM_ERRORS = [EXPIRED, BUSY, status(500, "InternalError"), TOO_LARGE]
REFUSALS: list[Any] = [EXPIRED, BUSY, status(500, "InternalError"), Unreachable("refused"), Broken("cut"), 3.0, 100.0]
HALF = b'{"type":"DELETED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","names'
REMEMBERED = 100.0  # seconds for which the cache has to know of a deletion that the watch does not show


class Cluster(RuleBasedStateMachine):
    @initialize(streams=st.booleans(), pages=st.booleans(), page=st.sampled_from([1, 2, 500]), narrow=st.booleans())
    def begin(self, streams: bool, pages: bool, page: int, narrow: bool) -> None:
        self.runner = asyncio.Runner(loop_factory=JumpingLoop)
        self.server = FakeServer()
        self.server.streams_state = streams
        self.server.pages_version_0 = pages
        self.server.largest_page = page
        self.selector = "app=web" if narrow else None
        self.wrong: list[str] = []
        self.images = 0
        for name in "ab":
            self.put(name, "web")
        self.start()

    # The cache

    def start(self) -> None:
        """A process starts; whatever it knew before is gone."""
        self.written: dict[str, tuple[int, str | None, float]] = {}  # version, uid where it was deleted, and when
        self.runner.run(self.open())

    async def open(self) -> None:
        clock = asyncio.get_running_loop().time
        client = Client(self.server, random=Random(1).random, retry=Retry(attempts=1), namespace="default")
        self.informers = Informers(client, clock=clock, random=Random(2).random)
        self.stop = asyncio.Event()
        opened = asyncio.Event()

        async def live() -> None:
            async with self.informers:
                self.informer = self.informers.informer(Pod, labels=self.selector)
                self.informer.add_index("image", lambda entry: [entry.read().spec.containers[0].image or ""])
                [self.watched] = self.informer.watches
                deliver = self.watched.feed._deliver
                self.watched.feed._deliver = lambda changes, first: (deliver(changes, first), self.compare())[0]
                self.folds = [Fold(self.informer), Fold(self.informer, pause=0.5)]
                opened.set()
                await self.stop.wait()

        self.life = asyncio.create_task(live())
        await opened.wait()
        await asyncio.sleep(0.01)

    def go_on(self, seconds: float = 0.01) -> None:
        self.runner.run(asyncio.sleep(seconds))

    def truth(self, version: int) -> dict[str, int]:
        state = self.server.state_at(version).items()
        wanted = None if self.selector is None else {"app": "web"}
        return {key: version_of(obj) for key, obj in state if wanted in (None, obj["metadata"]["labels"])}

    def compare(self) -> None:
        """At every event, bookmark and list: the cache is what the server had."""
        version = int(self.watched.feed.resource_version or 0)
        if self.watched.synced.is_set():
            held = {entry.key: int(entry.resource_version) for entry in self.watched.store}
            if held != self.truth(version):
                self.wrong.append(f"at {version} there was {self.truth(version)}, and not {held}")

    # What happens to objects, by others' hands

    def put(self, name: str, app: str) -> None:
        self.images += 1
        self.server.put(pod(name, image=f"i{self.images}", labels={"app": app}))

    @rule(name=NAMES, app=APPS, again=st.booleans())
    def somebody_puts(self, name: str, app: str, again: bool) -> None:
        if again and f"default/{name}" in self.server.current["pods"]:
            self.server.delete(f"default/{name}")
        self.put(name, app)
        self.go_on()

    @rule(name=NAMES)
    def somebody_deletes(self, name: str) -> None:
        if f"default/{name}" in self.server.current["pods"]:
            self.server.delete(f"default/{name}")
            self.go_on()

    # What the process itself writes

    @rule(name=NAMES, app=APPS, delay=st.sampled_from([0.0, 0.1]))
    def writes(self, name: str, app: str, delay: float) -> None:
        self.images += 1
        self.server.answers_after = delay
        meta = ObjectMeta(name=name, namespace="default", labels={"app": app})
        wanted = Pod(metadata=meta, spec=PodSpec(containers=[Container(name="c", image=f"i{self.images}")]))
        answer = self.runner.run(self.informers.client.apply(wanted))
        self.wrote(f"default/{name}", int(answer.metadata.resource_version), None)

    @rule(name=NAMES, delay=st.sampled_from([0.0, 0.1]))
    def deletes(self, name: str, delay: float) -> None:
        self.server.answers_after = delay
        if (before := self.server.current["pods"].get(f"default/{name}")) is not None:
            self.runner.run(self.informers.client.delete(Pod, name))
            self.wrote(f"default/{name}", self.server.now, before["metadata"]["uid"])

    def wrote(self, key: str, version: int, deleted: str | None) -> None:
        self.written[key] = version, deleted, self.runner.get_loop().time()

    # What becomes of the watch

    @precondition(lambda self: self.server.watches)
    @rule(how=st.sampled_from(["cut", "cut in the middle", "end", "end in the middle", "silent"]))
    def the_stream_breaks(self, how: str) -> None:
        watch = self.server.watches[-1]
        match how:
            case "cut" | "cut in the middle":
                watch.cut(HALF if "middle" in how else b"")
            case "end" | "end in the middle":
                watch.say(HALF if "middle" in how else b"", b"")
            case _:
                watch.silent = True
        self.go_on()

    @precondition(lambda self: self.server.watches)
    @rule(error=st.sampled_from(STREAM_ERRORS))
    def the_server_ends_the_stream_with_an_error(self, error: Any) -> None:
        self.server.watches[-1].refuse(error)
        self.go_on()

    @rule(verb=st.sampled_from(["watch", "watchlist", "list"]), refusal=st.sampled_from(REFUSALS))
    def a_request_will_be_refused(self, verb: str, refusal: Any) -> None:
        self.server.next[verb].append(refusal)

    @rule()
    def the_next_stream_of_the_state_stalls(self) -> None:
        def stall(watch: OpenStream) -> None:
            if watch.asked.verb == "watchlist":
                watch.stall_before_the_end()
                self.server.on_watch = None

        self.server.on_watch = stall

    @rule()
    def compaction(self) -> None:
        self.server.compact()

    @rule(by=st.integers(0, 6))
    def another_server_answers_that_is_behind(self, by: int) -> None:
        """Its streams are new, and what it has not seen it does not tell of."""
        self.server.behind = max(self.server.now - by, 1)
        for watch in list(self.server.watches):
            watch.cut()
        self.go_on()

    @rule()
    def the_server_catches_up(self) -> None:
        self.server.behind = None
        self.server.tell_watches()
        self.go_on()

    @rule(bookmarks=st.booleans(), seconds=st.sampled_from([0.5, 5.0, 61.0, 80.0, 400.0]))
    def time_passes(self, bookmarks: bool, seconds: float) -> None:
        self.server.bookmarks = bookmarks
        self.go_on(seconds)

    @rule()
    def the_process_restarts(self) -> None:
        self.runner.run(self.end())
        self.start()

    @rule(late=st.booleans())
    def a_handler_comes_or_goes(self, late: bool) -> None:
        if late:
            self.runner.run(self.add_fold())
        elif len(self.folds) > 2:
            self.folds.pop().registration.remove()

    async def add_fold(self) -> None:
        self.folds.append(Fold(self.informer, pause=0.1))

    # What must hold

    @invariant()
    def the_cache_was_right_whenever_it_told_of_something(self) -> None:
        if self.life.done():
            self.life.result()
        assert self.wrong == []
        for fold in self.folds:
            assert fold.wrong == []
            assert fold.registration.handler.failures == 0
            if fold.registration.backlog == 0:
                assert fold.held == {entry.key: entry for entry in self.watched.store}

    @precondition(lambda self: self.watched.synced.is_set())
    @invariant()
    def what_is_read_is_what_is_held_and_what_was_written(self) -> None:
        lister = self.informer.lister
        listed = {entry.key: entry for entry in lister.entries()}
        for key in [f"default/{name}" for name in "abcd"]:
            assert listed.get(key) is lister.entry(key[-1], namespace="default")
            self.is_no_older_than_what_was_written(key, listed.get(key))
        web = {entry.key for entry in lister.entries(labels="app=web")}
        assert web == {key for key, entry in listed.items() if entry.labels["app"] == "web"}
        for key, entry in listed.items():
            image = entry.read().spec.containers[0].image or ""
            assert [found.key for found in lister.entries(index=("image", image))] == [key]

    def is_no_older_than_what_was_written(self, key: str, seen: Cached[Pod] | None) -> None:
        if key not in self.written:
            return
        version, deleted, at = self.written[key]
        if self.runner.get_loop().time() - at > REMEMBERED:
            return
        if seen is not None:
            assert int(seen.resource_version) >= version
            assert seen.uid != deleted
        elif deleted is None:
            shown = max(int(self.watched.feed.resource_version), version)
            later = [key in self.truth(v) for v in range(version, shown + 1)]
            assert not all(later), f"{key} was written at {version} and is not there"

    async def end(self) -> None:
        self.stop.set()
        await self.life

    def teardown(self) -> None:
        """When the faults are over, it gets to know everything, and nothing is left of what was in the way."""
        if not hasattr(self, "life"):
            return
        try:
            self.server.next.clear()
            self.server.behind, self.server.on_watch, self.server.bookmarks = None, None, True
            self.server.tell_watches()
            self.go_on(400)
            self.the_cache_was_right_whenever_it_told_of_something()
            assert self.watched.feed.resource_version == str(self.server.now)
            held = {entry.key: int(entry.resource_version) for entry in self.informer.lister.entries()}
            assert held == self.truth(self.server.now)
            assert [fold.registration.backlog for fold in self.folds] == [0] * len(self.folds)
            assert (len(self.watched.overlay), self.watched.pulse.problem) == (0, "")
            self.runner.run(self.end())
        finally:
            self.runner.close()


TestCluster = Cluster.TestCase
TestCluster.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
