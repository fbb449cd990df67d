"""TLS against real servers on loopback, and every way in which certificates and keys can be wrong."""

import asyncio
import json
import shutil
import ssl
import subprocess
import sys
import warnings
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import NameOID

from trimtab.client.config import tls as tls_module
from trimtab.client.config.credentials import Fixed, Proof, Rotating
from trimtab.client.config.errors import ConfigError
from trimtab.client.config.loading import load_config
from trimtab.client.config.tls import TLS, KeyPair

Key = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey | ed25519.Ed25519PrivateKey
NOW = datetime(2026, 1, 1, tzinfo=UTC)
FAR = datetime(2125, 1, 1, tzinfo=UTC)


def pem(key: Key, passphrase: bytes | None = None) -> bytes:
    encryption = BestAvailableEncryption(passphrase) if passphrase else NoEncryption()
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption)


class Authority:
    """A CA such as old clusters have: without key identifiers or key usage unless `modern`."""

    def __init__(self, name: str = "kubernetes", *, modern: bool = False, parent: "Authority | None" = None) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        builder = self.builder(self.name, self.key, FAR, parent).add_extension(x509.BasicConstraints(True, None), True)
        if modern:
            builder = builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(self.key.public_key()), False)
        self.cert = builder.sign((parent or self).key, hashes.SHA256())
        self.pem = self.cert.public_bytes(Encoding.PEM)

    def builder(
        self, name: x509.Name, key: Key, until: datetime, issuer: "Authority | None"
    ) -> x509.CertificateBuilder:
        return x509.CertificateBuilder(
            (issuer or self).name,
            name,
            key.public_key(),
            x509.random_serial_number(),
            NOW - timedelta(days=3650),
            until,
        )

    def issue(self, name: str, *hosts: str, key: Key | None = None, until: datetime = FAR) -> tuple[bytes, bytes]:
        key = key or ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        builder = self.builder(subject, key, until, self)
        if hosts:
            names: list[x509.GeneralName] = [
                x509.IPAddress(ip_address(host)) if host[0].isdigit() else x509.DNSName(host) for host in hosts
            ]
            builder = builder.add_extension(x509.SubjectAlternativeName(names), False)
        return builder.sign(self.key, hashes.SHA256()).public_bytes(Encoding.PEM), pem(key)

    def pair(self, name: str = "ann", key: Key | None = None, until: datetime = FAR) -> KeyPair:
        return KeyPair(*self.issue(name, key=key, until=until), origin="ann's certificate")


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


