"""Scale, eviction, tokens, logs, and who may do what, against a real API server."""

# ruff: noqa: ASYNC110 - nothing tells when the server has come to know

import asyncio
import dataclasses
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from trimtab.client import (
    BadRequest,
    Client,
    Config,
    Forbidden,
    Impersonate,
    InternalError,
    MergePatch,
    NotFound,
    Retry,
    TooManyRequests,
    load_config,
)
from trimtab.client.config.credentials import Fixed, Proof, bearer
from trimtab.errors import TrimtabError
from trimtab.kube.apps.v1 import Deployment
from trimtab.kube.authentication.v1 import BoundObjectReference
from trimtab.kube.core.v1 import ConfigMap, Node, Pod, Secret, ServiceAccount
from trimtab.kube.dynamic import dynamic
from trimtab.kube.meta.v1 import ObjectMeta
from trimtab.kube.policy.v1 import Eviction, PodDisruptionBudget
from trimtab.kube.rbac.v1 import ClusterRole
from trimtab.kube.wire import from_wire
from trimtab.testing.control_plane import ControlPlane


@pytest.fixture
def config(control_plane: ControlPlane) -> Config:
    return load_config(control_plane.kubeconfig())


def pod(name: str, node: str = "", **labels: str) -> Pod:
    spec: dict[str, Any] = {"containers": [{"name": "c", "image": "nginx:1"}]}
    if node:
        spec["nodeName"] = node
    return from_wire(Pod, {"metadata": {"name": name, "labels": labels}, "spec": spec})


async def test_scale(client: Client) -> None:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "nginx:1"}]}}
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    await client.create(from_wire(Deployment, {"metadata": {"name": "web"}, "spec": spec}))
    scale = await client.get_scale(Deployment, "web")
    assert (scale.spec.replicas, scale.status.replicas, scale.status.selector) == (2, 0, "app=web")
    assert (await client.scale(Deployment, "web", 5)).spec.replicas == 5
    assert (await client.scale(dynamic("apps/v1", "Deployment"), "web", 0)).spec.replicas == 0
    assert (await client.get(Deployment, "web")).spec.replicas == 0
    with pytest.raises(NotFound):
        await client.get_scale(ConfigMap, "web")


async def test_a_disruption_budget_refuses_at_once(config: Config, real_namespace: str) -> None:
    async with Client(config, namespace=real_namespace, retry=Retry(first=30)) as client:
        budget = {"metadata": {"name": "b"}, "spec": {"maxUnavailable": 0, "selector": {"matchLabels": {"app": "web"}}}}
        await client.create(from_wire(PodDisruptionBudget, budget))
        await client.create(pod("web", "nowhere", app="web"))
        await client.create(pod("free", "nowhere"))
        # As the kubelet and the disruption controller would say.
        ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        await client.patch(Pod, "web", MergePatch({"status": ready}), subresource="status")
        counted = {"disruptionsAllowed": 0, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1}
        await client.patch(
            PodDisruptionBudget,
            "b",
            MergePatch({"status": {**counted, "observedGeneration": 1}}),
            subresource="status",
        )
        async with asyncio.timeout(20):  # less than the first wait of a retry
            with pytest.raises(TooManyRequests, match="violate the pod's disruption budget") as refused:
                await client.evict("web")
        assert refused.value.has_cause("DisruptionBudget")
        await client.evict("free", dry_run=True)
        assert (await client.get(Pod, "free")).metadata.deletion_timestamp is None
        await client.evict("free", grace_period_seconds=0)
        with pytest.raises(NotFound):
            await client.get(Pod, "free")
    with pytest.raises(TrimtabError, match="has no address of its own"):
        await client.create(Eviction(metadata=ObjectMeta(name="web")))


