"""What a server has from its start: what a real one makes, and nothing that is there already is made anew."""

from __future__ import annotations

from pathlib import Path

from trimtab.apiserver.server import Server
from trimtab.apiserver.storage import Database, Store
from trimtab.client import Client, MergePatch
from trimtab.kube.core.v1 import Endpoints, Service
from trimtab.kube.discovery.v1 import EndpointSlice
from trimtab.kube.flowcontrol.v1 import FlowSchema
from trimtab.kube.scheduling.v1 import PriorityClass
from trimtab.local import LocalTransport


async def test_a_new_server_has_what_every_cluster_has(client: Client) -> None:
    classes = {each.metadata.name: each.value for each in await client.list(PriorityClass)}
    assert classes == {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
    service = await client.get(Service, "kubernetes", namespace="default")
    assert (service.spec.cluster_ip, service.spec.ports[0].port) == ("10.0.0.1", 443)
    endpoints = await client.get(Endpoints, "kubernetes", namespace="default")
    (piece,) = await client.list(EndpointSlice, labels="kubernetes.io/service-name=kubernetes")
    assert piece.endpoints[0].addresses == [endpoints.subsets[0].addresses[0].ip]
    (condition,) = (await client.get(FlowSchema, "catch-all")).status.conditions
    assert condition.last_transition_time is not None


async def test_what_was_changed_stays_changed_when_the_server_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "objects.db"
    server = Server(Store(Database(path)))
    schema = MergePatch({"spec": {"matchingPrecedence": 9999}})
    changed = await Client(LocalTransport(server)).patch(FlowSchema, "global-default", schema)
    server.close()
    server = Server(Store(Database(path)))
    found = await Client(LocalTransport(server)).get(FlowSchema, "global-default")
    assert found == changed
    server.close()
