"""The bundled controllers under a load of 1,000 objects, killed (SIGKILL) at random moments and started again.

In the end every object is right, and nothing was done twice: fetches, writes and deletions are counted from outside.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import sys
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from random import Random
from typing import Any, Self

from aiohttp import web

from trimtab.client import Client, Conflict, MergePatch, NotFound, load_config
from trimtab.controllers.curl_me_that.record import RECORD, read_record
from trimtab.controllers.pod_restarter import MARK
from trimtab.controllers.pod_restarter import change as restarting
from trimtab.kube.core.v1 import ConfigMap, Container, Pod, PodSpec
from trimtab.kube.meta.v1 import ObjectMeta
from trimtab.testing.control_plane import ControlPlane

MANY = 1000
KILLS = 4
AT_ONCE = 32  # workers of curl-me-that: as many fetches may be lost with the process


async def all_at_once(work: Iterable[Awaitable[Any]], most: int = 32) -> None:
    room = asyncio.Semaphore(most)

    async def one(each: Awaitable[Any]) -> None:
        async with room:
            await each

    await asyncio.gather(*map(one, work))


class Process:
    """`trimtab run`, killed and started as often as the test wants."""

    def __init__(self, plane: ControlPlane, namespace: str, folder: Path, *words: str) -> None:
        self._command = [sys.executable, "-m", "trimtab", "run", *words]
        self._command += ["--kubeconfig", str(plane.kubeconfig()), "-n", namespace, "--listen", "off"]
        self._folder = folder
        self.logs: list[Path] = []

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        self.logs.append(self._folder / f"{len(self.logs)}.log")
        with self.logs[-1].open("wb") as log:
            process = await asyncio.create_subprocess_exec(
                *self._command, stdout=log, stderr=log, env={**os.environ, "TRIMTAB_LOG_FORMAT": "json"}
            )
            try:
                yield
                assert process.returncode is None, self.logs[-1].read_text()
            finally:
                if process.returncode is None:
                    process.kill()
                await process.wait()

    async def killed_at_random(self, seed: int, progress: Callable[[], int]) -> int:
        """Let it begin to work, and kill it at a random moment after that; again and again. How often it was."""
        random = Random(seed)
        for kills in range(KILLS):
            before = progress()
            if before > MANY * 0.8:  # a fast machine: there has to be something left for the next
                return kills
            async with self.running():
                await until(lambda before=before: progress() > before, "work")
                await asyncio.sleep(random.random() * 0.5)
        return KILLS


async def until(holds: Callable[[], bool], what: str, seconds: float = 90.0) -> None:
    try:
        async with asyncio.timeout(seconds):
            while not holds():  # noqa: ASYNC110  # other processes do it
                await asyncio.sleep(0.05)
    except TimeoutError:
        raise AssertionError(f"no {what} within {seconds:g} s") from None


class Witness:
    """Sees each change of the objects of a kind."""

    def __init__(self, client: Client, kind: type[Any]) -> None:
        self.objects: dict[str, Any] = {}
        self.changes: Counter[str] = Counter()
        self.deletions: list[Any] = []
        self.on_deleted: Callable[[Any], Awaitable[None]] | None = None
        self._client = client
        self._kind = kind
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        listed = await self._client.list(self._kind, namespace=self._client.namespace)
        self.objects = {obj.metadata.name: obj for obj in listed}
        self._task = asyncio.create_task(self._watch(listed.resource_version))
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._task is not None
        assert not self._task.done()
        self._task.cancel()
        await asyncio.wait([self._task])

    async def _watch(self, version: str) -> None:
        async with self._client.watch(self._kind, namespace=self._client.namespace, resource_version=version) as events:
            async for event in events:
                name = event.object.metadata.name
                if event.type == "DELETED":
                    del self.objects[name]
                    self.deletions.append(event.object)
                    if self.on_deleted is not None:
                        await self.on_deleted(event.object)
                else:
                    self.objects[name] = event.object
                    self.changes[name] += event.type == "MODIFIED"


class Jokes:
    """Answers each request otherwise, and counts."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.port = 0

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        self.asked[request.path] += 1
        return web.Response(text=f"joke {self.asked.total()}")

    @asynccontextmanager
    async def telling(self) -> AsyncIterator[Jokes]:
        runner = web.ServerRunner(web.Server(self.answer))
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.port = runner.addresses[0][1]
        try:
            yield self
        finally:
            await runner.cleanup()


