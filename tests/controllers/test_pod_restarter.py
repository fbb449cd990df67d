"""pod-restarter over a small cluster in memory, in virtual time: Pods that come back, a budget, crashes."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import msgspec
import pytest
from tests.cache.samples import Obj, config_map, merged, status, virtual
from tests.cache.streams import Asked
from tests.controller.apiserver import ApiServer
from tests.controller.working import Events, working

from trimtab.controller import Controllers, Options
from trimtab.controllers.pod_restarter import MARK, MAX_DOWN, USUAL, app
from trimtab.controllers.pod_restarter.change import RECORD, Change, begin, digest_of, next_turn, read
from trimtab.kube.core.v1 import ConfigMap, Pod, PodSpec
from trimtab.kube.timestamps import format_time
from trimtab.kube.wire import decode

START = datetime(2026, 7, 1, 12, tzinfo=UTC)
DISRUPTION = "Cannot evict pod as it would violate the pod's disruption budget."


class Cluster(ApiServer):
    """Starts a Pod anew, under another name, one second after it was evicted; it gets ready three seconds later."""

    def __init__(self) -> None:
        super().__init__(ConfigMap, Pod)
        self.evictions: list[str] = []  # the uids, in order
        self.most_down = 0
        self.budget = 1000  # how many may be down before evictions are refused
        self.ready_after = 3.0
        self.pods = 0
        self.missing = 0  # evicted, and not started anew yet
        self.anew: set[str] = set()  # the keys of those that were
        self.most_not_back = 0  # how many were evicted and not back, ready, at a time
        self.most_with_one_up = 0  # how many were down after one went that was up
        self.replaces = True
        self.namesakes = False  # the next eviction meets another Pod of that name
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, count: int, *, ready: bool = True, app: str = "frontend", phase: str = "Running") -> None:
        for _ in range(count):
            self._start(ready=ready, app=app, phase=phase)

    def down(self) -> int:
        return self.missing + sum(not _is_ready(pod) for pod in self.current["pods"].values())

    def not_back(self) -> int:
        pods = self.current["pods"]
        return self.missing + sum(key in pods and not _is_ready(pods[key]) for key in self.anew)

    def get_ready(self, key: str, *, ready: bool = True) -> None:
        """If it is still there."""
        if (pod := self.current["pods"].get(key)) is not None:
            self.put(merged(pod, {"status": {"conditions": [{"type": "Ready", "status": str(ready)}]}}))

    def uids(self) -> set[str]:
        return {pod["metadata"]["uid"] for pod in self.current["pods"].values()}

    def _start(self, *, ready: bool, app: str = "frontend", phase: str = "Running") -> str:
        self.pods += 1
        made = format_time(START + timedelta(seconds=asyncio.get_running_loop().time()))
        meta = {
            "name": f"web-{self.pods}",
            "namespace": "default",
            "labels": {"app": app},
            "creationTimestamp": made,
        }
        conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
        state = {"phase": phase, "conditions": conditions}
        self.put({"kind": "Pod", "apiVersion": "v1", "metadata": meta, "spec": {"containers": []}, "status": state})
        return f"default/web-{self.pods}"

    def _write(self, asked: Asked) -> tuple[int, bytes]:
        if asked.verb == "list":
            chosen = [pod for pod in self.current["pods"].values() if asked.selects(pod)]
            return 200, msgspec.json.encode({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": chosen})
        name, _, subresource = asked.name.partition("/")
        if subresource != "eviction":
            return super()._write(asked)
        pod = self.current["pods"].get(f"default/{name}")
        if pod is None:
            return status(404, "NotFound")
        if self.namesakes:
            self.namesakes = False
            self.delete(f"default/{name}")
            pod = self.put(pod)
        body = msgspec.json.decode(asked.request.body or b"{}")
        if body["deleteOptions"].get("preconditions", {}).get("uid", pod["metadata"]["uid"]) != pod["metadata"]["uid"]:
            return status(409, "Conflict")
        if self.down() >= self.budget:
            return status(429, "TooManyRequests", message=DISRUPTION)
        self.evictions.append(pod["metadata"]["uid"])
        self.delete(f"default/{name}")
        if self.replaces:
            self.missing += 1
            task = asyncio.create_task(self._replace())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        self.most_down = max(self.most_down, self.down())
        self.most_not_back = max(self.most_not_back, self.not_back())
        if _is_ready(pod):
            self.most_with_one_up = max(self.most_with_one_up, self.down())
        return 200, msgspec.json.encode({"kind": "Status", "apiVersion": "v1", "status": "Success"})

    async def _replace(self) -> None:
        await asyncio.sleep(1)
        self.missing -= 1
        key = self._start(ready=False)
        self.anew.add(key)
        await asyncio.sleep(self.ready_after)
        self.get_ready(key)


def _is_ready(pod: Obj) -> bool:
    return pod["status"]["conditions"][0]["status"] == "True"


class Bench:
    """A marked ConfigMap, and what people were told."""

    def __init__(self) -> None:
        self.cluster = Cluster()
        self.events = Events()

    @asynccontextmanager
    async def working(self, **options: Any) -> AsyncIterator[Controllers]:
        given = {MAX_DOWN: options.pop("max_down", 1)}
        async with working(app, self.cluster, options=Options(given), events=self.events) as controllers:
            yield controllers

    def put(self, selector: str | None = "", **data: str) -> None:
        annotations = {} if selector is None else {MARK: selector}
        self.cluster.put(config_map("settings", data=data, annotations=annotations))

    def change(self, patch: Obj) -> None:
        self.cluster.put(merged(self.cluster.get("configmaps", "default/settings"), patch))

    def said(self) -> list[str]:
        return [reason for _, _, reason, _ in self.events.told]

    def record(self) -> str | None:
        found = self.cluster.get("configmaps", "default/settings")
        assert found is not None
        return found["metadata"]["annotations"].get(RECORD)


def on_bench(test: Callable[..., Any]) -> Callable[..., None]:
    @virtual
    async def run(*arguments: Any) -> None:
        await test(Bench(), *arguments)

    return run


@on_bench
async def test_a_change_restarts_each_pod_once_and_then_there_is_silence(bench: Bench) -> None:
    cluster = bench.cluster
    cluster.start(5)
    cluster.start(2, app="backend")
    old, bystanders = {f"uid-{i}" for i in range(1, 6)}, {"uid-6", "uid-7"}
    bench.put(text="1")
    async with bench.working() as controllers:
        await asyncio.sleep(60)
        assert cluster.evictions == []  # to be marked is no change
        bench.change({"data": {"text": "2"}})
        await asyncio.sleep(120)
        assert Counter(cluster.evictions) == dict.fromkeys(old, 1)
        assert cluster.most_down == 1
        assert bystanders <= cluster.uids()
        assert bench.said()[:2] == ["Watching", "Restarting"]
        assert bench.said()[-1] == "Restarted"
        assert bench.said().count("Evicted") == 5
        before = len(cluster.requests)
        for _ in range(60):
            controllers.queues["pod-restarter"].add("default/settings")
            await asyncio.sleep(60)
        assert len(cluster.asked_for("get", "list", "patch", "create")) == len(
            [asked for asked in cluster.requests[:before] if asked.verb in ("get", "list", "patch", "create")]
        )
        assert len(cluster.evictions) == 5


@on_bench
async def test_a_change_of_metadata_restarts_nothing(bench: Bench) -> None:
    bench.cluster.start(2)
    bench.put(text="1")
    async with bench.working():
        for i in range(10):
            bench.change({"metadata": {"labels": {"n": str(i)}, "annotations": {"n": str(i)}}})
            await asyncio.sleep(10)
        assert bench.cluster.evictions == []
        assert bench.cluster.written() == ["patch configmaps/settings"]


@on_bench
async def test_a_change_that_was_made_while_it_was_down(bench: Bench) -> None:
    bench.cluster.start(2)
    bench.put(text="1")
    async with bench.working():
        pass
    bench.change({"data": {"text": "2"}})
    await asyncio.sleep(3600)
    async with bench.working():
        await asyncio.sleep(60)
        assert sorted(bench.cluster.evictions) == ["uid-1", "uid-2"]


@on_bench
async def test_a_change_during_a_change_restarts_those_again_that_had_been(bench: Bench) -> None:
    bench.cluster.start(2)
    bench.put(text="1")
    async with bench.working():
        bench.change({"data": {"text": "2"}})
        await asyncio.sleep(5.5)
        assert len(bench.cluster.evictions) >= 1
        bench.change({"data": {"text": "3"}})
        await asyncio.sleep(60)
        assert max(Counter(bench.cluster.evictions).values()) == 1
        assert len(bench.cluster.evictions) in (3, 4)
        assert bench.said()[-1] == "Restarted"


@on_bench
async def test_a_disruption_budget_is_respected(bench: Bench) -> None:
    cluster = bench.cluster
    cluster.start(3)
    cluster.budget = 1
    bench.put(text="1")
    async with bench.working(max_down=10):
        bench.change({"data": {"text": "2"}})
        await asyncio.sleep(120)
        assert Counter(cluster.evictions) == {"uid-1": 1, "uid-2": 1, "uid-3": 1}
        assert cluster.most_down == 1
    assert ("settings", "Normal", "Waiting", f"web-2 stays for now: {DISRUPTION}") in bench.events.told


@on_bench
async def test_pods_that_do_not_get_ready_with_the_new_data_end_it(bench: Bench) -> None:
    cluster = bench.cluster
    cluster.start(6)
    cluster.ready_after = 100_000.0
    bench.put(text="1")
    async with bench.working(max_down=2):
        bench.change({"data": {"text": "broken"}})
        await asyncio.sleep(600)
        assert len(cluster.evictions) == 2
        assert bench.said()[-1] == "Waiting"
        assert bench.events.told[-1][3] == "2 Pods are down, and 2 may be"


@on_bench
async def test_pods_that_are_scaled_down_meanwhile_are_not_waited_for_for_ever(bench: Bench) -> None:
    cluster = bench.cluster
    cluster.start(4)
    cluster.replaces = False
    bench.put(text="1")
    async with bench.working():
        bench.change({"data": {"text": "2"}})
        await asyncio.sleep(20)
        assert len(cluster.evictions) == 1
        await asyncio.sleep(120)
        assert len(cluster.evictions) == 4
        assert bench.said()[-1] == "Restarted"


@on_bench
async def test_those_that_are_down_already_go_first_and_what_has_ended_stays(bench: Bench) -> None:
    cluster = bench.cluster
    cluster.start(2)
    cluster.start(2, ready=False)
    cluster.start(1, phase="Succeeded")
    bench.put(text="1")
    async with bench.working():
        bench.change({"data": {"text": "2"}})
        await asyncio.sleep(60)
        assert set(cluster.evictions[:2]) == {"uid-3", "uid-4"}
        assert len(cluster.evictions) == 4
        assert "uid-5" in cluster.uids()


@on_bench
async def test_a_blip_of_readiness_and_an_edit_do_not_evict_all_at_once(bench: Bench) -> None:
    cluster = bench.cluster
    cluster.start(8, ready=False)
    bench.put(text="1")
    async with bench.working(max_down=2):
        bench.change({"data": {"text": "2"}})
        await asyncio.sleep(1.5)
        assert len(cluster.evictions) == 2
        for i in range(1, 9):
            cluster.get_ready(f"default/web-{i}")
        await asyncio.sleep(120)
        assert Counter(cluster.evictions) == {f"uid-{i}": 1 for i in range(1, 9)}
        assert cluster.most_not_back == 2
        assert cluster.most_with_one_up == 2


@on_bench
async def test_pods_that_never_became_ready_are_restarted_all_the_same(bench: Bench) -> None:
    """With data that mends them, say."""
    cluster = bench.cluster
    cluster.start(5, ready=False)
    bench.put(text="broken")
    async with bench.working(max_down=2):
        bench.change({"data": {"text": "mended"}})
        await asyncio.sleep(60)
        assert Counter(cluster.evictions) == {f"uid-{i}": 1 for i in range(1, 6)}
        assert cluster.most_not_back == 2
        assert bench.said()[-1] == "Restarted"


@pytest.mark.parametrize("seed", range(20))
def test_whatever_readiness_does_no_more_are_down_for_us_than_may_be(seed: int) -> None:
    @virtual
    async def run() -> None:
        random, bench = Random(seed), Bench()
        cluster, most = bench.cluster, random.randint(1, 3)
        cluster.start(8)
        old = cluster.uids()
        bench.put(text="1")
        async with bench.working(max_down=most):
            await asyncio.sleep(random.random())
            for i in range(1, 9):
                cluster.get_ready(f"default/web-{i}", ready=random.random() < 0.4)
            bench.change({"data": {"text": "2"}})
            for _ in range(60):
                await asyncio.sleep(random.random())
                cluster.get_ready(f"default/web-{random.randint(1, 8)}", ready=random.random() < 0.6)
            await asyncio.sleep(120)
        assert Counter(cluster.evictions) == dict.fromkeys(old, 1)
        assert cluster.most_not_back <= most
        assert cluster.most_with_one_up <= most
        assert (bench.record() or "").endswith(" done")

    run()


@on_bench
async def test_a_selector_that_is_none_is_told_of_when_it_is_written_and_once(bench: Bench) -> None:
    cluster = bench.cluster
    cluster.start(1)
    bench.put("=what?", text="1")
    async with bench.working() as controllers:
        for _ in range(10):
            controllers.queues["pod-restarter"].add("default/settings")
            await asyncio.sleep(60)
        assert bench.said() == ["BadSelector"]
        assert MARK in bench.events.told[0][3]
        assert cluster.written() == []  # nothing is watched yet
        bench.change({"metadata": {"annotations": {MARK: "app=frontend"}}})
        await asyncio.sleep(10)
        bench.change({"metadata": {"annotations": {MARK: "=what?"}}})
        await asyncio.sleep(10)
        assert bench.said() == ["BadSelector", "Watching", "BadSelector"]
        bench.change({"data": {"text": "2"}})
        await asyncio.sleep(10)
        assert bench.said()[3:] == ["BadSelector"]  # Pods are not restarted for it
        bench.change({"metadata": {"annotations": {MARK: "app=frontend"}}})
        await asyncio.sleep(30)
        assert cluster.evictions == ["uid-1"]  # what changed meanwhile is acted on


@on_bench
async def test_a_selector_of_its_own_one_that_is_none_and_the_end_of_the_mark(bench: Bench) -> None:
    cluster = bench.cluster
    cluster.start(1)
    cluster.start(1, app="backend")
    bench.put("app in (backend)", text="1")
    async with bench.working():
        bench.change({"data": {"text": "2"}})
        await asyncio.sleep(30)
        assert cluster.evictions == ["uid-2"]
        bench.change({"data": {"text": "3"}, "metadata": {"annotations": {MARK: "=what?"}}})
        await asyncio.sleep(30)
        assert bench.said()[-1] == "BadSelector"
        assert len(cluster.evictions) == 1
        bench.change({"metadata": {"annotations": {MARK: None}}})
        await asyncio.sleep(30)
        assert bench.record() is None
        bench.change({"data": {"text": "4"}})
        await asyncio.sleep(30)
        assert len(cluster.evictions) == 1


@on_bench
async def test_a_change_that_concerns_nobody_is_done_at_once(bench: Bench) -> None:
    bench.put(text="1")
    async with bench.working():
        bench.change({"data": {"text": "2"}})
        await asyncio.sleep(10)
        assert bench.said()[-1] == "Restarted"
        bench.cluster.start(2)
        await asyncio.sleep(60)
        assert bench.cluster.evictions == []
        assert (bench.record() or "").endswith(" done")


@pytest.mark.parametrize("seed", range(20))
def test_killed_at_any_moment_it_restarts_each_pod_once(seed: int) -> None:
    @virtual
    async def run() -> None:
        random, bench = Random(seed), Bench()
        bench.cluster.start(6)
        old = bench.cluster.uids()
        bench.put(text="1")
        async with bench.working():
            pass
        await asyncio.sleep(random.random() * 2)
        bench.change({"data": {"text": "2"}})
        for _ in range(12):
            async with bench.working(max_down=2):
                await asyncio.sleep(random.random() * 3)
            await asyncio.sleep(random.random())
        async with bench.working(max_down=2):
            await asyncio.sleep(60)
        assert Counter(bench.cluster.evictions) == dict.fromkeys(old, 1)
        assert bench.cluster.most_down <= 2
        assert (bench.record() or "").endswith(" done")

    run()


@on_bench
async def test_who_decided_by_an_old_state_writes_nothing(bench: Bench) -> None:
    """Another one sees the same change, restarts the Pods and is done, while we make up our mind."""
    cluster = bench.cluster
    cluster.start(3)
    bench.put(text="1")
    async with bench.working():
        bench.change({"data": {"text": "2"}})
        done = f"{_digest_now(bench)} done"

        def another(_: Asked) -> None:
            cluster.before_write = lambda _: None
            bench.change({"metadata": {"annotations": {RECORD: done}}})

        cluster.before_write = another
        await asyncio.sleep(60)
        assert cluster.evictions == []
        assert bench.record() == done


@on_bench
async def test_a_namesake_is_not_evicted(bench: Bench) -> None:
    """A StatefulSet makes its Pods anew under the same name."""
    cluster = bench.cluster
    cluster.start(1)
    bench.put(text="1")
    async with bench.working():
        cluster.namesakes = True
        bench.change({"data": {"text": "2"}})
        await asyncio.sleep(60)
        assert cluster.evictions == []
        assert bench.said()[-1] == "Restarted"


def _digest_now(bench: Bench) -> str:
    return digest_of(decode(ConfigMap, msgspec.json.encode(bench.cluster.get("configmaps", "default/settings"))))


def test_the_record_is_read_as_it_was_written() -> None:
    digest = "sha256:" + "0" * 64
    for change in (
        Change(digest),
        Change(digest, 3, START, frozenset({"uid-1", "7f3a2b1c"})),
    ):
        assert read(str(change)) == change
    assert read("nonsense") is None
    assert USUAL == "app=frontend"


def test_pods_of_the_same_second_are_told_apart() -> None:
    def pod(uid: str, seconds: int) -> Pod:
        pod = Pod(spec=PodSpec(containers=[]))
        pod.metadata.uid, pod.metadata.name = uid, uid
        pod.metadata.creation_timestamp = START + timedelta(seconds=seconds)
        return pod

    old = [pod("aaaaaaaa-1", 0), pod("bbbbbbbb-1", 5)]
    change = begin("sha256:" + "0" * 64, old)
    again = read(str(change))
    assert again == change
    new = [pod("cccccccc-1", 5), pod("dddddddd-1", 6)]
    assert [p for p in (*old, *new) if change.concerns(p)] == old
    assert next_turn(change, new, 5).left == 0
