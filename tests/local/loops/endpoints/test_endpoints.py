"""Services lead to their Pods: EndpointSlices and Endpoints, on the server inside, in virtual time."""

from __future__ import annotations

from typing import Any

import pytest
from tests.cache.samples import virtual
from tests.local.loops.world import World, names

from trimtab.client import MergePatch, NotFound
from trimtab.kube.core.v1 import Endpoints, Node, Pod, Service
from trimtab.kube.discovery.v1 import EndpointSlice
from trimtab.kube.timestamps import format_time
from trimtab.kube.wire import from_wire, to_wire
from trimtab.local.loops.endpoints.legacy import app as endpoints
from trimtab.local.loops.endpoints.members import Member
from trimtab.local.loops.endpoints.slices import app as slices
from trimtab.local.loops.endpoints.subsets import subsets, truncated


def service(**spec: Any) -> Service:
    ports = [{"name": "http", "port": 80, "targetPort": "web"}]
    body = {"selector": {"app": "web"}, "ports": ports, **spec}
    return from_wire(Service, {"metadata": {"name": "web", "labels": {"team": "a"}}, "spec": body})


async def make_pod(world: World, number: int, *, ready: bool = True, **spec: Any) -> Pod:
    ports = [{"name": "web", "containerPort": 8080}]
    body: dict[str, Any] = {"containers": [{"name": "c", "image": "i", "ports": ports}], "nodeName": "node", **spec}
    meta = {"name": f"pod-{number}", "labels": {"app": "web"}}
    await world.client.create(from_wire(Pod, {"metadata": meta, "spec": body}))
    return await make_ready(world, number, ready=ready)


async def make_ready(world: World, number: int, *, ready: bool = True) -> Pod:
    address = f"10.1.{number // 200}.{number % 200 + 1}"
    at = format_time(world.now())
    conditions = [{"type": "Ready", "status": "True" if ready else "False", "lastTransitionTime": at}]
    status = {"phase": "Running", "podIP": address, "podIPs": [{"ip": address}], "conditions": conditions}
    patch = MergePatch({"status": status})
    return await world.client.patch(Pod, f"pod-{number}", patch, subresource="status")


async def world_with_node() -> World:
    world = World(slices, endpoints, kubelet=False)
    meta = {"name": "node", "labels": {"topology.kubernetes.io/zone": "east"}}
    await world.client.create(from_wire(Node, {"metadata": meta}))
    return world


async def all_slices(world: World) -> list[EndpointSlice]:
    found = await world.client.list(EndpointSlice, namespace="default", labels="kubernetes.io/service-name=web")
    return sorted(found, key=lambda piece: -len(piece.endpoints))


@virtual
async def test_a_service_leads_to_its_pods_and_says_which_are_ready() -> None:
    async with await world_with_node() as world:
        await world.client.create(service(trafficDistribution="PreferSameNode"))
        await world.passes(1)
        (empty,) = await all_slices(world)
        assert (empty.endpoints, empty.ports) == ([], [])
        pod = await make_pod(world, 1)
        await make_pod(world, 2, ready=False)
        await world.passes(1)
        (found,) = await all_slices(world)
        assert found.metadata.name == empty.metadata.name
        assert found.metadata.labels == {
            "team": "a",
            "kubernetes.io/service-name": "web",
            "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
        }
        said = found.metadata.annotations["endpoints.kubernetes.io/last-change-trigger-time"]
        assert said == "2026-07-01T12:00:01Z"
        wire = to_wire(found)
        assert wire["ports"] == [{"name": "http", "port": 8080, "protocol": "TCP"}]
        target = {"kind": "Pod", "namespace": "default", "name": "pod-1", "uid": pod.metadata.uid}
        assert wire["endpoints"][0] == {
            "addresses": ["10.1.0.2"],
            "conditions": {"ready": True, "serving": True, "terminating": False},
            "targetRef": target,
            "nodeName": "node",
            "zone": "east",
            "hints": {"forZones": [{"name": "east"}], "forNodes": [{"name": "node"}]},
        }
        assert wire["endpoints"][1]["conditions"] == {"ready": False, "serving": False, "terminating": False}
        assert "hints" not in wire["endpoints"][1]
        kept = await world.client.get(Endpoints, "web")
        assert kept.metadata.labels == {"team": "a", "endpoints.kubernetes.io/managed-by": "endpoint-controller"}
        (subset,) = to_wire(kept)["subsets"]
        assert subset["addresses"] == [{"ip": "10.1.0.2", "nodeName": "node", "targetRef": target}]
        assert [each["ip"] for each in subset["notReadyAddresses"]] == ["10.1.0.3"]
        assert subset["ports"] == [{"name": "http", "port": 8080, "protocol": "TCP"}]


@virtual
async def test_one_that_ends_serves_until_it_is_gone_and_endpoints_do_not_say_so() -> None:
    async with await world_with_node() as world:
        await world.client.create(service())
        await make_pod(world, 1)
        await world.passes(1)
        before = await world.client.get(Endpoints, "web")
        await world.client.delete(Pod, "pod-1")
        await world.passes(1)
        (found,) = await all_slices(world)
        assert to_wire(found.endpoints[0].conditions) == {"ready": False, "serving": True, "terminating": True}
        after = await world.client.get(Endpoints, "web")
        assert before.subsets
        assert not after.subsets
        await world.client.delete(Pod, "pod-1", grace_period_seconds=0)
        await world.passes(1)
        (found,) = await all_slices(world)
        assert not found.endpoints
        await world.client.delete(Service, "web")
        await world.passes(1)
        with pytest.raises(NotFound):
            await world.client.get(Endpoints, "web")