async def test_a_token_logs_in(client: Client, config: Config, real_namespace: str) -> None:
    account = await client.create(ServiceAccount(metadata=ObjectMeta(name="robot")))
    holder = await client.create(Secret(metadata=ObjectMeta(name="holder")))
    bound = BoundObjectReference(kind="Secret", api_version="v1", name="holder", uid=holder.metadata.uid)
    token = await client.token("robot", seconds=600, bound_to=bound)
    robot = dataclasses.replace(config, credentials=Fixed(Proof(bearer(token))))
    async with Client(robot, namespace=real_namespace) as other:
        who = await other.whoami()
        assert who.username == f"system:serviceaccount:{real_namespace}:robot"
        assert who.uid == account.metadata.uid
        with pytest.raises(Forbidden, match='cannot list resource "secrets"'):
            await other.list(Secret)
    with pytest.raises(NotFound):
        await client.token("nobody")
    elsewhere = await client.token("robot", audiences=("elsewhere",))
    stranger = dataclasses.replace(config, credentials=Fixed(Proof(bearer(elsewhere))))
    async with Client(stranger) as other:
        with pytest.raises(TrimtabError, match="the credentials are missing, expired or not of this cluster"):
            await other.whoami()


async def test_can(client: Client, control_plane: ControlPlane, real_namespace: str) -> None:
    rbac = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{real_namespace}"
    rules = [
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]},
        {"apiGroups": ["apps"], "resources": ["deployments/scale"], "verbs": ["patch"], "resourceNames": ["web"]},
    ]
    control_plane.request("POST", f"{rbac}/roles", {"metadata": {"name": "reader"}, "rules": rules})
    binding = {
        "metadata": {"name": "bob"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "bob"}],
    }
    control_plane.request("POST", f"{rbac}/rolebindings", binding)
    assert await client.can("delete", Node)
    async with Client(load_config(control_plane.kubeconfig("bob", groups=())), namespace=real_namespace) as bob:
        async with asyncio.timeout(10):
            while not await bob.can("list", ConfigMap, namespace=real_namespace):  # the server's own cache follows
                await asyncio.sleep(0)
        assert not await bob.can("list", ConfigMap)  # in all namespaces
        assert not await bob.can("create", ConfigMap, namespace=real_namespace)
        assert not await bob.can("get", Secret, namespace=real_namespace)
        assert not await bob.can("patch", Deployment, "web", namespace=real_namespace)
        assert await bob.can("patch", Deployment, "web", namespace=real_namespace, subresource="scale")
        assert not await bob.can("patch", Deployment, "db", namespace=real_namespace, subresource="scale")
        assert await bob.list(ConfigMap, namespace=real_namespace) == []
        with pytest.raises(Forbidden) as forbidden:
            await bob.create(ConfigMap(metadata=ObjectMeta(name="a")))
        assert (
            f'User "bob" cannot create resource "configmaps" in API group "" in the namespace "{real_namespace}"'
            in (str(forbidden.value))
        )


async def test_impersonation(config: Config, control_plane: ControlPlane) -> None:
    scopes = {"example.com/Scopes": ("a", "b")}
    as_whom = Impersonate(user="alice", uid="42", groups=("devs", "ops"), extra=scopes)
    async with Client(dataclasses.replace(config, impersonate=as_whom)) as alice:
        who = await alice.whoami()
        assert (who.username, who.uid) == ("alice", "42")
        assert {"devs", "ops"} <= set(who.groups)
        assert who.extra["example.com/scopes"] == ["a", "b"]
        with pytest.raises(Forbidden, match='User "alice" cannot list resource "nodes"'):
            await alice.list(Node)
    bob = load_config(control_plane.kubeconfig("bob", groups=()))
    async with Client(dataclasses.replace(bob, impersonate=Impersonate(user="alice"))) as refused:
        with pytest.raises(Forbidden, match='User "bob" cannot impersonate'):
            await refused.whoami()


