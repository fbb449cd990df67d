"""What a namespace uses of its quotas is counted: by what is there, whenever something goes.

What comes is counted at once by the admission of the API server, which refuses what would be too much
(`apiserver/plugins/quotas.py`); both count by `apiserver/plugins/usage.py`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, Final, TypeAlias, cast

from msgspec import field

from trimtab.apiserver.plugins.usage import in_scope, is_about, usage_of
from trimtab.controller import App, Context, Result, changed, requeue, selected_by
from trimtab.kube.apps.v1 import DaemonSet, Deployment, ReplicaSet, StatefulSet
from trimtab.kube.base import Struct
from trimtab.kube.batch.v1 import CronJob, Job
from trimtab.kube.core.v1 import (
    ConfigMap,
    PersistentVolumeClaim,
    Pod,
    ReplicationController,
    ResourceQuota,
    Secret,
    Service,
    ServiceAccount,
)
from trimtab.kube.dynamic import dynamic
from trimtab.kube.meta.v1 import LabelSelector
from trimtab.kube.partial import metadata_of
from trimtab.kube.quantity import Quantity
from trimtab.kube.wire import to_wire

Json: TypeAlias = dict[str, Any]

NAME: Final = "resourcequota-controller"
_FOLLOWED: Final[dict[str, type[Any]]] = {
    "pods": Pod, "services": Service, "persistentvolumeclaims": PersistentVolumeClaim, "configmaps": ConfigMap,
    "secrets": metadata_of(Secret), "serviceaccounts": ServiceAccount, "replicationcontrollers": ReplicationController,
    "resourcequotas": ResourceQuota, "deployments.apps": Deployment, "replicasets.apps": ReplicaSet,
    "statefulsets.apps": StatefulSet, "daemonsets.apps": DaemonSet, "jobs.batch": Job, "cronjobs.batch": CronJob,
}  # fmt: skip
"""Kinds whose objects are counted as soon as one comes or goes. Of others, the server is asked now and then."""
_READ: Final = frozenset({"pods", "services", "persistentvolumeclaims"})
"""Those of which there is more to say than that they are there."""
_COUNT: Final = "count/"
_GATHER: Final = 0.05
_RESYNC: Final = 300.0

app = App(NAME)
_of_the_namespace = selected_by(lambda _: LabelSelector())


class CountedView(Struct):
    """Of an object, what counts; its parts as they stand there."""

    metadata: Any = field(default_factory=dict[str, Any])
    spec: Any = field(default_factory=dict[str, Any])
    status: Any = field(default_factory=dict[str, Any])


def bucket_of(name: str) -> str | None:
    """Of which kind a quantity is, as `deployments.apps`; None of what nobody counts."""
    if name.startswith(_COUNT):
        return name.removeprefix(_COUNT)
    return next((bucket for bucket in _FOLLOWED if is_about(name, bucket)), None)


def used_of(quota: Json, bucket: str, objects: Iterable[Json]) -> dict[str, Quantity]:
    """How much these objects use of all that a quota has a limit for."""
    names = [name for name in cast("Json", quota["spec"].get("hard") or {}) if is_about(name, bucket)]
    found = dict.fromkeys(names, Quantity(0))
    for obj in objects:
        if in_scope(quota, bucket, obj):
            usage = usage_of(bucket, obj)
            found |= {name: found[name] + usage[name] for name in names if name in usage}
    return found


def _limits(quota: ResourceQuota) -> Hashable:
    """What may stand in its status only as it is in its spec. What is used, admission changes all the time."""
    wanted, said = (
        sorted((name, str(most)) for name, most in hard.items()) for hard in (quota.spec.hard, quota.status.hard)
    )
    return tuple(wanted), tuple(said)


async def gone(_key: str, ctx: Context) -> None:
    """A quota is gone: there may be others in its namespace that count quotas."""
    for other in ctx.list(ResourceQuota, namespace=ctx.namespace):
        await recount(other, ctx)


@app.controller(
    ResourceQuota,
    name=NAME,
    where=changed(_limits),
    watches={kind: _of_the_namespace for kind in _FOLLOWED.values() if kind is not ResourceQuota},
    writes=[ResourceQuota],
    gone=gone,
    workers=5,
    gather=_GATHER,
    resync=_RESYNC,
)
async def resource_quota(quota: ResourceQuota, ctx: Context) -> Result | None:
    """Say how much is used, where that is not what stands there."""
    return None if await recount(quota, ctx) else requeue()


async def recount(quota: ResourceQuota, ctx: Context) -> bool:
    """Count; whether what stood there was still the same when it was to be written."""
    said: Json = to_wire(quota)
    before = _amounts(quota.status.used)
    used: dict[str, Quantity] = {}
    for bucket in dict.fromkeys(filter(None, map(bucket_of, quota.spec.hard))):
        objects = await _objects(ctx, bucket)
        if objects is not None:
            used |= used_of(said, bucket, objects)
    used = {name: each for name, each in sorted((before | used).items()) if name in quota.spec.hard}
    if used == before and _amounts(quota.status.hard) == _amounts(quota.spec.hard):
        return True
    in_time = True

    def change(current: ResourceQuota) -> None:
        nonlocal in_time
        in_time = current.metadata.resource_version == quota.metadata.resource_version
        if in_time:  # else somebody was counted meanwhile, and this count may be without
            current.status.hard = dict(current.spec.hard)
            current.status.used = {name: str(each) for name, each in used.items()}

    await ctx.modify(ResourceQuota, quota.metadata.name, change, subresource="status")
    return in_time


async def _objects(ctx: Context, bucket: str) -> Iterable[Json] | None:
    """The objects of a kind in the namespace: what of them counts; None where there is no such kind."""
    kind = _FOLLOWED.get(bucket)
    if kind is None:
        return await _at_server(ctx, bucket)
    entries = ctx.entries(kind, namespace=ctx.namespace)
    if bucket not in _READ:
        return _nameless(len(entries))
    views = (entry.view(CountedView) for entry in entries)
    return ({"metadata": view.metadata, "spec": view.spec, "status": view.status} for view in views)


async def _at_server(ctx: Context, bucket: str) -> Iterable[Json] | None:
    plural, _, group = bucket.partition(".")
    for served in await ctx.client.discovery.all():
        resource = served.resource
        if (resource.plural, resource.group) == (plural, group) and resource.namespaced and "list" in served.verbs:
            kind = metadata_of(dynamic(resource.api_version, resource.kind, plural=plural, namespaced=True))
            return _nameless(len(await ctx.client.list(kind, namespace=ctx.namespace)))
    return None


def _nameless(count: int) -> list[Json]:
    """Objects of which nothing counts but that they are there."""
    return [{} for _ in range(count)]


def _amounts(given: Mapping[str, Any]) -> dict[str, Quantity]:
    return {name: Quantity(each) for name, each in given.items()}
