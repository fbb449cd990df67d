"""Who is at the other end, if it is no API server, or not the one that is meant: one line says so."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from trimtab.client import (
    Broken,
    Client,
    Config,
    ConfigError,
    NotKubernetes,
    Retry,
    TransportError,
    Unreachable,
    Untrusted,
)
from trimtab.client.config.tls import TLS
from trimtab.client.failures import broken
from trimtab.client.request import Request
from trimtab.errors import TrimtabError
from trimtab.kube.core.v1 import ConfigMap
from trimtab.pki import CertificateAuthority
from trimtab.testing.loopback import free_ports

QUICK = Retry(attempts=3, first=0.001)


class Stranger:
    """Says the same to everybody, and hangs up."""

    def __init__(self, said: bytes) -> None:
        self.said = said
        self.asked = 0
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if await reader.read(1 << 16):
            self.asked += 1
            writer.write(self.said)
        writer.close()


@asynccontextmanager
async def replying(said: bytes, tls: ssl.SSLContext | None = None) -> AsyncIterator[Stranger]:
    stranger = Stranger(said)
    async with await asyncio.start_server(stranger.serve, "127.0.0.1", 0, ssl=tls) as server:
        stranger.url = f"http{'s' if tls else ''}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield stranger


def answer(body: bytes, status: str = "200 OK", *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


async def failing(server: str, **options: Any) -> TrimtabError:
    async with Client(Config(server=server, source="the test", **options), retry=QUICK, timeout=20) as client:
        with pytest.raises(TrimtabError) as caught:
            await client.version()
    assert len(str(caught.value).splitlines()) == 1
    return caught.value


async def test_nobody_listens() -> None:
    url = f"http://127.0.0.1:{free_ports(1)[0]}"
    error = await failing(url)
    assert type(error) is Unreachable
    assert str(error) == (f"cannot get /version: {url}: connection refused (from the test): is the cluster running?")


async def test_no_such_host(monkeypatch: pytest.MonkeyPatch) -> None:
    async def unknown(*_: Any, **__: Any) -> Any:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", unknown)
    error = await failing("https://no-such-host.invalid")
    assert type(error) is Unreachable
    assert str(error) == "cannot get /version: https://no-such-host.invalid: no such host (from the test)"


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (answer(b"<html>\n<h1>Welcome</h1></html>"), "what answered is no Kubernetes API server"),
        (
            answer(b"<html>\n<h1>Lost</h1></html>", "404 Not Found"),
            "what answered is no Kubernetes API server (404): <h",
        ),
        (answer(b'{"status":"up"}'), "it gives no version"),
        (
            answer(b"", "302 Found", "Location: https://login.example/"),
            "what answered is no Kubernetes API server (302)",
        ),
    ],
)
async def test_a_web_server_of_another_kind(said: bytes, words: str) -> None:
    async with replying(said) as server:
        error = await failing(server.url)
    assert type(error) is NotKubernetes
    assert words in str(error)
    assert server.asked == 1  # nor was the redirection followed


async def test_json_without_a_kind_is_no_object() -> None:
    async with replying(answer(b'{"message":"hello"}')) as server, Client(Config(server=server.url)) as client:
        with pytest.raises(NotKubernetes, match="it has no kind"):
            await client.get(ConfigMap, "a")
        with pytest.raises(NotKubernetes):
            await client.list(ConfigMap)


async def test_a_server_that_speaks_something_else() -> None:
    async with replying(b"SSH-2.0-OpenSSH_9.9\r\n\r\n") as server:
        error = await failing(server.url)
    assert type(error) is Broken
    assert "the answer is no HTTP" in str(error)


async def test_https_to_a_port_of_http() -> None:
    async with replying(answer(b"", "400 Bad Request")) as server:
        error = await failing(server.url.replace("http:", "https:"))
    assert type(error) is Untrusted
    assert "the TLS handshake failed" in str(error)
    assert "is this the https port, and the test right?" in str(error)


@pytest.mark.parametrize("url", ["http://", "nonsense", "ftp://127.0.0.1", "http://127.0.0.1:99999"])
def test_what_is_no_url(url: str) -> None:
    with pytest.raises(ConfigError, match="not an http"):
        Config(server=url)


async def test_a_wrong_authority(tmp_path: Path) -> None:
    ours, theirs = CertificateAuthority.create(), CertificateAuthority.create()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*ours.issue_server("127.0.0.1").write(tmp_path, "server"))
    version = answer(b'{"gitVersion":"v1.36.3"}')
    async with replying(version, tls=context) as server:
        async with Client(Config(server=server.url, tls=TLS(ca=ours.certificate))) as client:
            assert (await client.version()).git_version == "v1.36.3"
        error = await failing(server.url, tls=TLS(ca=theirs.certificate))
        assert type(error) is Untrusted
        assert "its certificate is not trusted (" in str(error)
        assert "look at the certificate authority in the test" in str(error)
        error = await failing(server.url, tls=TLS(ca=ours.certificate, server_name="other.example"))
        assert type(error) is Untrusted
        assert "other.example" in str(error)
        async with Client(Config(server=server.url, tls=TLS(insecure=True))) as client:
            assert (await client.version()).git_version == "v1.36.3"


@pytest.mark.parametrize(
    ("text", "kind"),
    [("TLSV13_ALERT_CERTIFICATE_REQUIRED", Untrusted), ("DECRYPTION_FAILED_OR_BAD_RECORD_MAC", Broken)],
)
def test_only_what_the_server_says_of_trust_is_for_good(text: str, kind: type[TransportError]) -> None:
    error = ssl.SSLError(1, f"[SSL: {text}] as OpenSSL puts it")
    error.reason = text
    assert type(broken(Request("get", "GET", "/x", "/x"), Config(server="https://a"), error)) is kind