async def test_curl_me_that(control_plane: ControlPlane, client: Client, tmp_path: Path) -> None:
    options = ["--allow-cidr", "127.0.0.0/8", "--fetch-rate", "100000"]
    process = Process(control_plane, client.namespace, tmp_path, "curl-me-that", *options)
    async with Jokes().telling() as jokes:
        annotations = [{"x-kv8s.io/curl-me-that": f"mydata=127.0.0.1:{jokes.port}/{i}"} for i in range(MANY)]
        metas = [ObjectMeta(name=f"c{i}", annotations=annotations[i]) for i in range(MANY)]
        await all_at_once(client.create(ConfigMap(metadata=meta)) for meta in metas)
        async with Witness(client, ConfigMap) as seen:
            kills = await process.killed_at_random(1, jokes.asked.total)
            assert kills
            async with process.running():
                await until(lambda: len(+seen.changes) == MANY, "end")
                # One more: when its turn is over, so is that of whatever the last changes brought.
                mark = {"x-kv8s.io/curl-me-that": f"mydata=127.0.0.1:{jokes.port}/{MANY}"}
                await client.create(ConfigMap(metadata=ObjectMeta(name=f"c{MANY}", annotations=mark)))
                await until(lambda: len(+seen.changes) == MANY + 1, "last one")
        fetched_twice = jokes.asked.total() - (MANY + 1)
        assert seen.changes == {f"c{i}": 1 for i in range(MANY + 1)}  # each was written once
        assert set(jokes.asked) == {f"/{i}" for i in range(MANY + 1)}
        assert fetched_twice <= kills * AT_ONCE  # only what a killed process had fetched and not written
        for obj in seen.objects.values():
            record = read_record(obj.metadata.annotations[RECORD])["mydata"]
            assert record.digest == f"sha256:{hashlib.sha256(obj.data['mydata'].encode()).hexdigest()}"


async def test_pod_restarter(control_plane: ControlPlane, client: Client, tmp_path: Path) -> None:
    """Each ConfigMap has a Pod; the test is the Deployment that makes a deleted one anew, under the same name."""
    process = Process(control_plane, client.namespace, tmp_path, "pod-restarter", "--workers", "16")

    def pod(i: int) -> Pod:
        meta = ObjectMeta(name=f"p{i}", labels={"app": f"f{i}"})
        return Pod(metadata=meta, spec=PodSpec(containers=[Container(name="c", image="nginx")]))

    def marked(i: int) -> ConfigMap:
        config_map = ConfigMap(
            metadata=ObjectMeta(name=f"p{i}", annotations={MARK: f"app=f{i}"}), data={"mode": "light"}
        )
        config_map.metadata.annotations[restarting.RECORD] = str(restarting.Change(restarting.digest_of(config_map)))
        config_map.data["mode"] = "dark"  # it was changed while nobody looked
        return config_map

    await all_at_once(client.create(pod(i)) for i in range(MANY))
    await all_at_once(client.create(marked(i)) for i in range(MANY))
    async with Witness(client, Pod) as pods, Witness(client, ConfigMap) as config_maps:
        old = {obj.metadata.uid for obj in pods.objects.values()}

        async def start_anew(gone: Pod) -> None:
            await client.create(pod(int(gone.metadata.name[1:])))

        wanted = str(restarting.Change(restarting.digest_of(marked(0))))

        def done() -> int:
            return sum(obj.metadata.annotations[restarting.RECORD] == wanted for obj in config_maps.objects.values())

        pods.on_deleted = start_anew
        assert await process.killed_at_random(2, lambda: len(pods.deletions))
        for half in [obj for obj in pods.objects.values() if obj.metadata.deletion_timestamp]:
            # The server stops deleting when who asked hangs up; what it leaves is for the collector of garbage.
            with suppress(NotFound, Conflict):
                await client.delete(half, grace_period_seconds=0)
        async with process.running():
            await until(lambda: done() == MANY, "end")
            # One more: when its turn is over, so is that of whatever the last changes brought.
            old.add((await client.create(pod(MANY))).metadata.uid)
            await client.create(marked(MANY))
            await until(lambda: done() == MANY + 1, "last one")
    assert Counter(gone.metadata.uid for gone in pods.deletions) == dict.fromkeys(old, 1)


