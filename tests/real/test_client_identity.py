"""Ways to say who one is, and ways to the server, as kubeconfigs name them: against a real API server."""

# ruff: noqa: ASYNC110 - nothing tells when the server has come to know

import asyncio
import base64
import dataclasses
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from trimtab.client import Client, ConfigError, Retry, Unauthorized, Unreachable, load_config
from trimtab.client.config.credentials import Fixed, Proof
from trimtab.client.config.incluster import in_cluster_config
from trimtab.client.config.tls import KeyPair
from trimtab.kube.core.v1 import ConfigMap, ServiceAccount
from trimtab.kube.meta.v1 import ObjectMeta
from trimtab.testing.control_plane import ControlPlane


class Kubeconfig:
    """A kubeconfig of which a test changes the user or the cluster."""

    def __init__(self, control_plane: ControlPlane, folder: Path) -> None:
        self.content = control_plane.kubeconfig_dict()
        self.path = folder / "kubeconfig"
        self.folder = folder

    def user(self, **user: Any) -> "Kubeconfig":
        self.content["users"][0]["user"] = user
        return self

    def cluster(self, **cluster: Any) -> "Kubeconfig":
        self.content["clusters"][0]["cluster"] |= cluster
        return self

    def client(self, **options: Any) -> Client:
        self.path.write_text(json.dumps(self.content))
        return Client(load_config(self.path), **options)


@pytest.fixture
def kubeconfig(control_plane: ControlPlane, tmp_path: Path) -> Kubeconfig:
    return Kubeconfig(control_plane, tmp_path)


@pytest.fixture
async def admin(control_plane: ControlPlane, real_namespace: str) -> AsyncIterator[Client]:
    async with Client(load_config(control_plane.kubeconfig()), namespace=real_namespace) as client:
        yield client


async def robot_token(admin: Client, name: str) -> str:
    await admin.create(ServiceAccount(metadata=ObjectMeta(name=name)))
    return await admin.token(name, seconds=600)


async def who(client: Client) -> str:
    return (await client.whoami()).username.rpartition(":")[2]


# Client certificates


async def test_a_certificate_in_files(control_plane: ControlPlane, kubeconfig: Kubeconfig) -> None:
    pair = control_plane.authority.issue_client("carol", ["devs"])
    certificate, key = pair.write(kubeconfig.folder, "carol")
    ca = kubeconfig.folder / "ca.crt"
    ca.write_bytes(control_plane.authority.certificate)
    del kubeconfig.content["clusters"][0]["cluster"]["certificate-authority-data"]
    kubeconfig.cluster(**{"certificate-authority": "ca.crt"})  # relative to the kubeconfig
    kubeconfig.user(**{"client-certificate": certificate.name, "client-key": str(key)})
    async with kubeconfig.client() as client:
        found = await client.whoami()
    assert (found.username, set(found.groups) >= {"devs"}) == ("carol", True)


async def test_a_certificate_that_is_renewed_gets_connections_of_its_own(
    control_plane: ControlPlane,
) -> None:
    class Renewed(Fixed):
        def now(self, user: str) -> None:
            pair = control_plane.authority.issue_client(user, [])
            self._proof = Proof(certificate=KeyPair(pair.certificate, pair.key, user))

    credentials = Renewed()
    config = dataclasses.replace(load_config(control_plane.kubeconfig()), credentials=credentials)
    async with Client(config) as client:
        for user in ("old", "new"):
            credentials.now(user)
            assert await who(client) == user


async def test_tls_server_name(kubeconfig: Kubeconfig) -> None:
    async with kubeconfig.cluster(**{"tls-server-name": "localhost"}).client() as client:
        assert await who(client) == "admin"


# Tokens


async def test_a_token(control_plane: ControlPlane, kubeconfig: Kubeconfig) -> None:
    async with kubeconfig.user(token=control_plane.token("token-admin")).client() as client:
        assert await who(client) == "token-admin"
    async with kubeconfig.user(token="nobody-knows-it").client() as client:
        with pytest.raises(Unauthorized) as refused:
            await client.whoami()
    assert "nobody-knows-it" not in str(refused.value)


async def test_a_token_file_is_read_again(admin: Client, kubeconfig: Kubeconfig) -> None:
    file = kubeconfig.folder / "token"
    file.write_text("of-last-week\n")
    async with kubeconfig.user(tokenFile="token").client() as client:
        with pytest.raises(Unauthorized):
            await client.whoami()
        file.write_text(await robot_token(admin, "robot"))
        assert await who(client) == "robot"


# Exec plugins

PLUGIN = """
import json, os, pathlib, sys
folder = pathlib.Path(sys.argv[1])
script = json.loads((folder / "script").read_text())
asked = json.loads(os.environ["KUBERNETES_EXEC_INFO"])
with (folder / "runs").open("a") as runs:
    runs.write(json.dumps(asked["spec"]) + "\\n")
if not script:
    sys.exit("no such\\nsmart card")
(folder / "script").write_text(json.dumps(script[1:]))
print(json.dumps({"apiVersion": asked["apiVersion"], "kind": "ExecCredential", "status": script[0]}))
"""


