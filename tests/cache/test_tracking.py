"""Read your writes: semantics.md's section of that name, through the client of the informers.

After a write returns, what is read is that state or a newer one, whether the watch is ahead of the answer or behind.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.cache.fakeserver import FakeServer
from tests.cache.informing import Told, informing
from tests.cache.samples import EXPIRED, pod, status, virtual

from trimtab.cache import Informer, Informers
from trimtab.client import ApiError, Client, MergePatch, NotKubernetes
from trimtab.kube.core.v1 import ConfigMap, Container, Namespace, Pod, PodSpec
from trimtab.kube.meta.v1 import ObjectMeta
from trimtab.kube.partial import metadata_of


def typed(name: str, image: str = "nginx", **metadata: Any) -> Pod:
    meta = ObjectMeta(name=name, namespace="default", **metadata)
    return Pod(metadata=meta, spec=PodSpec(containers=[Container(name="c", image=image)]))


class Writing:
    """An informer, the client that it knows of, and what is read."""

    def __init__(self, server: FakeServer, informers: Informers, informer: Informer[Any]) -> None:
        self.server = server
        self.informers = informers
        self.informer = informer
        self.client: Client = informers.client

    def image(self, name: str = "a") -> str | None:
        """What a reader sees of it: by name and in the list alike."""
        found = self.informer.lister.get(name, namespace="default")
        listed = [p for p in self.informer.lister.list() if p.metadata.name == name]
        by_label = [p for p in self.informer.lister.list(namespace="default") if p.metadata.name == name]
        assert ([found] if found else []) == listed == by_label
        return found.spec.containers[0].image if found else None

    def ahead(self) -> int:
        return sum(len(watched.overlay) for watched in self.informers.watches)


@asynccontextmanager
async def writing(*names: str, kind: type[Any] = Pod, behind: bool = True, **query: Any) -> AsyncIterator[Writing]:
    """With the watch behind, as it lags; or ahead, where the answer takes a second."""
    server = FakeServer()
    for name in names:
        server.put(pod(name, labels={"app": "web"}))
    async with informing(server) as informers:
        informer = informers.informer(kind, **query)
        await informers.synced()
        if behind:
            server.behind = server.now
        else:
            server.answers_after = 1.0
        before = len(server.asked_for("get"))
        yield Writing(server, informers, informer)
        assert len(server.asked_for("get")) == before, "a read asked the server"
        # When the watch has caught up, nothing is left of what was ahead of it.
        server.behind = None
        server.tell_watches()
        await asyncio.sleep(65)
        held = {entry.key: entry.resource_version for entry in informer.lister.entries()}
        watch = server.watches[0].asked
        assert held == {
            key: obj["metadata"]["resourceVersion"] for key, obj in server.current["pods"].items() if watch.selects(obj)
        }
        assert [len(watched.overlay) for watched in informers.watches] == [0] * len(informers.watches)
        assert [watched.overlay.forgotten for watched in informers.watches] == [0] * len(informers.watches)


both = pytest.mark.parametrize("behind", [True, False], ids=["watch behind", "watch ahead"])


@both
@virtual
async def test_a_create_is_read_at_once(behind: bool) -> None:
    async with writing("a", behind=behind) as w:
        made = await w.client.create(typed("b", labels={"app": "db"}))
        assert w.image("b") == "nginx"
        entry = w.informer.lister.entry("b", namespace="default")
        assert entry is not None
        assert entry.resource_version == made.metadata.resource_version
        assert [p.metadata.name for p in w.informer.lister.list(labels="app=db")] == ["b"]
        assert [p.metadata.name for p in w.informer.lister.list(labels="app=web")] == ["a"]


@both
@virtual
async def test_an_apply_is_read_at_once(behind: bool) -> None:
    async with writing("a", behind=behind) as w:
        await w.client.apply(typed("a", "other"))
        assert w.image() == "other"
        await w.client.apply(typed("new", "first"))
        assert w.image("new") == "first"


@both
@virtual
async def test_a_patch_is_read_at_once(behind: bool) -> None:
    async with writing("a", behind=behind) as w:
        for image in ("one", "two", "three"):
            patch = MergePatch({"spec": {"containers": [{"name": "c", "image": image}]}})
            await w.client.patch(Pod, "a", patch, namespace="default")
            assert w.image() == image


@both
@virtual
async def test_a_delete_is_read_at_once(behind: bool) -> None:
    """It is answered with a Status, which has the uid and no version."""
    async with writing("a", "b", behind=behind) as w:
        assert await w.client.delete(Pod, "a", namespace="default") is None
        assert (w.image("a"), w.image("b")) == (None, "nginx")


@both
@virtual
async def test_what_was_deleted_and_made_anew_is_read_as_the_new_one(behind: bool) -> None:
    async with writing("a", behind=behind) as w:
        await w.client.delete(Pod, "a", namespace="default")
        await w.client.create(typed("a", "second"))
        assert w.image() == "second"
        await w.client.delete(Pod, "a", namespace="default")
        assert w.image() is None
        await w.client.create(typed("a", "third"))
        assert w.image() == "third"
        if behind:
            for version in range(w.server.behind or 0, w.server.now):
                w.server.behind = version + 1  # the watch shows the past, one version after the other
                w.server.tell_watches()
                await asyncio.sleep(0.01)
                assert w.image() == "third"


@virtual
async def test_what_was_made_and_deleted_before_the_watch_showed_it_is_not_there() -> None:
    async with writing("a") as w:
        await w.client.create(typed("b"))
        await w.client.delete(Pod, "b", namespace="default")
        assert w.image("b") is None
        w.server.behind = w.server.now - 1  # now the watch shows that it was made
        w.server.tell_watches()
        await asyncio.sleep(0.01)
        assert w.image("b") is None


@both
@virtual
async def test_a_finalizer_keeps_what_is_deleted_until_the_last_one_is_gone(behind: bool) -> None:
    async with writing("a", behind=behind) as w:
        for finalizers in (["x/one", "x/two"],):
            await w.client.patch(Pod, "a", MergePatch({"metadata": {"finalizers": finalizers}}), namespace="default")
        left = await w.client.delete(Pod, "a", namespace="default")
        assert left is not None
        entry = w.informer.lister.entry("a", namespace="default")
        assert entry is not None
        assert entry.deleting
        await w.client.patch(Pod, "a", MergePatch({"metadata": {"finalizers": ["x/two"]}}), namespace="default")
        assert w.image() == "nginx"
        await w.client.patch(Pod, "a", MergePatch({"metadata": {"finalizers": []}}), namespace="default")
        assert w.image() is None


@both
@virtual
async def test_what_leaves_the_selector_is_not_read_and_what_enters_it_is(behind: bool) -> None:
    async with writing("a", "b", behind=behind, labels="app=web") as w:
        await w.client.patch(Pod, "a", MergePatch({"metadata": {"labels": {"app": "db"}}}), namespace="default")
        assert (w.image("a"), w.image("b")) == (None, "nginx")
        await w.client.create(typed("c", labels={"app": "db"}))
        assert w.image("c") is None
        await w.client.patch(Pod, "c", MergePatch({"metadata": {"labels": {"app": "web"}}}), namespace="default")
        assert w.image("c") == "nginx"


@virtual
async def test_what_is_in_another_namespace_is_not_read() -> None:
    async with writing("a", namespaces=["default"]) as w:
        elsewhere = typed("b")
        elsewhere.metadata.namespace = "other"
        await w.client.create(elsewhere)
        assert w.image("b") is None
        assert w.ahead() == 0


@virtual
async def test_a_dry_run_is_not_shown() -> None:
    async with writing("a") as w:
        await w.client.create(typed("b"), dry_run=True)
        await w.client.apply(typed("a", "other"), dry_run=True)
        await w.client.delete(Pod, "a", namespace="default", dry_run=True)
        assert (w.image("a"), w.image("b"), w.ahead()) == ("nginx", None, 0)


@virtual
async def test_a_write_that_is_refused_is_not_shown() -> None:
    async with writing("a") as w:
        w.server.next["patch"].append(status(409, "Conflict"))
        w.server.next["delete"].append(status(409, "Conflict"))
        with pytest.raises(ApiError):
            await w.client.apply(typed("a", "other"))
        with pytest.raises(ApiError):
            await w.client.delete(Pod, "a", namespace="default")
        assert (w.image(), w.ahead()) == ("nginx", 0)


@virtual
async def test_somebody_elses_newer_state_is_not_hidden_by_an_older_write() -> None:
    async with writing("a", behind=False) as w:
        write = asyncio.create_task(w.client.apply(typed("a", "mine")))
        await asyncio.sleep(0.5)
        w.server.touch("default/a", "theirs")
        await write
        assert w.image() == "theirs"
        write = asyncio.create_task(w.client.delete(Pod, "a", namespace="default"))  # type: ignore[arg-type]
        await asyncio.sleep(0.5)
        w.server.put(pod("a", image="again"))
        await write
        assert w.image() == "again"


@virtual
async def test_what_is_ahead_is_shown_through_a_list_that_is_behind() -> None:
    async with writing("a") as w:
        await asyncio.sleep(2)
        await w.client.apply(typed("a", "other"))
        await w.client.create(typed("b"))
        w.server.streams_state = False
        w.server.watches[0].refuse(EXPIRED)
        await asyncio.sleep(3)
        assert (w.image("a"), w.image("b"), w.ahead()) == ("other", "nginx", 2)


@virtual
async def test_handlers_are_told_by_the_watch_alone() -> None:
    async with writing("a") as w:
        told = Told(w.informer)
        await w.client.create(typed("b"))
        await w.client.delete(Pod, "a", namespace="default")
        await asyncio.sleep(1)
        assert told.all() == ["+a*"]
        w.server.behind = None
        w.server.tell_watches()
        await asyncio.sleep(0.01)
        assert told.all() == ["+a*", "+b", "-a"]


@virtual
async def test_all_informers_of_the_kind_see_it_those_of_metadata_too() -> None:
    async with writing("a") as w:
        metadata, narrow = w.informers.informer(metadata_of(Pod)), w.informers.informer(Pod, labels="app=db")
        other = w.informers.informer(ConfigMap)
        await w.informers.synced()
        await w.client.create(typed("b", labels={"app": "db"}))
        seen = metadata.lister.get("b", namespace="default")
        assert seen is not None
        assert seen.metadata.labels == {"app": "db"}
        assert [p.metadata.name for p in narrow.lister.list()] == ["b"]
        assert other.lister.list() == []


@virtual
async def test_what_was_answered_is_taken_in_once_but_metadata_without_the_rest() -> None:
    async with writing("a") as w:
        metadata = w.informers.informer(metadata_of(Pod))
        await w.informers.synced()
        await w.client.apply(typed("a", "other"))
        answered = w.informer.lister.entry("a", namespace="default")
        w.server.behind = None
        w.server.tell_watches()
        await asyncio.sleep(65)
        assert w.ahead() == 0
        assert w.informer.lister.entry("a", namespace="default") is answered
        kept = metadata.lister.entry("a", namespace="default")
        assert kept is not None
        assert b"spec" not in kept.json()


@virtual
async def test_writes_before_the_first_state_are_kept_until_it_is_read() -> None:
    server = FakeServer()
    server.put(pod("a"))
    server.next["watchlist"].append(5.0)
    async with informing(server) as informers:
        informer = informers.informer(Pod)
        server.behind = server.now  # the first state will be of before the writes
        await informers.client.create(typed("b"))
        await informers.client.delete(Pod, "a", namespace="default")
        await informers.synced()
        assert [p.metadata.name for p in informer.lister.list()] == ["b"]


@virtual
async def test_a_write_does_not_wait_for_the_watch() -> None:
    async with writing("a") as w:
        w.server.watches[0].silent = True
        begun = asyncio.get_running_loop().time()
        await w.client.create(typed("b"))
        assert asyncio.get_running_loop().time() == begun
        assert w.image("b") == "nginx"
        await asyncio.sleep(80)


@pytest.mark.parametrize(
    "body",
    [b"", b"<html>", b"[]", b'{"kind":"Pod","x":"\xff"}', b'{"kind":"Pod","x":' + b"[" * 9000 + b"]" * 9000 + b"}"],
)
@virtual
async def test_an_answer_that_is_none_is_the_callers_to_judge(body: bytes) -> None:
    async with writing("a") as w:
        w.server.next["patch"].append((200, body))
        with pytest.raises(NotKubernetes):
            await w.client.apply(typed("a", "other"))
        assert (w.image(), w.ahead()) == ("nginx", 0)


@virtual
async def test_no_more_than_so_many_writes_are_ahead_and_what_was_dropped_is_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("trimtab.cache.overlay._MOST", 1000)
    server = FakeServer()
    async with informing(server) as informers:
        informer = informers.informer(Pod)
        await informers.synced()
        server.behind = 0
        for n in range(1010):
            await informers.client.create(typed(f"p{n}"))
        overlay = informers.watches[0].overlay
        assert (len(overlay), overlay.forgotten, len(informer.lister.list())) == (1000, 10, 1000)
        assert informer.lister.get("p9", namespace="default") is None  # the oldest go first
        server.behind = None
        server.tell_watches()
        await asyncio.sleep(1)
        assert (len(overlay), len(informer.lister.list())) == (0, 1010)


async def test_a_namespace_stays_while_its_spec_has_a_finalizer(client: Client) -> None:
    async with Informers(client) as informers:
        namespaces = informers.informer(Namespace)
        await namespaces.synced()
        made = await informers.client.create(Namespace(metadata=ObjectMeta(name="shop")))
        await informers.client.delete(made)
        told = MergePatch({"status": {"conditions": [{"type": "Told", "status": "True"}]}})
        await informers.client.patch(Namespace, "shop", told, subresource="status")
        found = namespaces.lister.get("shop")
        assert found is not None
        assert [each.type for each in found.status.conditions] == ["Told"]
