"""Trimtab's informer as its users have it. The one place of the bench that knows trimtab.cache."""

import asyncio
from importlib.metadata import version
from typing import Any, BinaryIO

from msgspec import field

from bench.harness import BenchError
from bench.informer.job import Job, Resource
from bench.informer.stage import Stage, stamp_of
from bench.peers.piped import Piped
from bench.work import in_loop
from trimtab.cache import Cached, Informer, Informers
from trimtab.client import Client, load_config
from trimtab.kube.base import Struct
from trimtab.kube.core.v1 import ConfigMap, Pod, PodCondition
from trimtab.kube.dynamic import dynamic
from trimtab.kube.meta.v1 import OwnerReference

_VERSION = f"trimtab {version('trimtab')}"


class _Stamped(Struct):
    """What the handler reads of an object."""

    class Metadata(Struct):
        annotations: dict[str, str] = {}

    metadata: Metadata = field(default_factory=Metadata)


class _PodView(Struct):
    """What the controller of a ReplicaSet wants to know of its Pods."""

    class Metadata(Struct):
        name: str = ""
        labels: dict[str, str] = {}
        owner_references: list[OwnerReference] = []
        deletion_timestamp: str = ""

    class Status(Struct):
        phase: str = ""
        conditions: list[PodCondition] = []

    metadata: Metadata = field(default_factory=Metadata)
    status: Status = field(default_factory=Status)


def run(job: Job) -> None:
    """Do the job."""
    in_loop(_informed(job), uvloop=job.uvloop)


def hold(lines: BinaryIO) -> None:
    """Sync with the Pods in these lines of a watch as with those of a server, and say what they take."""
    in_loop(_held(lines), uvloop=False)


async def _informed(job: Job) -> None:
    async with Client(load_config(job.kubeconfig)) as client:
        kind = await _kind(client, job.resource)
        stage = Stage(_VERSION)
        finished = asyncio.Event()
        count = 0

        def added(_new: Cached[Any], _initial: bool) -> None:
            nonlocal count
            count += 1

        def updated(_old: Cached[Any], new: Cached[Any]) -> None:
            stage.updated(stamp_of(new.view(_Stamped).metadata.annotations))

        stage.begin()
        async with Informers(client, **_options(job)) as informers:
            informer = informers.informer(kind, namespaces=job.namespace or None)
            registration = informer.add_handler(on_add=added, on_update=updated)
            await informers.synced()
            while not registration.has_synced:  # noqa: ASYNC110 (nobody is told when)
                await asyncio.sleep(0)
            stage.synced(count)
            stage.show()
            if job.events:
                stage.follow(job.events, finished.set)
                await finished.wait()
            if job.reads:
                _read(job, stage, informer)


async def _held(lines: BinaryIO) -> None:
    async with Client(Piped(lines)) as client:
        stage = Stage(_VERSION)
        stage.begin()
        async with Informers(client) as informers:
            pods = informers.informer(Pod)
            await informers.synced(timeout=3600)
            stage.synced(len(pods.lister.entries()))
            stage.show()


async def _kind(client: Client, resource: Resource) -> type[Any]:
    if not resource.group:
        return {"pods": Pod, "configmaps": ConfigMap}[resource.plural]
    for served in await client.discovery.all():
        found = served.resource
        if (found.group, found.version, found.plural) == (resource.group, resource.version, resource.plural):
            return dynamic(found.api_version, found.kind, plural=found.plural, namespaced=found.namespaced)
    raise BenchError(f"the server has no {resource.group}/{resource.version}/{resource.plural}")


def _options(job: Job) -> dict[str, Any]:
    """Read cold where that is asked for: nothing is kept decoded, so every read decodes."""
    return {"hot_bytes": 0} if job.reads and job.how != "hot" else {}


def _read(job: Job, stage: Stage, informer: Informer[Pod]) -> None:
    lister, where = informer.lister, {"namespace": job.namespace or None}
    view = {"view": _PodView} if job.how == "view" else {}
    # What is hot is read often: then it is the large ReplicaSet's Pods alone, else each of all Pods in turn.
    read = lister.entries(**where, labels=job.label) if job.how == "hot" else lister.entries(**where)
    stage.read(
        job.reads,
        [entry.name for entry in read],
        label=lambda: lister.list(**where, labels=job.label, **view),
        owner=lambda: lister.list(**where, owner=job.owner, **view),
        get=lambda name: lister.get(name, **where, **view),
    )