class Plugin:
    """A program that prints one thing after the other, and counts its runs; then it fails."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "plugin.py").write_text(PLUGIN)

    def says(self, *script: dict[str, str]) -> None:
        (self.folder / "script").write_text(json.dumps(script))

    @property
    def runs(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.folder / "runs").read_text().splitlines()]

    def user(self, version: str = "v1") -> dict[str, Any]:
        return {
            "apiVersion": f"client.authentication.k8s.io/{version}",
            "command": sys.executable,
            "args": ["-I", str(self.folder / "plugin.py"), str(self.folder)],
            "interactiveMode": "Never",
            "provideClusterInfo": True,
        }


@pytest.fixture
def plugin(tmp_path: Path) -> Plugin:
    return Plugin(tmp_path)


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
async def test_a_plugin_is_asked_once_and_again_when_its_token_is_refused(
    admin: Client, kubeconfig: Kubeconfig, plugin: Plugin, version: str
) -> None:
    plugin.says({"token": "of-last-week"}, {"token": await robot_token(admin, "robot")})
    async with kubeconfig.user(exec=plugin.user(version)).client() as client:
        # However many ask at once, they share the first token, its refusal, and the second.
        assert set(await asyncio.gather(*(who(client) for _ in range(5)))) == {"robot"}
        assert await who(client) == "robot"
    assert len(plugin.runs) == 2
    asked = plugin.runs[0]
    assert asked["cluster"]["server"] == kubeconfig.content["clusters"][0]["cluster"]["server"]
    assert asked["interactive"] is False


async def test_a_plugin_is_asked_again_when_its_token_has_expired(
    admin: Client, kubeconfig: Kubeconfig, plugin: Plugin
) -> None:
    first, second = await robot_token(admin, "first"), await robot_token(admin, "second")
    # As the plugin says: the server would take the first one yet.
    plugin.says({"token": first, "expirationTimestamp": "2001-01-01T00:00:00Z"}, {"token": second})
    async with kubeconfig.user(exec=plugin.user()).client() as client:
        assert await who(client) == "first"
        async with asyncio.timeout(20):
            while await who(client) == "first":  # one that has expired at once is good for a second
                await asyncio.sleep(0.05)
        assert len(plugin.runs) == 2


async def test_a_plugin_may_give_a_certificate(
    control_plane: ControlPlane, kubeconfig: Kubeconfig, plugin: Plugin
) -> None:
    pair = control_plane.authority.issue_client("dave", [])
    data = {"clientCertificateData": pair.certificate.decode(), "clientKeyData": pair.key.decode()}
    plugin.says(data)
    async with kubeconfig.user(exec=plugin.user()).client() as client:
        assert await who(client) == "dave"


async def test_a_plugin_that_fails_is_one_line(kubeconfig: Kubeconfig, plugin: Plugin) -> None:
    plugin.says()
    async with kubeconfig.user(exec=plugin.user()).client() as client:
        with pytest.raises(ConfigError, match=r"exec plugin .* failed with exit code 1: no such smart card") as failed:
            await client.whoami()
    assert len(str(failed.value).splitlines()) == 1


# Proxies


class ConnectProxy:
    """An HTTP proxy that does CONNECT, for those who know its password."""

    def __init__(self, password: str = "") -> None:
        self.expected = f"Basic {base64.b64encode(password.encode()).decode()}" if password else ""
        self.asked: list[str] = []
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            method, place, _ = head.split("\r\n")[0].split()
            self.asked.append(f"{method} {place}")
            if self.expected and f"Proxy-Authorization: {self.expected}" not in head:
                writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
                return
            host, port = place.split(":")
            there, back = await asyncio.open_connection(host, int(port))
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            await asyncio.gather(self._pass(reader, back), self._pass(there, writer))
        except (asyncio.IncompleteReadError, ConnectionError):
            self.asked.append("and was left")
        finally:
            writer.close()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
        writer.close()


@pytest.fixture
async def proxy() -> AsyncIterator[ConnectProxy]:
    proxy = ConnectProxy("me:pass word")
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    proxy.url = f"http://me:pass%20word@127.0.0.1:{server.sockets[0].getsockname()[1]}"
    yield proxy
    server.close()


async def test_through_a_proxy(kubeconfig: Kubeconfig, proxy: ConnectProxy, real_namespace: str) -> None:
    async with kubeconfig.cluster(**{"proxy-url": proxy.url}).client(namespace=real_namespace) as client:
        assert await who(client) == "admin"  # the certificate got there: the tunnel is ours from end to end
        made = await client.create(ConfigMap(metadata=ObjectMeta(name="a")))
        async with client.watch(ConfigMap, namespace=real_namespace) as events:
            assert (await anext(events)).object == made
        await client.delete(made)
    server = kubeconfig.content["clusters"][0]["cluster"]["server"].removeprefix("https://")
    assert [asked for asked in proxy.asked if asked != "and was left"] == [f"CONNECT {server}"] * 2


async def test_a_proxy_that_refuses_or_is_not_there(kubeconfig: Kubeconfig, proxy: ConnectProxy) -> None:
    wrong = proxy.url.replace("pass%20word", "wrong")
    retry = Retry(attempts=1)
    async with kubeconfig.cluster(**{"proxy-url": wrong}).client(retry=retry) as client:
        with pytest.raises(Unreachable, match=r"the proxy refuses to connect .407 Proxy Authentication Required"):
            await client.whoami()
    async with kubeconfig.cluster(**{"proxy-url": "http://me:secret@127.0.0.1:1"}).client(retry=retry) as client:
        with pytest.raises(Unreachable, match=r"the proxy 127.0.0.1:1 does not answer .connection refused") as error:
            await client.whoami()
    assert "secret" not in str(error.value)


# Inside of a cluster


async def test_in_cluster(admin: Client, control_plane: ControlPlane, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(await robot_token(admin, "robot"))
    (tmp_path / "ca.crt").write_bytes(control_plane.authority.certificate)
    (tmp_path / "namespace").write_text(admin.namespace)
    config = in_cluster_config(
        {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": control_plane.url.rpartition(":")[2]},
        tmp_path,
    )
    async with Client(config) as client:
        assert client.namespace == admin.namespace
        assert await who(client) == "robot"
