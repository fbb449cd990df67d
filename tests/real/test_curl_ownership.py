"""Whose keys they are: curl-me-that beside others on a real API server, which alone knows server-side apply in full."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime

import pytest

from trimtab.client import Client, Conflict, Invalid, MergePatch, load_config
from trimtab.controller import Options
from trimtab.controllers.curl_me_that import app, fetcher
from trimtab.controllers.curl_me_that.pairs import ANNOTATIONS
from trimtab.controllers.curl_me_that.record import RECORD, Fetched, digest_of
from trimtab.controllers.curl_me_that.writing import ours, write
from trimtab.kube.core.v1 import ConfigMap
from trimtab.kube.events.v1 import Event
from trimtab.kube.meta.v1 import ObjectMeta
from trimtab.manager import Manager
from trimtab.testing.control_plane import ControlPlane

MARK = ANNOTATIONS[0]
US = "curl-me-that"


class Web:
    """Answers each request otherwise."""

    def __init__(self) -> None:
        self.fetches: Counter[str] = Counter()

    async def fetch(self, url: str, *, largest: int) -> bytes:  # noqa: ARG002  # as of the fetcher
        self.fetches[url] += 1
        return f"joke {self.fetches.total()}".encode()


class Bench:
    def __init__(self, client: Client, web: Web) -> None:
        self.client = client
        self.web = web

    async def sees(self, holds: Callable[[ConfigMap], bool], name: str = "demo") -> ConfigMap:
        async with asyncio.timeout(20):
            while not holds(seen := await self.client.get(ConfigMap, name)):  # noqa: ASYNC110  # others write it
                await asyncio.sleep(0.05)
        return seen

    async def told(self, reason: str) -> str:
        async with asyncio.timeout(20):
            while True:
                events = await self.client.list(Event, namespace=self.client.namespace, fields={"reason": reason})
                if events:
                    return events[0].note or ""
                await asyncio.sleep(0.05)


@pytest.fixture
async def bench(control_plane: ControlPlane, client: Client) -> AsyncIterator[Bench]:
    web, options, stopping = Web(), Options(), asyncio.Event()
    options.put(fetcher, web)  # type: ignore[arg-type]
    config = load_config(control_plane.kubeconfig())
    manager = Manager(app, config, namespaces=[client.namespace], options=options, listen=False)
    running = asyncio.create_task(manager.run(stopping))
    yield Bench(client, web)
    stopping.set()
    await running


def marked(text: str, name: str = "demo", **data: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, annotations={MARK: text}), data=data)


async def test_what_another_applies_by_force_is_theirs_and_the_rest_stays_ours(bench: Bench) -> None:
    client = bench.client
    await client.create(marked("a=x.com every 10s\nb=y.com every 10s"))
    await bench.sees(lambda seen: seen.data.keys() == {"a", "b"})
    theirs = ConfigMap(metadata=ObjectMeta(name="demo"), data={"a": "theirs"})
    await client.apply(theirs, field_manager="flux", force=True)
    assert "a=http://x.com: the key is there already, and is set by flux" in await bench.told("KeyTaken")
    before = (await client.get(ConfigMap, "demo")).data["b"]
    seen = await bench.sees(lambda seen: seen.data["b"] != before)  # it goes on with the other key
    assert seen.data["a"] == "theirs"
    assert " a " not in seen.metadata.annotations[RECORD]
    await client.apply(ConfigMap(metadata=ObjectMeta(name="demo")), field_manager="flux")  # they let go of it
    await bench.sees(lambda seen: seen.data.get("a", "").startswith("joke"))


async def test_what_is_changed_by_hand_comes_back(bench: Bench) -> None:
    await bench.client.create(marked("a=x.com"))
    await bench.sees(lambda seen: seen.data == {"a": "joke 1"})
    await bench.client.patch(ConfigMap, "demo", MergePatch({"data": {"a": "mine"}}), field_manager="kubectl-edit")
    await bench.sees(lambda seen: seen.data == {"a": "joke 2"})
    bench_pairs = MergePatch({"metadata": {"annotations": {MARK: None}}})
    await bench.client.patch(ConfigMap, "demo", bench_pairs)
    await bench.sees(lambda seen: seen.data == {} and RECORD not in seen.metadata.annotations)


async def test_a_record_that_somebody_took_away_does_not_make_our_key_somebody_elses(bench: Bench) -> None:
    await bench.client.create(marked("a=x.com"))
    await bench.sees(lambda seen: seen.data == {"a": "joke 1"})
    await bench.client.patch(ConfigMap, "demo", MergePatch({"metadata": {"annotations": {RECORD: None}}}))
    await bench.sees(lambda seen: seen.data == {"a": "joke 2"} and RECORD in seen.metadata.annotations)
    spoilt = MergePatch({"metadata": {"annotations": {RECORD: "who wrote this?"}}})
    await bench.client.patch(ConfigMap, "demo", spoilt, field_manager="kubectl-edit")
    await bench.sees(lambda seen: seen.data == {"a": "joke 3"} and "x.com" in seen.metadata.annotations[RECORD])


class Looking:
    """As much of a Context as writing needs."""

    def __init__(self, client: Client, name: str) -> None:
        self.client, self.name, self.namespace = client, name, client.namespace
        self.apply = client.apply


async def test_who_was_faster_keeps_the_key(client: Client) -> None:
    """A key that was not there when we looked, and is when we write."""
    looked_at = await client.create(marked("a=x.com\nb=x.com"))
    await client.patch(ConfigMap, "demo", MergePatch({"data": {"a": "theirs"}}), field_manager="kubectl-edit")
    client.field_manager = US
    now = datetime(2026, 7, 1, 12, tzinfo=UTC)
    record = {key: Fetched("http://x.com", digest_of(b"1"), now) for key in "ab"}
    looking = Looking(client, "demo")
    taken = await write(looking, looked_at, record, {"a": b"1", "b": b"1"}, {})  # type: ignore[arg-type]
    assert taken == {"a": ["kubectl-edit"]}
    assert record.keys() == {"b"}
    assert (await client.get(ConfigMap, "demo")).data == {"a": "theirs", "b": "1"}


async def test_what_was_deleted_meanwhile_is_not_made_anew(client: Client) -> None:
    looked_at = await client.create(marked("a=x.com"))
    await client.delete(looked_at)
    with pytest.raises(Conflict):
        await client.apply(ours(looked_at, {}, {}))
    assert not await client.list(ConfigMap, namespace=client.namespace, fields={"metadata.name": "demo"})
    await client.create(marked("", other="1"))
    with pytest.raises((Conflict, Invalid)):
        await client.apply(ours(looked_at, {}, {}))
