"""A manager in virtual time, with a server in memory: what it runs, what it tells, and how it stops."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.cache.samples import FORBIDDEN, config_map, virtual

from trimtab.cache import NotSynced
from trimtab.client import Request, Response, Target, Unreachable
from trimtab.controller import App, Context, Options
from trimtab.errors import TrimtabError
from trimtab.kube.core.v1 import ConfigMap
from trimtab.kube.meta.v1 import ObjectMeta
from trimtab.manager import LeaderElection, LeadershipLost, Manager, Part, Phase
from trimtab.manager.lifecycle import Stop
from trimtab.manager.serving import Address, Asked

from .leases import LeaseServer


class Server(LeaseServer):
    async def send(self, request: Request) -> Response:
        if request.path == "/version":
            return Response(200, {}, b'{"gitVersion":"v1.36.0"}')
        return await super().send(request)


def counting(seen: list[str], name: str = "counter") -> App:
    app = App(name)

    @app.controller(ConfigMap, name=name)
    async def count(obj: ConfigMap, ctx: Context) -> None:
        seen.append(obj.metadata.name)

    return app


@asynccontextmanager
async def running(manager: Manager) -> AsyncIterator[asyncio.Event]:
    stopping = asyncio.Event()
    task = asyncio.create_task(manager.run(stopping))
    try:
        yield stopping
    finally:
        stopping.set()
        await task


def metrics(manager: Manager) -> dict[str, Any]:
    said = manager._answer_metrics(Asked("/metrics", {}, ""))
    assert said is not None
    return {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(said.body.decode())
        for sample in family.samples
    }


def probe(manager: Manager, path: str) -> tuple[int, str]:
    said = manager._answer_probe(Asked(path, {}, ""))
    assert said is not None
    return said.status, said.body.decode()


@virtual
async def test_two_apps_share_a_process_its_watches_and_its_end() -> None:
    server, one, other = Server(), list[str](), list[str]()
    server.put(config_map("a"))
    manager = Manager([counting(one, "one"), counting(other, "other")], server, listen=False)
    async with running(manager):
        await asyncio.sleep(1)
        server.put(config_map("b"))
        await asyncio.sleep(1)
        assert one == other == ["a", "b"]
        assert len(server.watches) == 1
        assert probe(manager, "/readyz") == probe(manager, "/livez") == (200, "ok")
        told = metrics(manager)
        assert told["controller_runtime_reconcile_total", "one", "success"] == 2
        assert told["workqueue_adds_total", "other", "other"] == 2
        assert told["rest_client_requests_total", "200", "GET", "in-process"] == 2
        assert "leader_election_master_status" not in {name for name, *_ in told}
    assert server.watches == []


@virtual
async def test_only_the_leader_works_and_a_standby_is_warm_and_takes_over_at_once() -> None:
    server, one, other = Server(), list[str](), list[str]()
    server.put(config_map("a"))
    first = Manager(counting(one), server, listen=False, leader_election=LeaderElection(name="lock"))
    second = Manager(counting(other), server, listen=False, leader_election=LeaderElection(name="lock"))
    stop_first = asyncio.Event()
    leading = asyncio.create_task(first.run(stop_first))
    await asyncio.sleep(5)
    async with running(second):
        await asyncio.sleep(30)
        assert (one, other) == (["a"], [])
        assert metrics(first)["leader_election_master_status", "lock"] == 1
        assert metrics(second)["leader_election_master_status", "lock"] == 0
        assert probe(second, "/readyz") == (200, "ok")
        watches = len(server.asked_for("watch", "watchlist"))
        stop_first.set()
        await leading
        server.put(config_map("b"))
        await asyncio.sleep(2.5)
        assert sorted(other) == ["a", "b"]
        assert len(server.asked_for("watch", "watchlist")) == watches  # it had read all that before
    assert server.lease["holderIdentity"] == ""


@virtual
async def test_losing_the_lease_ends_the_work_at_once_and_is_an_error() -> None:
    server, cut = Server(), list[float]()
    server.put(config_map("a"))
    app = App("endless")
    loop = asyncio.get_running_loop()

    @app.controller(ConfigMap)
    async def endless(obj: ConfigMap, ctx: Context) -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            cut.append(loop.time())

    manager = Manager(app, server, listen=False, leader_election=LeaderElection(name="lock"))
    task = asyncio.create_task(manager.run())
    await asyncio.sleep(5)
    lease = server.current["leases"]["default/lock"]
    server.put({**lease, "spec": {**lease["spec"], "holderIdentity": "usurper"}})
    with pytest.raises(LeadershipLost, match="usurper took it"):
        await task
    assert len(cut) == 1
    assert cut[0] < 5 + 2.1


@virtual
async def test_writes_of_controllers_pass_the_fence_and_are_counted() -> None:
    server = Server()
    server.put(config_map("a"))
    app = App("writer")

    @app.controller(ConfigMap, writes=[ConfigMap], where=lambda obj: obj.metadata.name == "a")
    async def write(obj: ConfigMap, ctx: Context) -> None:
        await ctx.apply(ConfigMap(metadata=ObjectMeta(name="b", namespace="default"), data={"x": "1"}))

    manager = Manager(app, server, listen=False, leader_election=LeaderElection(name="lock"))
    async with running(manager):
        await asyncio.sleep(5)
        (applied,) = [request for request in server.sent if request.verb == "patch"]
        assert applied.before_sending is not None
        assert metrics(manager)["rest_client_requests_total", "200", "PATCH", "in-process"] == 1
        assert all(request.before_sending is None for request in server.sent if "leases" in request.path)


@virtual
async def test_a_drain_finishes_what_is_queued_before_the_caches_go() -> None:
    server, done = Server(), list[str]()
    for number in range(5):
        server.put(config_map(f"c{number}"))
    app = App("slow")

    @app.controller(ConfigMap)
    async def slow(obj: ConfigMap, ctx: Context) -> None:
        await asyncio.sleep(2)
        done.append(obj.metadata.name)

    start = asyncio.get_running_loop().time()
    async with running(Manager(app, server, listen=False)):
        await asyncio.sleep(3)
    assert len(done) == 5
    assert asyncio.get_running_loop().time() - start == pytest.approx(10, abs=0.2)


@virtual
async def test_what_is_not_done_within_the_grace_is_cut() -> None:
    server = Server()
    server.put(config_map("a"))
    app = App("endless")

    @app.controller(ConfigMap)
    async def endless(obj: ConfigMap, ctx: Context) -> None:
        await asyncio.sleep(3600)

    start = asyncio.get_running_loop().time()
    async with running(Manager(app, server, listen=False, grace=7)):
        await asyncio.sleep(3)
    assert asyncio.get_running_loop().time() - start == pytest.approx(10, abs=0.2)


@virtual
async def test_a_lease_is_not_released_under_what_had_to_be_cut() -> None:
    server = Server()
    server.put(config_map("a"))
    app = App("endless")

    @app.controller(ConfigMap)
    async def endless(obj: ConfigMap, ctx: Context) -> None:
        await asyncio.sleep(3600)

    async with running(
        Manager(app, server, listen=False, grace=2, leader_election=LeaderElection(name="lock"))
    ) as stop:
        await asyncio.sleep(5)
        holder = server.lease["holderIdentity"]
        stop.set()
    assert holder
    assert server.lease["holderIdentity"] == holder  # it runs out


@virtual
async def test_events_are_sent_to_the_last_after_the_lease_is_released() -> None:
    server = Server()
    server.put(config_map("a"))
    app = App("teller")

    @app.controller(ConfigMap, resync=1)
    async def tell(obj: ConfigMap, ctx: Context) -> None:
        ctx.event("Normal", "Seen", "it was seen")

    async with running(Manager(app, server, listen=False, leader_election=LeaderElection(name="lock"))):
        await asyncio.sleep(5)
    (event,) = [event for event in server.current["events"].values() if event["reason"] == "Seen"]
    assert event["series"]["count"] >= 4
    asked = [
        (request.verb, request.what.resource.plural) for request in server.sent if isinstance(request.what, Target)
    ]
    assert sorted(asked[-3:]) == [("create", "events"), ("patch", "events"), ("update", "leases")]
    assert asked[-3] == ("update", "leases")


@virtual
async def test_the_lease_tells_who_became_leader_and_who_stopped() -> None:
    server = Server()
    manager = Manager(counting([]), server, listen=False, leader_election=LeaderElection(name="lock"))
    with pytest.raises(TrimtabError, match="does not run yet"):
        manager.events  # noqa: B018
    async with running(manager):
        await asyncio.sleep(5)
        lease = server.current["leases"]["default/lock"]
        manager.events.event(
            ConfigMap(metadata=ObjectMeta(name="a")), "Normal", "Said", "by a part", action="Say", controller="page"
        )
    told = [(event["reason"], event["note"], event["regarding"]) for event in server.current["events"].values()]
    assert [reason for reason, _, _ in told] == ["LeaderElection", "Said", "LeaderElection"]
    holder = lease["spec"]["holderIdentity"]
    assert [note for _, note, _ in (told[0], told[2])] == [f"{holder} became leader", f"{holder} stopped leading"]
    about = told[0][2]
    assert (about["kind"], about["name"], about["uid"]) == ("Lease", "lock", lease["metadata"]["uid"])


@virtual
async def test_only_what_is_in_the_namespaces_is_looked_at() -> None:
    server, seen = Server(), list[str]()
    for namespace in ("a", "b", "c"):
        server.put(config_map(f"in-{namespace}", namespace))
    async with running(Manager(counting(seen), server, listen=False, namespaces=["a", "c"])):
        await asyncio.sleep(1)
    assert sorted(seen) == ["in-a", "in-c"]


@virtual
async def test_a_role_that_is_missing_ends_the_start_with_the_verb_and_the_kind() -> None:
    server = Server()
    server.always = dict.fromkeys(("list", "watch", "watchlist"), FORBIDDEN)
    manager = Manager(counting([]), server, listen=False, sync_timeout=20)
    task = asyncio.create_task(manager.run())
    await asyncio.sleep(10)
    assert probe(manager, "/readyz")[0] == 500
    assert "Forbidden" in probe(manager, "/readyz/caches")[1]
    with pytest.raises(
        NotSynced, match=r"^app counter cannot begin: not read within 20 s: .*cannot (list|watch) .*Forbidden"
    ):
        await task


@virtual
async def test_a_server_that_cannot_be_reached_ends_the_start() -> None:
    class Away(Server):
        async def send(self, request: Request) -> Response:
            raise Unreachable(f"cannot {request}: connection refused")

    with pytest.raises(Unreachable, match="connection refused"):
        await Manager(counting([]), Away(), listen=False).run()


@virtual
async def test_other_parts_run_beside_and_have_what_the_process_has() -> None:
    server, told = Server(), list[str]()
    manager = Manager(counting([]), server, listen=False)

    async def page(ready: Callable[[], None], stop: Any) -> None:
        told.append(f"{len(manager.controllers)} apps, {len(manager.informers.watches)} watches")
        ready()
        await stop.wait()
        told.append("stopped")

    manager.add(Phase.OTHERS, Part("page", page))
    with pytest.raises(TrimtabError, match="does not run yet"):
        manager.client  # noqa: B018
    async with running(manager):
        await asyncio.sleep(1)
    assert told == ["1 apps, 1 watches", "stopped"]
    with pytest.raises(TrimtabError, match="this manager ran already"):
        await manager.run()


@virtual
async def test_workers_and_options_are_those_of_the_run() -> None:
    server, seen = Server(), list[int]()
    for number in range(6):
        server.put(config_map(f"c{number}"))
    app = App("wide")
    size = app.option("size", "How large.", default=1, parse=int)
    busy = [0, 0]

    @app.controller(ConfigMap)
    async def wide(obj: ConfigMap, ctx: Context) -> None:
        busy[0] += 1
        busy[1] = max(busy)
        seen.append(ctx.option(size))
        await asyncio.sleep(1)
        busy[0] -= 1

    async with running(Manager(app, server, listen=False, workers={"wide": 3}, options=Options({size: 7}))):
        await asyncio.sleep(5)
    assert (busy[1], seen) == (3, [7] * 6)
    assert app.controllers["wide"].workers == 1  # what was declared stays
    with pytest.raises(TrimtabError, match=r"^there is no controller tall to give workers to: there are wide$"):
        Manager(app, server, workers={"tall": 2})


def test_apps_that_cannot_run_together_are_one_line() -> None:
    with pytest.raises(TrimtabError, match="there is no app to run"):
        Manager([])
    with pytest.raises(TrimtabError, match="two apps are called x"):
        Manager([App("x"), App("x")])


async def test_where_the_usual_port_is_taken_it_is_any_and_that_is_said(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "trimtab.manager")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        usual = Address("127.0.0.1", taken.getsockname()[1])
        monkeypatch.setattr("trimtab.manager.manager.LISTEN", usual)
        manager, stopping = Manager(counting([]), Server()), asyncio.Event()
        manager.add(Phase.HEALTH, Part("end", partial(_end_at_once, stopping)))
        await manager.run(stopping)
    assert f"{usual} cannot be had (address already in use): taking any free port" in caplog.messages


async def _end_at_once(stopping: asyncio.Event, ready: Callable[[], None], stop: Stop) -> None:
    ready()
    stopping.set()
    await stop.wait()
