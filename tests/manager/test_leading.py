"""The elector with a server: what it asks for, when it leads, and what becomes of writes when it does not."""

from __future__ import annotations

import asyncio
import re

import pytest
from tests.cache.samples import FORBIDDEN, virtual

from trimtab.client import Client, MergePatch
from trimtab.kube.core.v1 import ConfigMap
from trimtab.kube.meta.v1 import ObjectMeta
from trimtab.manager.fence import Fence, NotLeading
from trimtab.manager.leading import LeaderElector, LeadershipLost, own_identity

from .leases import LeaseServer


def fenced(server: LeaseServer, elector: LeaderElector) -> Client:
    return server.client().through(lambda inner: Fence(inner, elector))


@virtual
async def test_one_leads_and_hands_over_at_once_when_it_lets_go() -> None:
    server = LeaseServer()
    one, other = server.elector("one"), server.elector("other")
    running = asyncio.create_task(one.run())
    await one.elected.wait()
    assert [request.verb for request in server.sent] == ["get", "create"]
    waiting = asyncio.create_task(other.run())
    await asyncio.sleep(60)
    assert (one.leads, other.leads, other.holder) == (True, False, "one")
    assert {request.verb for request in server.sent[3:] if request.body} == {"update"}
    assert server.lease["holderIdentity"] == "one"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", str(server.lease["renewTime"]))

    await one.release(5)
    await running
    assert (server.lease["holderIdentity"], server.lease["leaseDurationSeconds"]) == ("", 1)
    assert not one.leads
    async with asyncio.timeout(2.5):
        await other.elected.wait()
    assert (server.lease["holderIdentity"], server.lease["leaseTransitions"]) == ("other", 1)
    waiting.cancel()


@virtual
async def test_what_others_put_into_the_lease_stays() -> None:
    server = LeaseServer()
    one = server.elector("one")
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": {"strategy": "theirs"}}
    server.put({**lease, "metadata": {"name": "lock", "namespace": "default", "labels": {"team": "a"}}})
    running = asyncio.create_task(one.run())
    await one.elected.wait()
    assert server.lease["strategy"] == "theirs"
    assert server.current["leases"]["default/lock"]["metadata"]["labels"] == {"team": "a"}
    running.cancel()


@virtual
async def test_a_lease_that_cannot_be_renewed_is_lost() -> None:
    server = LeaseServer()
    one = server.elector("one")
    running = asyncio.create_task(one.run())
    await one.elected.wait()
    start = one.clock()
    server.always = {"update": FORBIDDEN, "get": FORBIDDEN}
    with pytest.raises(LeadershipLost, match=r"^lease default/lock is lost: it was not renewed for 10.0 s .*Forbidden"):
        await running
    assert 9.9 < one.clock() - start < 10.1
    assert not one.leads


@virtual
async def test_a_server_that_does_not_answer_is_given_up_in_time() -> None:
    server = LeaseServer()
    one = server.elector("one")
    running = asyncio.create_task(one.run())
    await one.elected.wait()
    start = one.clock()
    server.next["update"].append(3600.0)
    server.next["get"].append(3600.0)
    with pytest.raises(LeadershipLost, match="no answer within"):
        await running
    assert one.clock() - start == pytest.approx(10)


@virtual
async def test_writes_pass_only_while_the_lease_lasts() -> None:
    server = LeaseServer()
    one = server.elector("one")
    client = fenced(server, one)
    with pytest.raises(NotLeading, match=r"^cannot patch configmaps default/a: this process does not lead: .*nothing"):
        await client.patch(ConfigMap, "a", MergePatch({}))
    running = asyncio.create_task(one.run())
    await one.elected.wait()
    await client.create(ConfigMap(metadata=ObjectMeta(name="a")))
    assert (await client.get(ConfigMap, "a")).metadata.name == "a"
    await one.release(5)
    await running
    sent = len(server.sent)
    with pytest.raises(NotLeading):
        await client.delete(ConfigMap, "a")
    assert len(server.sent) == sent
    assert (await client.get(ConfigMap, "a")).metadata.name == "a"


@virtual
async def test_who_was_paused_past_the_lease_writes_nothing_when_it_wakes_and_looks_at_once() -> None:
    server = LeaseServer()
    one, slept = server.elector("one"), [0.0]
    loop = asyncio.get_running_loop()
    one._election._clock = one.clock = lambda: loop.time() + slept[0]  # the clock that goes on while all stands still
    client = fenced(server, one)
    running = asyncio.create_task(one.run())
    await one.elected.wait()
    slept[0] = 20.0
    with pytest.raises(NotLeading, match=r"may not write since 10\.0 s, .*lease default/lock in time \(was it paused"):
        await client.patch(ConfigMap, "a", MergePatch({}))
    start = loop.time()
    with pytest.raises(LeadershipLost, match="this process did not run"):
        await running
    assert loop.time() == start  # without waiting for the next renewal
    with pytest.raises(NotLeading, match="this process leads no longer"):
        await client.patch(ConfigMap, "a", MergePatch({}))


@virtual
async def test_a_write_that_waited_for_its_connection_is_looked_at_again() -> None:
    server = LeaseServer()
    one = server.elector("one")

    class Slow(LeaseServer):
        async def send(self, request):  # type: ignore[no-untyped-def]
            await asyncio.sleep(30)
            return await super().send(request)

    slow = Slow()
    running = asyncio.create_task(one.run())
    await one.elected.wait()
    client = Client(slow).through(lambda inner: Fence(inner, one))
    writing = asyncio.create_task(client.patch(ConfigMap, "a", MergePatch({})))
    await asyncio.sleep(1)
    await one.release(5)
    await running
    with pytest.raises(NotLeading):
        await writing
    assert slow.sent == []


def test_an_identity_names_the_host_and_is_nobody_elses() -> None:
    first, second = own_identity(), own_identity()
    assert first != second
    assert re.fullmatch(r".+_[0-9a-f]{8}-[0-9a-f-]{27}", first)
