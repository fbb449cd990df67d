"""Endpoints: one object with all addresses that a Service leads to, as it was before there were slices.

They are deprecated and still kept, for who reads them. The server warns of them at each write, which nobody here can
do anything about: what is the same is not written again.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from trimtab.client import AlreadyExists, ApiError, Conflict, MergePatch, NotFound
from trimtab.controller import App, Context, Requeue, from_entry, requeue, selected_by
from trimtab.kube.core.v1 import Endpoints, Pod, Service
from trimtab.kube.wire import from_wire, to_wire
from trimtab.local.loops.endpoints.members import (
    CHANGED_AT,
    HEADLESS,
    Member,
    Triggers,
    has_endpoints,
    is_headless,
    stamp,
)
from trimtab.local.loops.endpoints.subsets import subsets, truncated

Json: TypeAlias = dict[str, Any]

NAME: Final = "endpoints-controller"
_MANAGED_BY: Final = "endpoints.kubernetes.io/managed-by"
_MANAGER: Final = "endpoint-controller"
_OVER: Final = "endpoints.kubernetes.io/over-capacity"
_GATHER: Final = 0.1

app = App(NAME)


class EndpointsTriggers(Triggers):
    """Those of this controller: it tells of a change when it has seen it itself."""


def labels_of(service: Service) -> dict[str, str]:
    """The labels of a Service's Endpoints."""
    labels = {key: value for key, value in service.metadata.labels.items() if key != HEADLESS}
    return labels | ({HEADLESS: ""} if is_headless(service) else {}) | {_MANAGED_BY: _MANAGER}


async def forget(key: str, ctx: Context) -> None:
    """The Service is gone; nobody owns its Endpoints, so they are deleted by their name."""
    ctx.once(EndpointsTriggers).forget(key)
    await ctx.delete(Endpoints, ctx.name)


@app.controller(
    Service,
    name=NAME,
    known_as=_MANAGER,
    watches={
        Pod: selected_by(lambda service: service.spec.selector),
        Endpoints: from_entry(lambda entry: [entry.key]),
    },
    writes=[Endpoints],
    workers=5,
    gather=_GATHER,
    gone=forget,
)
async def endpoints(service: Service, ctx: Context) -> Requeue | None:
    """Let the Endpoints say where the Service leads."""
    if not has_endpoints(service):
        return None
    pods = ctx.list(Pod, namespace=ctx.namespace, labels=dict(service.spec.selector), view=Member)
    since = ctx.once(EndpointsTriggers).since(ctx.key, service, pods)
    wanted = subsets(pods, service)
    cut = truncated(wanted)
    wanted, labels = (wanted if cut is None else cut), labels_of(service)
    annotations: Json = {
        CHANGED_AT: None if since is None else stamp(since),
        _OVER: None if cut is None else "truncated",
    }
    found = ctx.find(Endpoints, ctx.name)
    try:
        if found is None:
            told = {key: value for key, value in annotations.items() if value is not None}
            meta: Json = {"name": ctx.name, "namespace": ctx.namespace, "labels": labels, "annotations": told}
            await ctx.create(from_wire(Endpoints, {"metadata": meta, "subsets": wanted}))
        elif not _is_so(found, wanted, labels, annotations):
            gone = {key: None for key in found.metadata.labels if key not in labels}
            meta = {"resourceVersion": found.metadata.resource_version, "labels": gone | labels}
            body = {"metadata": meta | {"annotations": annotations}, "subsets": wanted or None}
            await ctx.patch(Endpoints, ctx.name, MergePatch(body))
    except (AlreadyExists, Conflict, NotFound):
        return requeue()  # somebody was faster: the cache will know soon
    except ApiError as error:
        if error.has_cause("NamespaceTerminating"):
            return None
        reason = "FailedToCreateEndpoint" if found is None else "FailedToUpdateEndpoint"
        what = f"create endpoint for service {ctx.key}" if found is None else f"update endpoint {ctx.key}"
        ctx.event("Warning", reason, f"Failed to {what}: {error.message}", action="Sync", regarding=found)
        raise
    return None


def _is_so(found: Endpoints, wanted: list[Json], labels: dict[str, str], annotations: Json) -> bool:
    there: list[Json] = to_wire(found).get("subsets") or []
    over = found.metadata.annotations.get(_OVER)
    return there == wanted and found.metadata.labels == labels and over == annotations[_OVER]
