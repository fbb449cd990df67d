"""Several replicas, one leader: it is killed, paused, asked to stop. Never does a deposed one write."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Sequence
from itertools import groupby
from pathlib import Path

import pytest

from trimtab.client import Client, Watch
from trimtab.kube.coordination.v1 import Lease
from trimtab.kube.core.v1 import ConfigMap
from trimtab.kube.events.v1 import Event
from trimtab.testing.control_plane import ControlPlane

from .cache_helpers import config_map, until
from .manager_helpers import Replica, Replicas, replicas, writers

MANY = 1000
ONCE = '''
import asyncio
import os

import trimtab
from trimtab.client import MergePatch
from trimtab.kube.core.v1 import ConfigMap

app = trimtab.App("once")


@app.controller(ConfigMap, where=trimtab.labelled("write"), workers=4)
async def once(cm, ctx):
    """Something that must not be done twice, and takes a moment."""
    if "by" not in cm.data:
        await asyncio.sleep(0.02)
        await ctx.patch(ConfigMap, ctx.name, MergePatch({"data": {"by": os.environ["REPLICA"]}}))
'''
QUICK = ("--leader-elect", "--lease-duration", "3", "--renew-deadline", "2", "--retry-period", "0.4")


@pytest.fixture
async def several(control_plane: ControlPlane, client: Client, tmp_path: Path) -> AsyncIterator[Replicas]:
    await client.create(config_map("in", write="yes"))
    async with replicas(control_plane.kubeconfig(), client.namespace, tmp_path) as several:
        yield several


async def a_leader_and_standbys(several: Replicas, *flags: str, of_the_first: Sequence[str] = ()) -> list[Replica]:
    """Three, the leader first; the others are ready to take over."""
    first = await several.start(*flags, *of_the_first)
    await first.says("leading: ")
    others = [await several.start(*flags) for _ in range(2)]
    for other in others:
        await other.says(f"is held by {json_identity(first)}")
    return [first, *others]


def json_identity(replica: Replica) -> str:
    said = next(line for line in replica.lines if "competing for" in line)
    return said.partition(" as ")[2].partition('"')[0]


async def next_leader(others: list[Replica], seconds: float) -> Replica:
    waits = {asyncio.create_task(other.says("leading: ", seconds)): other for other in others}
    done, pending = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    for wait in pending:
        wait.cancel()
    await asyncio.gather(*pending, return_exceptions=True)
    return waits[done.pop()]


async def test_a_leader_is_killed_and_another_takes_over(several: Replicas, client: Client) -> None:
    async with writers(client) as seen:
        first, *others = await a_leader_and_standbys(several, *QUICK)
        await seen.until(first.name)
        assert [await each.leads() for each in several.all] == [True, False, False]
        assert [(await each.get("/readyz"))[0] for each in several.all] == [200, 200, 200]
        killed = time.monotonic()
        first.process.send_signal(signal.SIGKILL)
        second = await next_leader(others, 20)
        took = time.monotonic() - killed
        assert 2 < took < 3 + 2 * 0.48 + 2, took  # the lease, and the looks around it
        await seen.until(first.name, second.name)
        await seen.more()
        assert seen.order == [first.name, second.name]
        lease = await client.get(Lease, "writer")
        assert (lease.spec.holder_identity, lease.spec.lease_transitions) == (json_identity(second), 1)


@pytest.mark.parametrize("inside", [True, False], ids=["right before a write", "at any moment"])
async def test_a_leader_that_was_paused_past_its_lease_writes_nothing_when_it_wakes(
    several: Replicas, client: Client, inside: bool
) -> None:
    async with writers(client) as seen:
        first, *others = await a_leader_and_standbys(
            several, *QUICK, of_the_first=["--pause-at", "300"] if inside else []
        )
        await seen.until(first.name)
        if not inside:
            first.process.send_signal(signal.SIGSTOP)
        second = await next_leader(others, 60)
        await seen.until(first.name, second.name)
        first.process.send_signal(signal.SIGCONT)
        assert await first.ended(20) == 1
        await seen.more()
        assert seen.order == [first.name, second.name]
        text = "\n".join(first.lines)
        last = first.entries[-1]
        assert last["level"] == "error"
        assert last["message"].startswith(f"lease {client.namespace}/writer is lost: it was not renewed for "), str(
            first
        )
        if inside:
            assert "this process leads no longer: it may not write since" in text, str(first)
            assert "was it paused?" in text


async def test_under_load_a_leader_is_killed_and_the_next_one_paused_and_everything_is_done_once(
    control_plane: ControlPlane, client: Client, tmp_path: Path
) -> None:
    names = iter(range(MANY))

    async def create() -> None:
        for number in names:
            await client.create(config_map(f"c{number}", write="yes"))

    await asyncio.gather(*(create() for _ in range(16)))
    written: list[tuple[str, str]] = []  # what, and by whom

    async def follow(events: Watch[ConfigMap]) -> None:
        async for event in events:
            if event.type == "MODIFIED":
                by = event.object.data["by"]
                written.append((event.object.metadata.name, by))

    async with (
        client.watch(ConfigMap, namespace=client.namespace, labels="write") as events,
        replicas(control_plane.kubeconfig(), client.namespace, tmp_path, ONCE) as several,
    ):
        following = asyncio.create_task(follow(events))
        try:
            first, *others = await a_leader_and_standbys(several, *QUICK)
            await until(lambda: len(written) > MANY // 4)
            first.process.send_signal(signal.SIGKILL)
            second = await next_leader(others, 20)
            (third,) = (other for other in others if other is not second)
            await until(lambda: sum(by == second.name for _, by in written) > MANY // 4)
            second.process.send_signal(signal.SIGSTOP)
            await third.says("leading: ", 20)
            await until(lambda: written[-1][1] == third.name)
            second.process.send_signal(signal.SIGCONT)
            assert await second.ended(20) == 1
            await until(lambda: len(written) >= MANY, 60)
            third.process.send_signal(signal.SIGTERM)
            assert await third.ended(20) == 0  # it was idle: nothing more is to come
        finally:
            following.cancel()
    assert [by for by, _ in groupby(by for _, by in written)] == [first.name, second.name, third.name]
    assert sorted(name for name, _ in written) == sorted(f"c{number}" for number in range(MANY))
    assert "is lost: it was not renewed for " in second.entries[-1]["message"], str(second)


async def test_a_leader_that_is_asked_to_stop_drains_and_hands_over_at_once(several: Replicas, client: Client) -> None:
    async with writers(client) as seen:
        first, *others = await a_leader_and_standbys(several, "--leader-elect", "--grace", "3")
        await seen.until(first.name)
        first.process.send_signal(signal.SIGTERM)
        asked = time.monotonic()
        assert await first.ended(20) == 0
        ended = time.monotonic()
        assert ended - asked < 10
        second = await next_leader(others, 20)
        assert time.monotonic() - ended < 2.4 + 2  # a look, not the 15 s of the lease
        await seen.until(first.name, second.name)
        events = await client.list(Event, fields={"regarding.kind": "Lease", "regarding.name": "writer"})
        notes = [event.note for event in events if (event.note or "").startswith(json_identity(first))]
        assert sorted(notes) == [f"{json_identity(first)} {what}" for what in ("became leader", "stopped leading")]
        said = [entry["message"] for entry in first.entries]
        assert said.index("SIGTERM: stopping; once more ends this process at once") < said.index("stopped")
