"""EndpointSlices: where a Service leads, a hundred endpoints in each, with what proxies need to choose among them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from trimtab.client import ApiError, Conflict, MergePatch, NotFound
from trimtab.controller import App, Context, Requeue, requeue, selected_by
from trimtab.kube.core.v1 import Node, Pod, Service
from trimtab.kube.discovery.v1 import EndpointSlice
from trimtab.kube.owners import owner_reference
from trimtab.kube.wire import from_wire, to_wire
from trimtab.local.loops.endpoints.members import (
    CHANGED_AT,
    HEADLESS,
    Member,
    Triggers,
    addresses,
    belongs,
    has_endpoints,
    hostname,
    is_headless,
    is_ready,
    ports,
    reference,
    stamp,
)
from trimtab.local.loops.endpoints.slicing import Content, Identity, Plan, Slice, arrange, port_key

Json: TypeAlias = dict[str, Any]

NAME: Final = "endpointslice-controller"
SERVICE: Final = "kubernetes.io/service-name"
_MANAGED_BY: Final = "endpointslice.kubernetes.io/managed-by"
_MANAGER: Final = "endpointslice-controller.k8s.io"
_ZONE: Final = "topology.kubernetes.io/zone"
_CLOSE: Final = ("PreferClose", "PreferSameZone", "PreferSameNode")
_GATHER: Final = 0.1

app = App(NAME)


@dataclass(frozen=True, slots=True)
class Zones:
    """In which zone each node is; empty for one in none."""

    of: dict[str, str]


def endpoint(pod: Member, service: Service, family: str, zones: Zones) -> Json:
    """What a slice says of a Pod."""
    serving, leaving = is_ready(pod), pod.metadata.deletion_timestamp is not None
    ready = bool(service.spec.publish_not_ready_addresses) or (serving and not leaving)
    told: Json = {
        "addresses": addresses(pod, family),
        "conditions": {"ready": ready, "serving": serving, "terminating": leaving},
        "targetRef": reference(pod),
    }
    node = pod.spec.node_name
    zone = zones.of.get(node or "")
    if node:
        told["nodeName"] = node
    if zone:
        told["zone"] = zone
    if (name := hostname(pod, service)) is not None:
        told["hostname"] = name
    if ready and service.spec.traffic_distribution in _CLOSE and (hints := _hints(told, service)):
        told["hints"] = hints
    return told


def _hints(told: Json, service: Service) -> Json:
    """For whom an endpoint is near."""
    hints: Json = {}
    if "zone" in told:
        hints["forZones"] = [{"name": told["zone"]}]
    if "nodeName" in told and service.spec.traffic_distribution == "PreferSameNode":
        hints["forNodes"] = [{"name": told["nodeName"]}]
    return hints


def contents(pods: Sequence[Member], service: Service, family: str, zones: Zones) -> list[Content]:
    """What the slices of a family have to hold: for each set of ports, the endpoints that have them."""
    found: dict[Identity, tuple[list[Json], list[Json]]] = {}
    for pod in pods:
        if not belongs(pod, also_terminating=True):
            continue
        at = ports(pod, service)
        _, there = found.setdefault(port_key(at), (at, []))
        known = pod.spec.node_name in zones.of or bool(service.spec.publish_not_ready_addresses)
        if known and addresses(pod, family):
            there.append(endpoint(pod, service, family, zones))
    return [Content(at, there) for at, there in found.values()]


def labels_of(service: Service) -> dict[str, str]:
    """The labels of a Service's slices: its own, and those by which they are found."""
    ours = {SERVICE: service.metadata.name, _MANAGED_BY: _MANAGER}
    labels = {key: value for key, value in service.metadata.labels.items() if key not in (*ours, HEADLESS)}
    return labels | ({HEADLESS: ""} if is_headless(service) else {}) | ours


async def forget(key: str, ctx: Context) -> None:
    """The Service is gone, and its slices go with it."""
    ctx.once(Triggers).forget(key)


@app.controller(
    Service,
    name=NAME,
    known_as="endpoint-slice-controller",
    owns=[EndpointSlice],
    reads=[Node],
    watches={Pod: selected_by(lambda service: service.spec.selector)},
    workers=5,
    gather=_GATHER,
    gone=forget,
)
async def endpoint_slices(service: Service, ctx: Context) -> Requeue | None:
    """Let the slices say where the Service leads."""
    if service.metadata.deletion_timestamp is not None or not has_endpoints(service):
        return None
    pods = ctx.list(Pod, namespace=ctx.namespace, labels=dict(service.spec.selector), view=Member)
    pods.sort(key=lambda pod: pod.metadata.name)
    since = ctx.once(Triggers).since(ctx.key, service, pods)
    marks = {SERVICE: ctx.name, _MANAGED_BY: _MANAGER}
    there = ctx.list(EndpointSlice, namespace=ctx.namespace, labels=marks)
    zones = Zones({each.metadata.name: each.metadata.labels.get(_ZONE, "") for each in ctx.list(Node)})
    families = list(service.spec.ip_families) or ["IPv4"]
    try:
        for each in there:
            if each.address_type not in families:
                await ctx.delete(each)
        for family in families:
            mine = [each for each in there if each.address_type == family]
            at = {CHANGED_AT: None if since is None else stamp(since)}
            await _write(mine, contents(pods, service, family, zones), family, at, ctx)
    except (Conflict, NotFound):
        return requeue()  # changed by somebody else meanwhile
    except ApiError as error:
        if not error.has_cause("NamespaceTerminating"):
            said = f"Error updating Endpoint Slices for Service {ctx.key}: {error.message}"
            ctx.event("Warning", "FailedToUpdateEndpointSlices", said, action="Sync")
            raise
        return None
    if any(pod.spec.node_name and pod.spec.node_name not in zones.of for pod in pods):
        return requeue()  # its node is not known, or not any more
    return None


async def _write(
    there: Sequence[EndpointSlice], wanted: Sequence[Content], family: str, annotations: Json, ctx: Context
) -> None:
    service: Service = ctx.obj
    labels = labels_of(service)
    owned = {each.metadata.name: each for each in there if _is_owned(each, service)}
    for each in there:
        if each.metadata.name not in owned:
            await ctx.delete(each)
    plan: Plan = arrange([_slice(each, changed=each.metadata.labels != labels) for each in owned.values()], wanted)
    for content in plan.create:
        meta: Json = {
            "generateName": f"{service.metadata.name}-",
            "namespace": ctx.namespace,
            "labels": labels,
            "annotations": {key: value for key, value in annotations.items() if value is not None},
            "ownerReferences": [to_wire(owner_reference(service))],
        }
        body = {"metadata": meta, "addressType": family, "endpoints": content.endpoints, "ports": content.ports}
        await ctx.create(from_wire(EndpointSlice, body))
    for name, content in plan.update.items():
        before = owned[name]
        gone = {key: None for key in before.metadata.labels if key not in labels}
        meta = {"resourceVersion": before.metadata.resource_version, "labels": gone | labels}
        body = {"metadata": meta | {"annotations": annotations}, "endpoints": content.endpoints, "ports": content.ports}
        await ctx.patch(EndpointSlice, name, MergePatch(body))
    for name in plan.delete:
        await ctx.delete(owned[name])


def _is_owned(each: EndpointSlice, service: Service) -> bool:
    return any(owner.uid == service.metadata.uid for owner in each.metadata.owner_references)


def _slice(each: EndpointSlice, *, changed: bool) -> Slice:
    body = to_wire(each)
    return Slice(each.metadata.name, body.get("endpoints") or [], body.get("ports") or [], changed=changed)
