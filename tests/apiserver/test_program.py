"""The program, as kubectl and our own client meet it: in a process, over HTTPS."""

from __future__ import annotations

import asyncio
import json
import resource
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.apiserver.killing import killing
from tests.apiserver.running import program

from trimtab.cache import Informers
from trimtab.client import ApiError
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


@dataclass(frozen=True)
class Full:
    """A disk that has no room for more, as a program sees it: no file of its may grow."""

    process: int

    def __enter__(self) -> None:
        resource.prlimit(self.process, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))

    def __exit__(self, *_: object) -> None:
        resource.prlimit(self.process, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


async def test_a_full_disk_ends_writes_and_nothing_else(tmp_path: Path) -> None:
    def config(name: str) -> ConfigMap:
        return ConfigMap(metadata=ObjectMeta(name=name), data={"text": "x" * 10_000})

    async with program(tmp_path, "--data-dir", str(tmp_path / "data")) as server:
        async with server.client() as client:
            await client.create(config("before"))
            with Full(server.process.pid):
                for number in range(3):
                    with pytest.raises(ApiError, match="cannot store revision") as caught:
                        await client.create(config(f"full{number}"))
                    assert (caught.value.code, caught.value.reason) == (503, "ServiceUnavailable")
                assert [each.metadata.name for each in await client.list(ConfigMap)] == ["before"]
            await client.create(config("after"))
        await server.kill()
    async with program(tmp_path, "--data-dir", str(tmp_path / "data")) as server, server.client() as client:
        assert [each.metadata.name for each in await client.list(ConfigMap)] == ["after", "before"]


@pytest.mark.parametrize("where", ["a file/data", "a file"])
async def test_a_folder_that_cannot_be_written_is_told_in_one_line(tmp_path: Path, where: str) -> None:
    (tmp_path / "a file").write_text("x")
    command = ("-m", "trimtab.apiserver", "--kubeconfig", tmp_path / "kubeconfig", "--data-dir", tmp_path / where)
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(sys.executable, *command, stdout=pipe, stderr=pipe)
    out, err = await asyncio.wait_for(process.communicate(), 30)
    assert (process.returncode, out, err.count(b"\n")) == (1, b"", 1)
    assert b"a file" in err


async def test_what_was_acknowledged_survives_kills(tmp_path: Path) -> None:
    outcome = await killing.run(tmp_path, 30, seed=1)
    assert outcome.kills == 30
    assert outcome.acknowledged > 100
    assert outcome.compared > 200
    assert not outcome.lost, outcome.lost
