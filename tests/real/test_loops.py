"""Our loops and Kubernetes' own make the same of the same objects: two control planes, and all that differs is masked.

Here are ends, not ways: each object as it is when all have come to rest, and what its events say.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from difflib import unified_diff
from typing import Any

from tests.local.loops.daemonset.test_daemonset import daemon_set
from tests.local.loops.job.test_job import a_job
from tests.local.loops.statefulset.test_statefulset import stateful_set
from tests.local.loops.world import deployment, template

from trimtab.client import Client, MergePatch, load_config
from trimtab.kube import dynamic
from trimtab.kube.apps.v1 import DaemonSet, Deployment, StatefulSet
from trimtab.kube.batch.v1 import Job
from trimtab.local.loops import load_loops
from trimtab.manager import Manager
from trimtab.testing.control_plane import WITH_NODES, ControlPlane

OURS = [f"{name}-controller" for name in ("deployment", "replicaset", "statefulset", "daemonset", "job")]
KINDS = [
    *[("apps/v1", kind) for kind in ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "ControllerRevision")],
    ("batch/v1", "Job"),
    ("v1", "Pod"),
    ("v1", "PersistentVolumeClaim"),
    ("v1", "Event"),
]
NOWHERE = {"nodeSelector": {"no": "where"}}
_UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT[0-9:.]+Z")
_HASH = re.compile(r'(?<=-)[bcdfghjklmnpqrstvwxz2456789]{8,10}(?=[-" \\])|"[bcdfghjklmnpqrstvwxz2456789]{8,10}"')
_SUFFIX = re.compile(r'(?<=-)[bcdfghjklmnpqrstvwxz2456789]{5}(?=[" \\])')


def named(obj: Any, name: str) -> Any:
    obj.metadata.name = name
    return obj


async def settles(what: str, holds: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(60):
        while not await holds():  # noqa: ASYNC110  # controllers do it
            await asyncio.sleep(0.2)
    assert what


async def play(client: Client) -> None:
    """Make things, change them, and wait until nothing is left to be done."""

    async def are(kind: type[Any], name: str, **wanted: int) -> None:
        async def holds() -> bool:
            obj = await client.get(kind, name)
            seen = obj.status.observed_generation == obj.metadata.generation
            return seen and all(getattr(obj.status, field) == number for field, number in wanted.items())

        await settles(name, holds)

    async def ends(name: str, condition: str) -> None:
        async def holds() -> bool:
            return any(each.type == condition for each in (await client.get(Job, name)).status.conditions)

        await settles(name, holds)

    def image(name: str) -> MergePatch:
        return MergePatch({"spec": {"template": {"spec": {"containers": [{"name": "c", "image": name}]}}}})

    stuck = template("stuck", **NOWHERE)
    await client.create(deployment("web", 3))
    await client.create(deployment("anew", 2, strategy={"type": "Recreate"}))
    await client.create(deployment("paused", 2, paused=True))
    await client.create(deployment("stuck", 2, progressDeadlineSeconds=3, template=stuck))
    await client.create(named(stateful_set(2, volumeClaimTemplates=[]), "web"))
    await client.create(named(stateful_set(1), "claims"))
    await client.create(daemon_set())
    await client.create(named(a_job(completions=3, parallelism=2), "plain"))
    await client.create(named(a_job(completions=3, parallelism=3, completionMode="Indexed"), "indexed"))
    await client.create(named(a_job(suspend=True), "resting"))
    late = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}], **NOWHERE}}
    await client.create(named(a_job(completions=2, activeDeadlineSeconds=2, template=late), "late"))
    await are(Deployment, "web", updated_replicas=3, available_replicas=3, replicas=3)
    await are(Deployment, "anew", updated_replicas=2, available_replicas=2, replicas=2)
    await are(StatefulSet, "web", ready_replicas=2, updated_replicas=2)
    await are(DaemonSet, "agent", number_available=2, updated_number_scheduled=2)
    await client.patch(Deployment, "web", image("nginx:2"))
    await client.patch(Deployment, "anew", image("nginx:2"))
    await client.patch(Deployment, "paused", MergePatch({"spec": {"paused": False}}))
    await client.patch(StatefulSet, "web", image("nginx:2"))
    await client.patch(DaemonSet, "agent", image("nginx:2"))
    await client.patch(Job, "resting", MergePatch({"spec": {"suspend": False}}))
    await ends("plain", "Complete")
    await ends("indexed", "Complete")
    await ends("resting", "Complete")
    await ends("late", "Failed")
    await are(Deployment, "web", updated_replicas=3, available_replicas=3, replicas=3, unavailable_replicas=0)
    await are(Deployment, "anew", updated_replicas=2, available_replicas=2, replicas=2)
    await are(Deployment, "paused", updated_replicas=2, available_replicas=2, replicas=2)
    await are(StatefulSet, "web", ready_replicas=2, updated_replicas=2, current_replicas=2)
    await are(DaemonSet, "agent", number_available=2, updated_number_scheduled=2)
    await client.scale(Deployment, "web", 1)
    await client.scale(StatefulSet, "web", 1)
    await are(Deployment, "web", updated_replicas=1, replicas=1, terminating_replicas=0)
    await are(StatefulSet, "web", replicas=1)

    async def is_late() -> bool:
        conditions = (await client.get(Deployment, "stuck")).status.conditions
        return any(each.reason == "ProgressDeadlineExceeded" for each in conditions)

    await settles("stuck", is_late)
    await asyncio.sleep(2)  # for events, which are told later


def masked(kind: str, obj: dict[str, Any]) -> dict[str, Any] | None:
    """What of an object has to be the same."""
    if kind == "Event":
        by = obj.get("source", {}).get("component") or obj.get("reportingComponent")
        if by not in OURS or obj["reason"] == "ScalingReplicaSet":  # in which order is a matter of moments
            return None
        about = obj["involvedObject"]
        said = obj["message"][:1].lower() + obj["message"][1:]  # some begin with a capital since 1.36
        return {"by": by, "about": [about["kind"], about["name"]], "said": [obj["type"], obj["reason"], said]}
    for name in ("managedFields", "resourceVersion", "uid", "creationTimestamp"):
        obj["metadata"].pop(name, None)
    if kind == "Pod":
        obj["spec"].pop("nodeName", None)
        return {"metadata": obj["metadata"], "spec": obj["spec"], "phase": obj["status"]["phase"]}
    return obj


async def seen(client: Client) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for api_version, kind in KINDS:
        listed = await client.list(dynamic(api_version, kind), namespace="default")
        kept = [each for obj in listed if (each := masked(kind, obj.to_wire())) is not None]
        texts = [json.dumps(each, indent=1, sort_keys=True) for each in kept]
        for pattern, word in ((_UID, "UID"), (_TIME, "TIME"), (_HASH, "HASH"), (_SUFFIX, "SUFFIX")):
            texts = [pattern.sub(word, text) for text in texts]
        found[kind] = sorted(re.sub(r"kube-api-access-\w+", "kube-api-access", text) for text in texts)
    return found


def lines(texts: list[str]) -> list[str]:
    return [line for text in texts for line in text.splitlines()]


@asynccontextmanager
async def working(plane: ControlPlane) -> AsyncIterator[None]:
    stopping = asyncio.Event()
    manager = Manager(load_loops(OURS).apps, load_config(plane.kubeconfig()), listen=False)
    task = asyncio.create_task(manager.run(stopping))
    try:
        yield
    finally:
        stopping.set()
        await task


async def test_our_loops_make_the_same_of_it_as_kubernetes() -> None:
    with ControlPlane(components=WITH_NODES) as plane:
        async with Client(load_config(plane.kubeconfig())) as client:
            await play(client)
            theirs = await seen(client)
    flags = {"kube-controller-manager": ["--controllers=*," + ",".join(f"-{name}" for name in OURS)]}
    with ControlPlane(components=WITH_NODES, flags=flags) as plane:
        async with Client(load_config(plane.kubeconfig())) as client, working(plane):
            await play(client)
            ours = await seen(client)
    differences = [
        line for kind in theirs for line in unified_diff(lines(theirs[kind]), lines(ours[kind]), "theirs", "ours", n=12)
    ]
    assert not differences, "\n".join(differences)