@virtual
async def test_a_headless_service_knows_its_pods_by_name_ready_or_not() -> None:
    async with await world_with_node() as world:
        await world.client.create(service(clusterIP="None", ports=[], publishNotReadyAddresses=True))
        await make_pod(world, 1, ready=False, hostname="one", subdomain="web")
        await make_pod(world, 2, ready=False, hostname="two", subdomain="other")
        await world.passes(1)
        (found,) = await all_slices(world)
        assert found.metadata.labels["service.kubernetes.io/headless"] == ""
        assert not found.ports
        assert [(e.hostname, e.conditions.ready, e.conditions.serving) for e in found.endpoints] == [
            ("one", True, False),
            (None, True, False),
        ]
        (subset,) = (await world.client.get(Endpoints, "web")).subsets
        assert [each.hostname for each in subset.addresses] == ["one", None]
        assert not subset.ports


@virtual
async def test_pods_with_other_ports_and_more_than_a_hundred_have_slices_of_their_own() -> None:
    async with await world_with_node() as world:
        await world.client.create(service())
        for number in range(150):
            await make_pod(world, number)
        other = [{"name": "c", "image": "i", "ports": [{"name": "web", "containerPort": 9090}]}]
        await make_pod(world, 150, containers=other)
        await world.passes(1)
        found = await all_slices(world)
        assert [(len(each.endpoints), each.ports[0].port) for each in found] == [(100, 8080), (50, 8080), (1, 9090)]
        versions = {each.metadata.name: each.metadata.resource_version for each in found}
        await make_ready(world, 7, ready=False)
        await world.passes(1)
        changed = [s for s in await all_slices(world) if versions[s.metadata.name] != s.metadata.resource_version]
        assert len(changed) == 1
        kept = await world.client.get(Endpoints, "web")
        assert sorted((len(each.addresses), each.ports[0].port) for each in kept.subsets) == [(1, 9090), (149, 8080)]


@virtual
async def test_pods_without_a_node_that_is_there_are_left_out() -> None:
    async with await world_with_node() as world:
        await world.client.create(service())
        await make_pod(world, 1, nodeName="gone")
        await world.passes(1)
        (found,) = await all_slices(world)
        assert not found.endpoints
        await world.client.create(from_wire(Node, {"metadata": {"name": "gone"}}))
        await world.passes(30)
        (found,) = await all_slices(world)
        assert len(found.endpoints) == 1
        assert names(await world.pods()) == ["pod-1"]


@virtual
async def test_what_no_selector_leads_to_is_left_to_others() -> None:
    async with await world_with_node() as world:
        await world.client.create(service(selector=None))
        await world.passes(1)
        assert await all_slices(world) == []
        with pytest.raises(NotFound):
            await world.client.get(Endpoints, "web")


def member(number: int, port: int, *, ready: bool) -> Member:
    address = f"10.1.{number // 200}.{number % 200 + 1}"
    containers = [{"ports": [{"name": "web", "containerPort": port}, {"name": "more", "containerPort": 99}]}]
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    status = {"phase": "Running", "podIP": address, "podIPs": [{"ip": address}], "conditions": conditions}
    meta = {"name": f"pod-{number}", "uid": f"uid-{number:04}"}
    return from_wire(Member, {"metadata": meta, "spec": {"containers": containers}, "status": status})


def test_ports_that_lead_to_the_same_addresses_stand_together() -> None:
    ports = [{"name": "http", "port": 80, "targetPort": "web"}, {"name": "more", "port": 99, "targetPort": "more"}]
    two = [member(1, 80, ready=True), member(2, 80, ready=True)]
    (one,) = subsets(two, service(ports=ports))
    assert [port["name"] for port in one["ports"]] == ["http", "more"]
    mixed = subsets([*two, member(3, 81, ready=False)], service(ports=ports))
    told = [
        ([p["port"] for p in s["ports"]], len(s.get("addresses", ())), len(s.get("notReadyAddresses", ())))
        for s in mixed
    ]
    assert sorted(told) == [([80], 2, 0), ([81], 0, 1), ([99], 2, 1)]


@pytest.mark.parametrize(
    ("ready", "waiting", "kept"), [(5, 5, None), (8, 4, (8, 2)), (12, 4, (10, 0)), (10, 3, (10, 0)), (0, 12, (0, 10))]
)
def test_endpoints_are_cut_off_those_that_are_ready_last(
    ready: int, waiting: int, kept: tuple[int, int] | None
) -> None:
    pods = [member(n, 80, ready=n < ready) for n in range(ready + waiting)]
    cut = truncated(subsets(pods, service()), most=10)
    told = (
        None
        if cut is None
        else tuple(sum(len(s.get(name, ())) for s in cut) for name in ("addresses", "notReadyAddresses"))
    )
    assert told == kept