@asynccontextmanager
async def server(authority: Authority, *hosts: str, old: bool = False) -> AsyncIterator[int]:
    """Tells each client, once it has shown a certificate of `authority` or none, the name in it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate, key = authority.issue("server", *hosts)
    KeyPair(certificate, key).load_into(context)
    context.load_verify_locations(cadata=authority.pem.decode())
    context.verify_mode = ssl.CERT_OPTIONAL
    if old:
        with warnings.catch_warnings(action="ignore"):
            context.minimum_version, context.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
        context.set_ciphers("ALL:@SECLEVEL=0")

    async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        shown = writer.get_extra_info("peercert") or {}
        names = [value for rdn in shown.get("subject", ()) for _, value in rdn]
        writer.write(f"{names[0] if names else 'nobody'} {writer.get_extra_info('ssl_object').version()}".encode())
        writer.close()

    listener = await asyncio.start_server(greet, "127.0.0.1", 0, ssl=context)
    async with listener:
        yield listener.sockets[0].getsockname()[1]


async def greeting(port: int, tls: TLS, pair: KeyPair | None = None) -> str:
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", port, ssl=tls.context(pair), server_hostname=tls.server_name or "127.0.0.1"
    )
    answer = await reader.read()
    writer.close()
    return answer.decode()


async def test_an_old_ca_is_trusted_on_every_python(authority: Authority) -> None:
    """Its certificates lack what VERIFY_X509_STRICT, the default from Python 3.13 on, demands."""
    async with server(authority, "127.0.0.1") as port:
        assert await greeting(port, TLS(ca=authority.pem)) == "nobody TLSv1.3"
    assert not TLS(ca=authority.pem).context().verify_flags & ssl.VERIFY_X509_STRICT


@pytest.mark.parametrize("make", [lambda: ec.generate_private_key(ec.SECP384R1()), ed25519.Ed25519PrivateKey.generate])
async def test_a_client_certificate_is_shown(authority: Authority, make: Callable[[], Key]) -> None:
    async with server(authority, "127.0.0.1") as port:
        assert await greeting(port, TLS(ca=authority.pem), authority.pair(key=make())) == "ann TLSv1.3"


async def test_another_ca_is_refused(authority: Authority) -> None:
    async with server(authority, "127.0.0.1") as port:
        with pytest.raises(ssl.SSLCertVerificationError):
            await greeting(port, TLS(ca=Authority().pem))
        with pytest.raises(ssl.SSLCertVerificationError):
            await greeting(port, TLS())


async def test_insecure_trusts_anybody(authority: Authority) -> None:
    async with server(authority, "elsewhere") as port:
        assert await greeting(port, TLS(insecure=True), authority.pair()) == "ann TLSv1.3"


async def test_the_server_must_have_the_name(authority: Authority) -> None:
    async with server(authority, "kubernetes.default") as port:
        with pytest.raises(ssl.SSLCertVerificationError):
            await greeting(port, TLS(ca=authority.pem))
        assert await greeting(port, TLS(ca=authority.pem, server_name="kubernetes.default"))
    async with server(authority) as port:  # "server" is its common name, which counts for nothing today
        with pytest.raises(ssl.SSLCertVerificationError):
            await greeting(port, TLS(ca=authority.pem, server_name="server"))


async def test_an_intermediate_alone_is_trusted_as_go_trusts_it(authority: Authority) -> None:
    middle = Authority("middle", modern=True, parent=authority)
    async with server(middle, "127.0.0.1") as port:
        assert await greeting(port, TLS(ca=middle.pem))


async def test_a_bundle_with_words_around_its_certificates(authority: Authority) -> None:
    bundle = "# Zürich\n".encode() + Authority("other").pem + b"\r\n# ours\n" + authority.pem * 2
    async with server(authority, "127.0.0.1") as port:
        assert await greeting(port, TLS(ca=bundle))


async def test_nothing_older_than_tls_1_2(authority: Authority) -> None:
    async with server(authority, "127.0.0.1", old=True) as port:
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await greeting(port, TLS(ca=authority.pem))
    assert TLS().context().minimum_version == ssl.TLSVersion.TLSv1_2


def message(made: Callable[[], object]) -> str:
    with pytest.raises(ConfigError) as error:
        made()
    assert "\n" not in str(error.value)
    return str(error.value)


def test_client_certificates_that_cannot_be_used(authority: Authority) -> None:
    certificate, key = authority.issue("ann")
    other = authority.issue("bob")[1]
    rsa_key = pem(rsa.generate_private_key(65537, 2048))
    encrypted = pem(ec.generate_private_key(ec.SECP256R1()), b"passphrase")
    gone = authority.pair(until=datetime(2025, 6, 7, 8, 9, 10, tzinfo=UTC))
    broken = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"

    def check(certificate: bytes, key: bytes) -> str:
        return message(KeyPair(certificate, key, "ann's certificate").check)

    KeyPair(certificate, key).check()
    assert check(certificate, other) == "the key of ann's certificate belongs to another certificate"
    assert check(certificate, rsa_key) == "the key of ann's certificate belongs to another certificate"
    assert check(b"hush", key) == "ann's certificate is not PEM: it has no BEGIN CERTIFICATE line"
    assert check(certificate, b"hush") == "the key of ann's certificate is not PEM: it has no BEGIN PRIVATE KEY line"
    assert check(certificate, encrypted) == (
        "the key of ann's certificate is encrypted, and there is nobody to ask for its passphrase"
    )
    assert message(gone.check) == "ann's certificate expired on 2025-06-07 at 08:09:10 UTC; renew it"
    assert check(broken, key).startswith("ann's certificate cannot be used: ")


@pytest.mark.parametrize("until", [datetime(2049, 12, 31, 23, 59, 59, tzinfo=UTC), datetime(2050, 1, 1, tzinfo=UTC)])
def test_expiry_to_the_second_in_both_forms_of_time(authority: Authority, until: datetime) -> None:
    pair = authority.pair("n" * 60, rsa.generate_private_key(65537, 2048), until)
    pair.check(until - timedelta(seconds=1))
    assert f"expired on {until:%Y-%m-%d at %H:%M:%S}" in message(lambda: pair.check(until))


def test_authorities_that_cannot_be_used(authority: Authority) -> None:
    broken = authority.pem.replace(b"MII", b"AAA", 1)
    assert message(lambda: TLS(ca=b"hush", origin="it")) == "it is not PEM: it has no BEGIN CERTIFICATE line"
    assert message(lambda: TLS(ca=b"", origin="it")) == "it is not PEM: it has no BEGIN CERTIFICATE line"
    assert message(lambda: TLS(ca=broken, origin="it")) == "it has a certificate that cannot be read"
    assert message(lambda: TLS(ca=authority.pem, insecure=True, origin="it")) == (
        "it and insecure-skip-tls-verify exclude each other: remove one"
    )


def test_one_context_until_something_changes(authority: Authority) -> None:
    clock, current = [0.0], [authority.pem]
    tls = TLS(ca=lambda: current[0], clock=lambda: clock[0])
    pair = authority.pair()
    first = tls.context(pair)
    assert tls.context(KeyPair(pair.certificate, pair.key, pair.origin)) is first, "an equal pair is the same"
    second = tls.context(authority.pair())
    assert second is not first
    bare = tls.context()
    assert bare is not second
    clock[0] = 299.9
    current[0] = authority.pem + Authority("next").pem
    assert tls.context() is bare, "five minutes are not over"
    clock[0] = 300
    renewed = tls.context()
    assert renewed is not bare
    assert len(renewed.get_ca_certs()) == 2
    assert tls.ca == current[0]


def test_a_ca_that_breaks_while_we_run_changes_nothing(authority: Authority, caplog: pytest.LogCaptureFixture) -> None:
    clock, current = [0.0], [authority.pem]
    tls = TLS(ca=lambda: current[0], origin="it", clock=lambda: clock[0])
    first = tls.context()
    clock[0], current[0] = 300, b"half writ"
    assert tls.context() is first
    assert caplog.messages == ["it is not PEM: it has no BEGIN CERTIFICATE line; going on with the one read before"]
    assert tls.ca == authority.pem


@pytest.mark.parametrize("in_memory", [True, False])
def test_no_key_stays_on_disk_even_after_an_error(
    authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, in_memory: bool
) -> None:
    monkeypatch.setattr(tls_module.tempfile, "tempdir", str(tmp_path))
    if in_memory:
        if not hasattr(tls_module.os, "memfd_create"):
            pytest.skip("this system has no files in memory")
        monkeypatch.setattr(tls_module.tempfile, "tempdir", "/nonexistent")  # as on a read-only file system
    else:
        monkeypatch.delattr(tls_module.os, "memfd_create", raising=False)
    descriptors = len(list(Path("/dev/fd").iterdir()))
    good, bad = authority.pair(), KeyPair(authority.pair().certificate, authority.pair().key)
    good.check()
    with pytest.raises(ConfigError):
        bad.check()
    assert len(list(Path("/dev/fd").iterdir())) == descriptors
    assert not list(tmp_path.iterdir())


def test_the_file_lent_to_openssl_is_for_this_user_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tls_module.tempfile, "tempdir", str(tmp_path))
    monkeypatch.delattr(tls_module.os, "memfd_create", raising=False)
    with tls_module._as_file(b"hush") as name:
        path = Path(name)
        assert path.read_bytes() == b"hush"
        assert path.stat().st_mode & 0o777 == 0o600
        assert path.parent.stat().st_mode & 0o777 == 0o700


def test_an_encrypted_key_asks_nobody(authority: Authority) -> None:
    """OpenSSL would open the terminal and wait; without one, and with, the answer must be the error."""
    certificate = authority.issue("ann")[0]
    encrypted = pem(ec.generate_private_key(ec.SECP256R1()), b"passphrase")
    program = f"from trimtab.client.config.tls import KeyPair\nKeyPair({certificate!r}, {encrypted!r}).check()"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60, check=False)
    assert ended.returncode == 1
    assert b"ConfigError: the key of the client certificate is encrypted" in ended.stderr


def test_no_repr_shows_a_key(authority: Authority) -> None:
    pair = authority.pair()
    assert "PRIVATE" not in f"{pair} {TLS(ca=authority.pem)}"


def kubeconfig(folder: Path, authority: Authority, port: int, user: object) -> Path:
    (folder / "ca.pem").write_bytes(authority.pem)
    cluster = {"server": f"https://127.0.0.1:{port}", "certificate-authority": "ca.pem"}
    context = {"name": "c", "context": {"cluster": "k", "user": "u"}}
    path = folder / "config"
    path.write_text(
        json.dumps(
            {
                "current-context": "c",
                "contexts": [context],
                "clusters": [{"name": "k", "cluster": cluster}],
                "users": [{"name": "u", "user": user}],
            }
        )
    )
    return path


async def test_certificate_files_that_rotate(
    authority: Authority, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def lay(name: str, *files: str) -> None:
        for file, content in zip(("cert.pem", "key.pem"), authority.issue(name), strict=True):
            if not files or file in files:
                (tmp_path / file).write_bytes(content)

    lay("ann")
    async with server(authority, "127.0.0.1") as port:
        user = {"client-certificate": "cert.pem", "client-key": "key.pem"}
        config = load_config(kubeconfig(tmp_path, authority, port, user))
        clock = [0.0]
        assert isinstance(config.credentials, Rotating)
        config.credentials._clock = lambda: clock[0]
        config.credentials._due = 50
        before = await config.credentials.proof()
        assert await greeting(port, config.tls, before.certificate) == "ann TLSv1.3"

        lay("torn", "cert.pem")
        clock[0] = 50
        assert await config.credentials.proof() is before
        assert caplog.messages[0].endswith("belongs to another certificate; going on with what was read before")

        lay("bob")
        clock[0] = 100
        after = await config.credentials.proof()
        assert await greeting(port, config.tls, after.certificate) == "bob TLSv1.3"
        assert await config.credentials.rejected(before)


async def test_a_401_is_explained_by_a_certificate_that_has_expired() -> None:
    gone = Authority().pair(until=datetime(2025, 6, 7, 8, 9, 10, tzinfo=UTC))
    with pytest.raises(ConfigError, match=r"^ann's certificate expired on 2025-06-07 at 08:09:10 UTC; renew it$"):
        await Fixed().rejected(Proof(certificate=gone))


async def test_a_plugin_prints_a_certificate(authority: Authority, tmp_path: Path) -> None:
    version = "client.authentication.k8s.io/v1beta1"
    for name in ("ann", "bob"):
        certificate, key = authority.issue(name)
        status = {"clientCertificateData": certificate.decode(), "clientKeyData": key.decode()}
        answer = {"apiVersion": version, "kind": "ExecCredential", "status": status}
        (tmp_path / name).write_text(json.dumps(answer))
    shutil.copy(tmp_path / "ann", tmp_path / "answer")
    plugin = tmp_path / "plugin"
    plugin.write_text('#!/bin/sh\nexec cat "$1"\n')
    plugin.chmod(0o755)
    async with server(authority, "127.0.0.1") as port:
        user = {"exec": {"apiVersion": version, "command": "./plugin", "args": [str(tmp_path / "answer")]}}
        config = load_config(kubeconfig(tmp_path, authority, port, user))
        first = await config.credentials.proof()
        assert await greeting(port, config.tls, first.certificate) == "ann TLSv1.3"
        shutil.copy(tmp_path / "bob", tmp_path / "answer")
        assert await config.credentials.rejected(first)
        second = await config.credentials.proof()
        assert await greeting(port, config.tls, second.certificate) == "bob TLSv1.3"
