"""The garbage collector: what goes with its owner, what goes before it, and what is left behind."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from trimtab.client import Client, MergePatch
from trimtab.kube.core.v1 import ConfigMap, Namespace, Node, Secret
from trimtab.kube.dynamic import dynamic
from trimtab.kube.kinds import Resource
from trimtab.kube.meta.v1 import ObjectMeta, OwnerReference
from trimtab.kube.owners import owner_reference
from trimtab.kube.wire import to_wire
from trimtab.local import Cluster
from trimtab.local.loops.garbage.graph import (
    FOREGROUND,
    ORPHAN,
    Check,
    Delete,
    Graph,
    Leave,
    Release,
    Thing,
    Unlink,
    Wait,
)

MAP = Resource("", "v1", "ConfigMap", "configmaps")


def thing(uid: str, *owners: str, blocks: bool = True, namespace: str = "d", **more: Any) -> Thing:
    references = tuple(
        OwnerReference(api_version="v1", kind="ConfigMap", name=each, uid=each, block_owner_deletion=blocks)
        for each in owners
    )
    return Thing(MAP, namespace, uid, uid, references, **more)


def graph(*things: Thing) -> Graph:
    made = Graph()
    for each in things:
        made.see(each)
    return made


def test_an_object_is_garbage_when_no_owner_is_left() -> None:
    made = graph(thing("a"), thing("b"), thing("c", "a", "b"))
    assert made.decide("c") is None
    assert made.lose("a") == {"c"}
    assert made.decide("c") == Unlink(frozenset({"a"}))
    assert made.lose("b") == {"c"}
    assert made.decide("c") == Delete("Background")
    assert made.decide("gone") is None


def test_an_owner_that_nobody_saw_is_asked_for() -> None:
    made = graph(thing("c", "a"))
    deed = made.decide("c")
    assert isinstance(deed, Check)
    assert made.is_absent("a") == {"c"}
    assert made.decide("c") == Delete("Background")


def test_an_owner_elsewhere_or_of_another_name_is_none() -> None:
    assert graph(thing("a", namespace="other"), thing("c", "a")).decide("c") == Delete("Background")
    impostor = Thing(MAP, "d", "other-name", "a")
    assert graph(impostor, thing("c", "a")).decide("c") == Delete("Background")


def test_in_the_foreground_what_blocks_goes_first() -> None:
    owner = thing("a", deleting=True, finalizers=(FOREGROUND,))
    child, grandchild, free = thing("c", "a"), thing("g", "c"), thing("f", "a", blocks=False)
    made = graph(owner, child, grandchild, free)
    assert made.decide("a") == Wait((child,))
    assert made.decide("c") == Delete("Foreground"), "it has dependents that block it in turn"
    assert made.decide("f") == Delete("Background")
    made.lose("g")
    assert made.decide("c") == Delete("Background")
    assert "a" in made.lose("c")
    assert made.decide("a") == Release(FOREGROUND)


def test_who_waits_for_itself_over_others_waits_for_the_rest_alone() -> None:
    going: Any = {"deleting": True, "finalizers": (FOREGROUND,)}
    a, b, c, d = thing("a", "c", **going), thing("b", "a", **going), thing("c", "b", **going), thing("d", "a")
    made = graph(a, b, c, d)
    assert made.decide("a") == Wait((d,))
    assert [made.decide(each) for each in "bc"] == [Release(FOREGROUND)] * 2
    made.lose("d")
    assert made.decide("a") == Release(FOREGROUND)
    made.see(thing("b", "a"))
    assert made.decide("a") == Wait((made.things["b"],)), "it is not on its way yet"
    assert graph(thing("s", "s", **going)).decide("s") == Release(FOREGROUND)


def test_orphans_lose_their_owner_before_it_goes() -> None:
    owner, child = thing("a", deleting=True, finalizers=(ORPHAN,)), thing("c", "a")
    made = graph(owner, child)
    assert made.decide("a") == Leave((child,))
    made.see(thing("c"))
    assert made.decide("a") == Release(ORPHAN)
    assert made.decide("c") is None


EDGES = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=20)


@given(edges=EDGES, roots=st.sets(st.integers(0, 7), max_size=3))
def test_what_goes_is_what_no_living_owner_holds(edges: list[tuple[int, int]], roots: set[int]) -> None:
    """A model: objects 0 to 7, of which lower ones own higher ones; some are deleted."""
    owners: dict[int, set[int]] = {number: set() for number in range(8)}
    for one, other in edges:
        if one != other:
            owners[max(one, other)].add(min(one, other))
    made = graph(*(thing(str(n), *map(str, sorted(owners[n]))) for n in range(8)))
    expected = set(roots)
    for number in range(8):
        if owners[number] and owners[number] <= expected:
            expected.add(number)
    left, todo = set(range(8)), [str(root) for root in sorted(roots)]
    pending: set[str] = set()
    for uid in todo:
        left.discard(int(uid))
        pending |= made.lose(uid)
    for _ in range(200):
        if not pending:
            break
        uid = pending.pop()
        deed = made.decide(uid)
        if isinstance(deed, Delete):
            left.discard(int(uid))
            pending |= made.lose(uid)
        elif isinstance(deed, Unlink):
            there = made.things[uid]
            kept = [owner.uid for owner in there.owners if owner.uid not in deed.uids]
            pending |= made.see(thing(uid, *kept))
    assert left == set(range(8)) - expected
    for number in left:
        assert {int(owner.uid) for owner in made.things[str(number)].owners} <= left


async def create(client: Client, name: str, owner: Any = None, kind: Any = ConfigMap) -> Any:
    references = [owner_reference(owner)] if owner is not None else []
    return await client.create(kind(metadata=ObjectMeta(name=name, owner_references=references)))


async def test_a_chain_goes_in_the_background(cluster: Cluster) -> None:
    async with cluster:
        first = await create(cluster.client, "first")
        second = await create(cluster.client, "second", first, Secret)
        await create(cluster.client, "third", second)
        await cluster.client.delete(first)
        await cluster.until_gone(ConfigMap, "third")
        await cluster.until_gone(Secret, "second")


async def test_a_chain_goes_in_the_foreground_from_its_end(cluster: Cluster) -> None:
    async with cluster:
        first = await create(cluster.client, "first")
        second = await create(cluster.client, "second", first)
        await create(cluster.client, "third", second)
        gone: list[str] = []
        async with cluster.client.watch(ConfigMap, namespace="default") as events:
            await cluster.client.delete(first, propagation="Foreground")
            async for event in events:
                if event.type == "DELETED":
                    gone.append(event.object.metadata.name)
                if len(gone) == 3:
                    break
        assert gone == ["third", "second", "first"]


async def test_a_circle_goes_in_the_foreground(cluster: Cluster) -> None:
    async with cluster:
        client = cluster.client
        first = await create(client, "a")
        last = await create(client, "c", await create(client, "b", first))
        owner = {"ownerReferences": [to_wire(owner_reference(last))]}
        await client.patch(ConfigMap, "a", MergePatch({"metadata": owner}))
        await client.delete(first, propagation="Foreground")
        for name in "abc":
            await cluster.until_gone(ConfigMap, name)


async def test_orphans_stay_without_an_owner(cluster: Cluster) -> None:
    async with cluster:
        first = await create(cluster.client, "first")
        await create(cluster.client, "second", first)
        await cluster.client.delete(first, propagation="Orphan")
        await cluster.until_gone(ConfigMap, "first")
        second = await cluster.client.get(ConfigMap, "second")
        assert second.metadata.owner_references == []


async def test_an_owner_that_never_was_and_one_in_another_namespace(cluster: Cluster) -> None:
    async with cluster:
        client = cluster.client
        await client.create(Namespace(metadata=ObjectMeta(name="other")))
        theirs = await client.create(ConfigMap(metadata=ObjectMeta(name="theirs", namespace="other")))
        ghost = OwnerReference(api_version="v1", kind="Secret", name="ghost", uid="0-0")
        for name, reference in (("haunted", ghost), ("far", owner_reference(theirs))):
            await client.create(ConfigMap(metadata=ObjectMeta(name=name, owner_references=[reference])))
            await cluster.until_gone(ConfigMap, name)
        node = await client.get(Node, "node-1")
        await create(client, "of-node", node)
        await client.delete(Node, "node-1")
        await cluster.until_gone(ConfigMap, "of-node")


async def test_custom_resources_own_and_are_owned(cluster: Cluster) -> None:
    definition = dynamic("apiextensions.k8s.io/v1", "CustomResourceDefinition")
    widget = dynamic("example.com/v1", "Widget", plural="widgets", namespaced=True)
    schema = {"openAPIV3Schema": {"type": "object"}}
    spec = {
        "group": "example.com", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
    }  # fmt: skip
    async with cluster:
        client = cluster.client
        await client.create(definition({"metadata": {"name": "widgets.example.com"}, "spec": spec}))
        owner = await client.create(widget({"metadata": {"name": "owner"}}))
        mine = await create(client, "mine", owner)
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "mine", "uid": mine.metadata.uid}
        await client.create(widget({"metadata": {"name": "under", "ownerReferences": [reference]}}))
        await client.delete(widget, "owner")
        await cluster.until_gone(ConfigMap, "mine")
        await cluster.until_gone(widget, "under")


async def test_who_gets_another_owner_stays(cluster: Cluster) -> None:
    async with cluster:
        client = cluster.client
        first, second = await create(client, "first"), await create(client, "second")
        await create(client, "child", first)
        references = [owner_reference(first), owner_reference(second, controller=False)]
        wire = [
            {"apiVersion": "v1", "kind": "ConfigMap", "name": r.name, "uid": r.uid, "controller": r.controller}
            for r in references
        ]
        await client.patch(ConfigMap, "child", MergePatch({"metadata": {"ownerReferences": wire}}))
        await client.delete(first)
        await cluster.until(ConfigMap, "child", lambda c: [o.name for o in c.metadata.owner_references] == ["second"])
        await client.delete(second)
        await cluster.until_gone(ConfigMap, "child")
