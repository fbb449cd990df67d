"""What hangs below a Pod: bindings, evictions, parts that are written apart, and what its node tells."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.apiserver.test_custom_resources import Asking

from trimtab.apiserver.messages import Request, Streaming
from trimtab.apiserver.server import ADMIN, Server
from trimtab.apiserver.subresources.logs import Line

Json = dict[str, Any]
PODS = "/api/v1/namespaces/default/pods"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
MERGE = {"content_type": "application/merge-patch+json"}
STRATEGIC = {"content_type": "application/strategic-merge-patch+json"}
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.fixture
def ask() -> Asking:
    return Asking(Server())


def pod(name: str, **spec: Any) -> Json:
    labels = {"app": "a"}
    return {"metadata": {"name": name, "labels": labels}, "spec": {"containers": [{"name": "m", "image": "i"}], **spec}}


async def running(ask: Asking, name: str, *, ready: bool = True) -> None:
    assert (await ask("POST", PODS, pod(name, nodeName="n")))["code"] == 201
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    await ask("PATCH", f"{PODS}/{name}/status", {"status": {"phase": "Running", "conditions": conditions}}, **MERGE)


async def evict(ask: Asking, name: str, **more: Any) -> Json:
    return await ask("POST", f"{PODS}/{name}/eviction", {"metadata": {"name": name}, **more})


async def budget(ask: Asking, **status: int) -> None:
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}}
    await ask("POST", BUDGETS, {"metadata": {"name": "p"}, "spec": spec})
    await ask("PATCH", f"{BUDGETS}/p/status", {"status": {"observedGeneration": 1, **status}}, **MERGE)


@pytest.mark.parametrize("path", [f"{PODS}/a/binding", "/api/v1/namespaces/default/bindings"])
async def test_of_two_who_bind_a_pod_one_wins(ask: Asking, path: str) -> None:
    await ask("POST", PODS, pod("a"))

    def binding(node: str) -> Json:
        metadata = {"name": "a", "annotations": {"by": node}}
        return {"metadata": metadata, "target": {"kind": "Node", "name": node}}

    codes = [(await ask("POST", path, binding(node)))["code"] for node in ("n1", "n2")]
    assert codes == [201, 409]
    bound = await ask("GET", f"{PODS}/a")
    assert (bound["spec"]["nodeName"], bound["metadata"]["annotations"]) == ("n1", {"by": "n1"})
    assert bound["status"]["conditions"][0]["type"] == "PodScheduled"
    assert (await ask("POST", f"{PODS}/no/binding", {**binding("n"), "metadata": {"name": "no"}}))["code"] == 404


async def test_a_budget_lets_as_many_go_as_it_allows(ask: Asking) -> None:
    for name in ("a", "b"):
        await running(ask, name)
    await budget(ask, disruptionsAllowed=1, currentHealthy=2, desiredHealthy=1, expectedPods=2)
    assert (await evict(ask, "a", deleteOptions={"dryRun": ["All"]}))["code"] == 201
    assert (await evict(ask, "a"))["code"] == 201
    going = await ask("GET", f"{PODS}/a")
    assert going["metadata"]["deletionGracePeriodSeconds"] == 30
    assert going["status"]["conditions"][-1]["reason"] == "EvictionByEvictionAPI"
    status = (await ask("GET", f"{BUDGETS}/p"))["status"]
    assert (status["disruptionsAllowed"], list(status["disruptedPods"])) == (0, ["a"])
    refused = await evict(ask, "b")
    assert (refused["code"], refused["details"]["causes"][0]["reason"]) == (429, "DisruptionBudget")
    assert "retryAfterSeconds" not in refused["details"]
    assert (await evict(ask, "a"))["code"] == 201  # it goes already: nobody counts on it


async def test_a_budget_that_lags_behind_says_when_to_come_again(ask: Asking) -> None:
    await running(ask, "a")
    await budget(ask, disruptionsAllowed=1, observedGeneration=0)
    refused = await evict(ask, "a")
    assert (refused["code"], refused["headers"]["Retry-After"]) == (429, "10")


async def test_a_pod_that_is_not_ready_goes_where_enough_others_are(ask: Asking) -> None:
    await running(ask, "a", ready=False)
    await budget(ask, disruptionsAllowed=0, currentHealthy=1, desiredHealthy=1)
    assert (await evict(ask, "a"))["code"] == 201
    assert (await ask("GET", f"{BUDGETS}/p"))["status"].get("disruptedPods") is None


async def test_two_budgets_are_one_too_many(ask: Asking) -> None:
    await running(ask, "a")
    for name in ("p", "q"):
        spec = {"minAvailable": 0, "selector": {}}
        await ask("POST", BUDGETS, {"metadata": {"name": name}, "spec": spec})
    assert "more than one PodDisruptionBudget" in (await evict(ask, "a"))["message"]
    assert "deletionTimestamp" not in (await ask("GET", f"{PODS}/a"))["metadata"]


async def test_debugging_containers_come_and_stay(ask: Asking) -> None:
    await ask("POST", PODS, pod("a"))
    path = f"{PODS}/a/ephemeralcontainers"
    added = {
        "spec": {"ephemeralContainers": [{"name": "d", "image": "i"}], "nodeName": "no"},
        "metadata": {"labels": {}},
    }
    made = await ask("PATCH", path, added, **STRATEGIC)
    assert (made["code"], made["metadata"]["generation"], made["metadata"]["labels"]) == (200, 2, {"app": "a"})
    assert [each["name"] for each in made["spec"]["ephemeralContainers"]] == ["d"]
    assert "nodeName" not in made["spec"]
    for change in ([], [{"name": "d", "image": "other"}]):
        assert (await ask("PATCH", path, {"spec": {"ephemeralContainers": change}}, **MERGE))["code"] == 422


async def test_a_container_gets_more_and_is_treated_as_before(ask: Asking) -> None:
    resources = {"requests": {"cpu": "100m"}}
    await ask("POST", PODS, pod("a", containers=[{"name": "m", "image": "i", "resources": resources}]))

    async def resize(**requests: str) -> Json:
        container = {"name": "m", "image": "other", "resources": {"requests": requests}}
        return await ask("PATCH", f"{PODS}/a/resize", {"spec": {"containers": [container]}}, **STRATEGIC)

    made = await resize(cpu="200m")
    assert made["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "200m"}
    assert (made["spec"]["containers"][0]["image"], made["metadata"]["generation"]) == ("i", 2)
    assert "only cpu and memory" in (await resize(cpu="200m", **{"ephemeral-storage": "1Gi"}))["message"]
    gone = {"spec": {"containers": [{"name": "m", "image": "i", "resources": {}}]}}
    assert (await ask("PATCH", f"{PODS}/a/resize", gone, **MERGE))["code"] == 422


class Said:
    """A log to which a test adds."""

    def __init__(self, *lines: Line) -> None:
        self.lines = list(lines)
        self.ended = False
        self.listeners: set[Callable[[], None]] = set()

    def say(self, line: Line | None) -> None:
        if line is None:
            self.ended = True
        else:
            self.lines.append(line)
        for told in list(self.listeners):
            told()


class OneNode:
    def __init__(self, log: Said) -> None:
        self._log = log

    def log(self, pod: Json, container: str, *, previous: bool) -> Said | None:
        assert (pod["metadata"]["name"], container) == ("a", "m")
        return None if previous else self._log


LINES = tuple(Line(NOON + timedelta(seconds=number), b"line %d" % number) for number in range(5))


async def logged(server: Server, query: str = "") -> str:
    answer = await server.handle(Request("GET", f"{PODS}/a/log", query, {}, b"", ADMIN))
    assert isinstance(answer, Streaming), answer
    body = b""
    while piece := await answer.source.read():
        body += piece
    return body.decode()


@pytest.fixture
async def noded() -> Server:
    server = Server(nodes=OneNode(Said(*LINES)))
    ask = Asking(server)
    await ask("POST", "/api/v1/nodes", {"metadata": {"name": "n"}})
    addresses = {"status": {"addresses": [{"type": "InternalIP", "address": "10.1.1.1"}]}}
    await ask("PATCH", "/api/v1/nodes/n/status", addresses, **MERGE)
    await ask("POST", PODS, pod("a", nodeName="n"))
    return server


async def test_a_log_is_cut_as_it_is_asked_for(noded: Server) -> None:
    assert await logged(noded) == "".join(f"line {number}\n" for number in range(5))
    assert await logged(noded, "tailLines=2") == "line 3\nline 4\n"
    assert await logged(noded, "tailLines=0") == ""
    assert await logged(noded, "limitBytes=9") == "line 0\nli"
    assert await logged(noded, "sinceTime=2026-01-01T12:00:03Z") == "line 3\nline 4\n"
    assert (await logged(noded, "tailLines=1&timestamps=true")).startswith("2026-01-01T12:00:04.000000000Z line 4")
    ask = Asking(noded)
    assert (await ask("GET", f"{PODS}/a/log?tailLines=-1"))["reason"] == "Invalid"
    assert "previous terminated container" in (await ask("GET", f"{PODS}/a/log?previous=true"))["message"]
    assert "is not valid for pod a" in (await ask("GET", f"{PODS}/a/log?container=x"))["message"]


async def test_a_log_that_is_followed_goes_on_until_its_container_ends(noded: Server) -> None:
    said = Said(*LINES)
    server = Server(noded.store, nodes=OneNode(said))
    following = asyncio.create_task(logged(server, "follow=true&tailLines=1"))
    for _ in range(10):
        await asyncio.sleep(0)
    assert said.listeners
    said.say(Line(NOON, b"more"))
    said.say(None)
    assert await asyncio.wait_for(following, 5) == "line 4\nmore\n"
    assert not said.listeners


async def test_without_nodes_nobody_answers() -> None:
    ask = Asking(Server())
    await ask("POST", PODS, pod("a"))
    assert (await ask("GET", f"{PODS}/a/log"))["code"] == 204
    await ask("POST", PODS, pod("b", nodeName="n"))
    assert (await ask("GET", f"{PODS}/b/log"))["message"] == 'pods "n" not found'
    await ask("POST", "/api/v1/nodes", {"metadata": {"name": "n"}})
    assert (await ask("GET", f"{PODS}/b/exec?command=ls"))["code"] == 500
    addresses = {"status": {"addresses": [{"type": "Hostname", "address": "n"}]}}
    await ask("PATCH", "/api/v1/nodes/n/status", addresses, **MERGE)
    assert "dial tcp n:10250: connect: connection refused" in (await ask("GET", f"{PODS}/b/log"))["message"]