async def test_pod_locator(control_plane: ControlPlane, client: Client, tmp_path: Path) -> None:
    process = Process(control_plane, client.namespace, tmp_path, "pod-locator")

    def pod(i: int) -> Pod:
        spec = PodSpec(containers=[Container(name="c", image="nginx")], node_name=f"n{i % 3}")
        return Pod(metadata=ObjectMeta(name=f"p{i}"), spec=spec)

    await all_at_once(client.create(pod(i)) for i in range(MANY - 1))

    def located(log: Path) -> list[dict[str, Any]]:
        lines = [line for line in log.read_text().splitlines() if line.endswith("}")]
        return [said for said in map(json.loads, lines) if said.get("message") == "located"]

    assert await process.killed_at_random(3, lambda: sum(len(located(log)) for log in process.logs))
    async with process.running():
        await until(lambda: len(located(process.logs[-1])) == MANY - 1, "end")
        await client.create(pod(MANY - 1))
        await until(lambda: len(located(process.logs[-1])) == MANY, "last one")
        await client.patch(Pod, "p0", MergePatch({"metadata": {"labels": {"changed": "yes"}}}))
        await client.create(pod(MANY))  # when it is located, the change was seen
        await until(lambda: len(located(process.logs[-1])) > MANY, "one after the change")
    for log in process.logs:
        assert max(Counter(said["pod"] for said in located(log)).values()) == 1
    said = {line["pod"]: line["node"] for line in located(process.logs[-1])}
    assert said == {f"p{i}": f"n{i % 3}" for i in range(MANY + 1)}


async def test_curl_me_that_while_the_api_server_is_killed(tmp_path: Path) -> None:
    """What was fetched and could not be written is not fetched again: it waits for the server."""
    with ControlPlane() as plane:
        async with Client(load_config(plane.kubeconfig())) as client, Jokes().telling() as jokes:
            options = ["--allow-cidr", "127.0.0.0/8", "--fetch-rate", "100000"]
            process = Process(plane, client.namespace, tmp_path, "curl-me-that", *options)
            marks = [{"x-kv8s.io/curl-me-that": f"mydata=127.0.0.1:{jokes.port}/{i}"} for i in range(MANY)]
            metas = [ObjectMeta(name=f"c{i}", annotations=mark) for i, mark in enumerate(marks)]
            await all_at_once(client.create(ConfigMap(metadata=meta)) for meta in metas)
            async with process.running():
                await until(lambda: jokes.asked.total() > MANY // 3, "work")
                plane.kill("kube-apiserver")
                await asyncio.to_thread(plane.restart, "kube-apiserver")

                async def are_written() -> bool:
                    found = await client.list(ConfigMap)
                    return sum("mydata" in obj.data for obj in found) == MANY

                async with asyncio.timeout(90):
                    while not await are_written():  # noqa: ASYNC110  # another process writes
                        await asyncio.sleep(0.2)
            assert jokes.asked == {f"/{i}": 1 for i in range(MANY)}
