"""replicaset in place of Kubernetes' own controller, killed (SIGKILL) at random moments, and kube-apiserver too.

The witness is etcd: its history shows every moment, also those in which no API server was there to watch.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

from tests.local.loops.world import deployment, template

from trimtab.client import Client, MergePatch, load_config
from trimtab.kube.apps.v1 import Deployment
from trimtab.kube.core.v1 import Container, Pod, PodSpec
from trimtab.kube.meta.v1 import ObjectMeta
from trimtab.kube.partial import metadata_of
from trimtab.testing.control_plane import WITH_NODES, ControlPlane

MANY = 500
PODS = "/registry/pods/default/"
FLAGS = {
    "kube-apiserver": ["--storage-media-type=application/json"],  # so that its history can be read
    "kube-controller-manager": ["--controllers=*,-replicaset-controller"],
}


class Etcd:
    """What is in etcd, and what was."""

    def __init__(self, plane: ControlPlane) -> None:
        self._peer = plane._started.peer("etcd")

    def pods(self) -> int:
        asked = {**_prefix(PODS), "count_only": True}
        return int(self._peer.request("POST", "/v3/kv/range", asked).json().get("count", 0))

    def history(self, until: str) -> Iterator[tuple[str, dict[str, Any] | None]]:
        """Each Pod as it was written, and None where it was deleted; up to the one of this name."""
        connection = self._peer._connection(60)
        asked = {"create_request": {**_prefix(PODS), "start_revision": 1}}
        connection.request("POST", "/v3/watch", json.dumps(asked), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        try:
            while True:
                said = json.loads(answer.readline())["result"]
                assert not said.get("canceled"), said
                for event in said.get("events", ()):
                    name = base64.b64decode(event["kv"]["key"]).decode().removeprefix(PODS)
                    if name == until:
                        return
                    is_deleted = event.get("type") == "DELETE"
                    yield name, None if is_deleted else json.loads(base64.b64decode(event["kv"]["value"]))
        finally:
            connection.close()


def _prefix(key: str) -> dict[str, str]:
    end = key[:-1] + chr(ord(key[-1]) + 1)
    return {"key": base64.b64encode(key.encode()).decode(), "range_end": base64.b64encode(end.encode()).decode()}


def most_active(history: Iterator[tuple[str, dict[str, Any] | None]], app: str) -> tuple[int, int]:
    """How many Pods of an app counted at most at a time, and how many were made."""
    active: set[str] = set()
    most = made = 0
    for name, pod in history:
        if pod is None or pod["metadata"].get("labels", {}).get("app") != app:
            active.discard(name)
            continue
        counts = "deletionTimestamp" not in pod["metadata"] and pod["status"]["phase"] not in ("Succeeded", "Failed")
        made += counts and name not in active
        (active.add if counts else active.discard)(name)
        most = max(most, len(active))
    return most, made


async def until(holds: Callable[[], Any], what: str, seconds: float = 60.0) -> None:
    try:
        async with asyncio.timeout(seconds):
            while not await holds():  # noqa: ASYNC110  # other processes do it
                await asyncio.sleep(0.1)
    except TimeoutError:
        raise AssertionError(f"no {what} within {seconds:g} s") from None


@asynccontextmanager
async def running(plane: ControlPlane, log: Path) -> AsyncIterator[None]:
    """`trimtab run replicaset`, killed at the end of the block."""
    words = ["run", "replicaset", "--kubeconfig", str(plane.kubeconfig()), "--listen", "off"]
    with log.open("ab") as out:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "trimtab", *words, stdout=out, stderr=out, env={**os.environ}
        )
        try:
            yield
            assert process.returncode is None, f"it ended by itself: see {log}"
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()


async def test_never_a_pod_too_many_whatever_is_killed(tmp_path: Path) -> None:
    random, log = Random(7), tmp_path / "replicaset.log"
    with ControlPlane(components=WITH_NODES, flags=FLAGS) as plane:
        etcd = Etcd(plane)
        async with Client(load_config(plane.kubeconfig())) as client:

            async def has(name: str, ready: int, updated: int) -> bool:
                status = (await client.get(Deployment, name)).status
                return (status.ready_replicas, status.updated_replicas, status.replicas) == (ready, updated, updated)

            async def grows(beyond: int) -> None:
                async def grew() -> bool:
                    return etcd.pods() > beyond

                await until(grew, f"more than {beyond} Pods")

            await client.create(deployment("web", replicas=0))
            await client.create(deployment("small", replicas=4))
            await client.scale(Deployment, "web", MANY)
            for _ in range(2):
                async with running(plane, log):
                    await grows(etcd.pods())
                    await asyncio.sleep(random.random() * 0.3)
            async with running(plane, log):
                await grows(etcd.pods())
                await asyncio.sleep(random.random() * 0.3)
                plane.kill("kube-apiserver")
                await asyncio.to_thread(plane.restart, "kube-apiserver")
                await until(lambda: has("web", MANY, MANY), f"{MANY} Pods that are ready")
                victims = random.sample(await client.list(metadata_of(Pod), labels="app=web"), 60)
                for victim in victims:
                    await client.delete(Pod, victim.metadata.name)
                await asyncio.sleep(random.random() * 0.2)
            async with running(plane, log):
                patch = {"spec": {"template": template("small", image="nginx:2")}}
                await client.patch(Deployment, "small", MergePatch(patch))
                await until(lambda: has("small", 4, 4), "rollout")
                await until(lambda: has("web", MANY, MANY), "healing")
            last = Pod(metadata=ObjectMeta(name="last"), spec=PodSpec(containers=[Container(name="c", image="i")]))
            await client.create(last)
        most, made = most_active(etcd.history("last"), "web")
        assert (most, made) == (MANY, MANY + len(victims))
        # Four of each template at most. How many there are at once is not said: the ReplicaSets of a Deployment do not
        # wait for each other's Pods.
        assert most_active(etcd.history("last"), "small")[1] <= 8
