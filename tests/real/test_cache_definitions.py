"""Kinds whose definition comes, goes, and comes again as another."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from trimtab.cache import Informers, NotSynced
from trimtab.client import Client, HttpTransport, load_config
from trimtab.kube.dynamic import Dynamic, dynamic
from trimtab.kube.partial import metadata_of
from trimtab.testing.control_plane import ControlPlane, ControlPlaneError

from .cache_helpers import CRDS, Recording, Witness, definition, kept, truth, until

GROUP = "cache.trimtab.dev"
SHORTEST_PAUSE = 0.8  # between two failures


class Definitions:
    """Installs definitions of a kind."""

    def __init__(self, control_plane: ControlPlane) -> None:
        self._plane = control_plane
        self._installed: set[str] = set()

    async def install(self, plural: str, kind: str, scope: str = "Namespaced") -> None:
        await asyncio.to_thread(self._plane.request, "POST", CRDS, definition(plural, kind, GROUP, scope))
        self._installed.add(plural)
        await until(lambda: self._is_served(plural))

    async def remove(self, plural: str) -> None:
        await asyncio.to_thread(self._plane.request, "DELETE", f"{CRDS}/{plural}.{GROUP}")
        self._installed.discard(plural)
        await until(lambda: not self._is_served(plural))

    def remove_all(self) -> None:
        for plural in self._installed:
            self._plane.request("DELETE", f"{CRDS}/{plural}.{GROUP}")

    def _is_served(self, plural: str) -> bool:
        try:
            self._plane.request("GET", f"/apis/{GROUP}/v1/{plural}")
        except ControlPlaneError:
            return False
        return True


@pytest.fixture
def definitions(control_plane: ControlPlane) -> Iterator[Definitions]:
    definitions = Definitions(control_plane)
    yield definitions
    definitions.remove_all()


@pytest.fixture
async def transport(control_plane: ControlPlane) -> Recording:
    return Recording(HttpTransport(load_config(control_plane.kubeconfig())))


@pytest.fixture
async def informers(transport: Recording) -> AsyncIterator[Informers]:
    async with Client(transport) as reader, Informers(reader, random=lambda: 0.0) as informers:
        yield informers


def thing(kind: type[Dynamic], name: str, namespace: str = "") -> Any:
    return kind({"metadata": {"name": name, "namespace": namespace}, "spec": {"size": 1}})


async def test_a_kind_without_a_definition_is_waited_for(
    informers: Informers, transport: Recording, definitions: Definitions, client: Client, caplog: Any
) -> None:
    caplog.set_level(logging.INFO, "trimtab.cache")
    late = dynamic(f"{GROUP}/v1", "Latecomer")  # its plural is asked of discovery
    known = dynamic(f"{GROUP}/v1", "Latecomer", plural="latecomers", namespaced=True)
    unknown, named = informers.informer(late), informers.informer(known)
    witness = Witness(unknown)
    await until(lambda: all(health.problem for health in informers.health()))
    problems = [health.problem for health in informers.health()]
    assert problems[0] == (
        f"the server has no kind Latecomer in {GROUP}/v1: is its CustomResourceDefinition installed?"
    )
    assert problems[1].startswith(f"cannot watch latecomers.{GROUP}: NotFound (404)")
    with pytest.raises(NotSynced, match=f"Latecomer cannot be read yet.*no kind Latecomer in {GROUP}/v1"):
        unknown.lister.list()
    with pytest.raises(NotSynced, match=f"not read within 0.01 s: Latecomer .*; latecomers.{GROUP}"):
        await informers.synced(0.01)
    await until(lambda: len(transport.asked) >= 4)  # it asks again
    assert len([r for r in caplog.records if "waiting, and trying again" in r.message]) == 2  # and says so once each

    await definitions.install("latecomers", "Latecomer")
    await client.create(thing(late, "a"))
    await informers.synced(10)
    await until(lambda: ("add", "a") in witness.told and kept(named))  # each has a watch of its own
    assert kept(unknown) == kept(named) == await truth(client, late)
    found = named.lister.get("a", namespace=client.namespace)
    assert found is not None
    assert found["spec"] == {"size": 1}
    assert [health.problem for health in informers.health()] == ["", ""]
    assert len([r for r in caplog.records if "works again" in r.message]) == 2


async def test_a_definition_goes_and_another_comes(
    informers: Informers, transport: Recording, definitions: Definitions, client: Client
) -> None:
    kind = dynamic(f"{GROUP}/v1", "Drifter")
    await definitions.install("drifters", "Drifter")
    for name in ("a", "b"):
        await client.create(thing(kind, name))
    informer = informers.informer(kind)
    partial = informers.informer(metadata_of(kind))
    witness, witness_of_metadata = Witness(informer), Witness(partial)
    await informers.synced(10)
    await until(lambda: len(witness.state) == 2)
    transport.asked.clear()
    transport.times.clear()

    await definitions.remove("drifters")
    await until(lambda: not witness.state and not witness_of_metadata.state)
    assert sorted(witness.told[2:]) == [("delete", "a"), ("delete", "b")]
    await until(lambda: all("no kind Drifter" in health.problem for health in informers.health()))
    assert informer.lister.list() == []
    # Each of the two asked to go on, was told that the kind is gone, asked discovery, and from then on it pauses.
    asked = [request.verb for request in transport.asked]
    await until(lambda: len(transport.asked) > len(asked))
    assert len(asked) <= 6, transport.asked
    assert transport.times[len(asked)] - transport.times[len(asked) - 1] > SHORTEST_PAUSE / 2

    # The same kind, with another plural, in no namespace.
    await definitions.install("vagrants", "Drifter", "Cluster")
    admin = client.through(lambda inner: inner)
    admin.discovery.forget(f"{GROUP}/v1", "Drifter")
    made = await admin.create(thing(kind, "c"))
    await until(lambda: ("add", "c") in witness.told)
    await until(lambda: ("add", "c") in witness_of_metadata.told)
    assert witness.faults == witness_of_metadata.faults == []
    assert list(kept(informer)) == ["c"]
    assert partial.lister.entries()[0].metadata.uid == made.metadata.uid
    assert [entry.read()["spec"] for entry in informer.lister.entries()] == [{"size": 1}]
    await admin.delete(made)
    await until(lambda: not witness.state)


async def test_a_kind_of_no_namespace_that_discovery_found(
    informers: Informers, definitions: Definitions, client: Client
) -> None:
    await definitions.install("planets", "Planet", "Cluster")
    kind = dynamic(f"{GROUP}/v1", "Planet")
    informer = informers.informer(kind)
    await informers.synced(10)
    made = await informers.client.create(thing(kind, "mars"))
    read = informer.lister.get("mars")
    assert read is not None
    assert read.metadata.uid == made.metadata.uid
