"""The program, as kubectl and our own client meet it: in a process, over HTTPS."""

from __future__ import annotations

import asyncio
import json
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.apiserver.running import Program, program

from trimtab.cache import Informers
from trimtab.client import TransportError
from trimtab.kube.core.v1 import ConfigMap
from trimtab.kube.meta.v1 import ObjectMeta

needs_kubectl = pytest.mark.skipif(not shutil.which("kubectl"), reason="kubectl is not on PATH")


@needs_kubectl
async def test_kubectl_needs_no_flag(tmp_path: Path) -> None:
    async with program(tmp_path) as server:
        kubectl = server.kubectl
        assert "configmap/a created" in await kubectl("create", "configmap", "a", "--from-literal=k=v")
        assert "already exists" in await kubectl("create", "configmap", "a", fails=True)
        assert "a      1" in await kubectl("get", "configmaps")
        assert await kubectl("get", "cm", "a", "-o", "jsonpath={.data.k}") == "v"
        assert "labeled" in await kubectl("label", "cm", "a", "team=x")
        assert "a " in await kubectl("get", "cm", "-l", "team=x")
        assert "patched" in await kubectl("patch", "cm", "a", "-p", '{"data":{"z":"1"}}')
        assert "condition met" in await kubectl("wait", "--for=jsonpath={.data.z}=1", "cm/a", "--timeout=10s")
        assert "map[string]string" in await kubectl("explain", "configmap.data")
        assert "deployments   deploy" in " ".join((await kubectl("api-resources")).split()).replace(" ", "   ")
        assert 'configmap "a" deleted' in await kubectl("delete", "cm", "a")
        assert "not found" in await kubectl("get", "cm", "a", fails=True)


@needs_kubectl
async def test_kubectl_applies(tmp_path: Path) -> None:
    async with program(tmp_path) as server:
        kubectl = server.kubectl
        made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}}
        assert "created" in await kubectl("apply", "-f", "-", stdin=json.dumps(made))
        assert "unchanged" in await kubectl("apply", "-f", "-", stdin=json.dumps(made))
        made["data"] = {"l": "w"}
        assert "configured" in await kubectl("apply", "-f", "-", stdin=json.dumps(made))
        assert await kubectl("get", "cm", "a", "-o", "jsonpath={.data}") == '{"l":"w"}'
        other = {**made, "data": {"l": "x"}}
        ours = ("apply", "--server-side", "--field-manager=ours", "-f", "-")
        assert 'conflict with "kubectl-client-side-apply"' in await kubectl(*ours, stdin=json.dumps(other), fails=True)
        assert "serverside-applied" in await kubectl(*ours, "--force-conflicts", stdin=json.dumps(other))
        misspelt = {**made, "dta": {}}
        assert 'unknown field "dta"' in await kubectl("apply", "-f", "-", stdin=json.dumps(misspelt), fails=True)


@needs_kubectl
async def test_kubectl_speaks_protobuf(tmp_path: Path) -> None:
    """Imperative commands send it: every field that it has must arrive, inlined structs and zeros among them."""
    async with program(tmp_path) as server:
        kubectl = server.kubectl
        await kubectl("create", "deployment", "web", "--image=nginx", "--replicas=0", "--port=80")
        spec = json.loads(await kubectl("get", "deployment", "web", "-o", "json"))["spec"]
        (container,) = spec["template"]["spec"]["containers"]
        assert (spec["replicas"], spec["selector"]) == (0, {"matchLabels": {"app": "web"}})
        assert (container["image"], container["ports"]) == ("nginx", [{"containerPort": 80, "protocol": "TCP"}])
        await kubectl("create", "quota", "q", "--hard=cpu=1,memory=1Gi")
        quota = json.loads(await kubectl("get", "resourcequota", "q", "-o", "json"))
        assert quota["spec"]["hard"] == {"cpu": "1", "memory": "1Gi"}
        await kubectl("create", "ingress", "i", "--rule=a.example/path*=svc:http")
        ingress = json.loads(await kubectl("get", "ingress", "i", "-o", "json"))
        (rule,) = ingress["spec"]["rules"]
        assert rule["http"]["paths"][0]["backend"] == {"service": {"name": "svc", "port": {"name": "http"}}}
        await kubectl("create", "secret", "generic", "s", "--from-literal=a=ü")
        secret = json.loads(await kubectl("get", "secret", "s", "-o", "json"))
        assert (secret["data"], secret["type"]) == ({"a": "w7w="}, "Opaque")
        await kubectl("create", "job", "j", "--image=busybox", "--", "true")
        job = json.loads(await kubectl("get", "job", "j", "-o", "json"))
        assert job["spec"]["template"]["spec"]["containers"][0]["command"] == ["true"]


async def test_our_client_and_informers_over_https(tmp_path: Path) -> None:
    async with program(tmp_path) as server, server.client() as client, Informers(client) as informers:
        informer = informers.informer(ConfigMap)
        await informers.synced(30)
        seen: asyncio.Queue[str] = asyncio.Queue()
        informer.add_handler(on_add=lambda obj, _: seen.put_nowait(obj.metadata.name))
        names = {f"a{n}" for n in range(50)}
        await asyncio.gather(*(client.create(ConfigMap(metadata=ObjectMeta(name=name))) for name in names))
        async with asyncio.timeout(30):
            assert {await seen.get() for _ in names} == names


@dataclass
class Writer:
    """Creates and changes objects until the server is gone, and notes what it said it has kept."""

    acknowledged: dict[str, str]
    enough: asyncio.Event

    async def write(self, server: Program, number: int) -> None:
        async with server.client() as client:
            with suppress(TransportError):
                for count in range(10_000):
                    made = ConfigMap(
                        metadata=ObjectMeta(name=f"w{number}-{count % 20}"), data={"at": f"{number}-{count}"}
                    )
                    made = await client.apply(made, force=True)
                    self.acknowledged[made.metadata.name] = made.metadata.resource_version
                    if count == 40 + 7 * number:
                        self.enough.set()


async def test_what_was_acknowledged_survives_kills(tmp_path: Path) -> None:
    acknowledged: dict[str, str] = {}
    for _ in range(5):
        async with program(tmp_path, "--data-dir", str(tmp_path / "data")) as server:
            async with server.client() as client:
                there = {each.metadata.name: each.metadata.resource_version for each in await client.list(ConfigMap)}
            assert not [name for name, version in acknowledged.items() if int(there.get(name, "0")) < int(version)]
            writer = Writer(acknowledged, asyncio.Event())
            writing = [asyncio.create_task(writer.write(server, number)) for number in range(4)]
            async with asyncio.timeout(30):
                await writer.enough.wait()
            await server.kill()
            await asyncio.gather(*writing)