async def test_the_server_warns_of_what_is_deprecated(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    kind = dynamic("v1", "ComponentStatus", plural="componentstatuses", namespaced=False)
    for _ in range(2):
        await client.list(kind)
    said = [record.getMessage() for record in caplog.records if record.name == "trimtab.client"]
    assert said == ["the server warns about list componentstatuses: v1 ComponentStatus is deprecated in v1.19+"]


async def test_version(client: Client, control_plane: ControlPlane) -> None:
    version = await client.version()
    assert version.git_version == f"v{control_plane.version}"
    assert (version.major, version.minor) == tuple(control_plane.version.split(".")[:2])


async def test_large_answers_come_compressed_or_not(config: Config, real_namespace: str) -> None:
    """The server compresses what is over 128 KiB; either way the objects are the same."""
    plain = dataclasses.replace(config, compress=False)
    async with Client(config, namespace=real_namespace) as packed, Client(plain, namespace=real_namespace) as unpacked:
        await packed.create(ConfigMap(metadata=ObjectMeta(name="a"), data={"x": "y" * 300_000}))
        assert await packed.get(ConfigMap, "a") == await unpacked.get(ConfigMap, "a")
        assert await packed.list(ClusterRole) == await unpacked.list(ClusterRole)


# Logs: the API server asks the node for them, and this is the node.


class Kubelet:
    """Answers for the containers of one node."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.more = asyncio.Event()
        self.left = asyncio.Event()

    async def logs(self, request: web.Request) -> web.StreamResponse:
        self.asked.append((request.path, dict(request.query)))
        if request.query.get("previous"):
            raise web.HTTPBadRequest(text='previous terminated container "c" not found')
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write("one\ntwö\nth".encode())
        await response.write(b"ree\n\nlast")
        if request.query.get("follow"):
            await self.more.wait()
            await response.write(b" line\nlater\n")
            try:
                await asyncio.Event().wait()  # until the reader is gone
            finally:
                self.left.set()
        return response


@pytest.fixture
async def kubelet(control_plane: ControlPlane, client: Client, tmp_path: Path) -> AsyncIterator[Kubelet]:
    kubelet = Kubelet()
    app = web.Application()
    app.router.add_get("/containerLogs/{namespace}/{pod}/{container}", kubelet.logs)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(*control_plane.authority.issue_server("127.0.0.1").write(tmp_path, "kubelet"))
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
    await site.start()
    port = runner.addresses[0][1]
    name = f"node-of-{client.namespace}"
    status = {
        "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
    }
    await client.create(from_wire(Node, {"metadata": {"name": name}, "status": status}))
    await client.create(pod("web", name))
    yield kubelet
    await client.delete(Node, name)
    await runner.cleanup()


async def test_logs(client: Client, kubelet: Kubelet) -> None:
    async with client.logs("web") as lines:
        assert [line async for line in lines] == ["one", "twö", "three", "", "last"]
    async with client.logs("web", container="c", tail=5, since=60, timestamps=True, limit_bytes=999) as lines:
        assert await anext(lines) == "one"  # and no more
    path = f"/containerLogs/{client.namespace}/web/c"
    asked = {"tailLines": "5", "sinceSeconds": "60", "timestamps": "true", "limitBytes": "999"}
    assert kubelet.asked == [(path, {}), (path, asked)]
    with pytest.raises((BadRequest, InternalError), match="previous terminated container"):
        async with client.logs("web", previous=True):
            pytest.fail("there are none")
    with pytest.raises(BadRequest, match="container x is not valid for pod web"):
        async with client.logs("web", container="x"):
            pytest.fail("there is none")


async def test_a_log_is_followed(client: Client, kubelet: Kubelet) -> None:
    async with client.logs("web", follow=True) as lines:
        assert [await anext(lines) for _ in range(4)] == ["one", "twö", "three", ""]
        kubelet.more.set()
        assert [await anext(lines) for _ in range(2)] == ["last line", "later"]
    async with asyncio.timeout(10):
        await kubelet.left.wait()  # who leaves is noticed at the other end
