"""The certificates, tried the way they are used: in TLS handshakes, here between two ends in memory."""

import ssl
import stat
from datetime import timedelta
from pathlib import Path

import pytest

from trimtab.pki import CertificateAuthority, Issued

EXPIRED = timedelta(days=-1)


@pytest.fixture(scope="module")
def authority() -> CertificateAuthority:
    return CertificateAuthority.create("ours")


def end_of(authority: CertificateAuthority, pair: Issued, protocol: int, folder: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(protocol)
    context.load_verify_locations(cadata=authority.certificate.decode())
    context.load_cert_chain(*pair.write(folder, f"end-{protocol}"))
    context.verify_mode = ssl.CERT_REQUIRED
    context.verify_flags |= ssl.VERIFY_X509_STRICT  # what newer Pythons do by default
    return context


def shake_hands(server: ssl.SSLContext, client: ssl.SSLContext, host: str) -> ssl.SSLObject:
    """Carry bytes between both ends until both are content, and return the server's."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    serving = server.wrap_bio(to_server, to_client, server_side=True)
    calling = client.wrap_bio(to_client, to_server, server_hostname=host)
    waiting = [calling, serving]
    for _ in range(10):
        for end in list(waiting):
            try:
                end.do_handshake()
                waiting.remove(end)
            except ssl.SSLWantReadError:
                continue
        if not waiting:
            return serving
    raise AssertionError("the handshake does not end")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1"])
def test_each_side_knows_the_other(authority: CertificateAuthority, host: str, tmp_path: Path) -> None:
    server = end_of(
        authority, authority.issue_server("127.0.0.1", "localhost", "::1"), ssl.PROTOCOL_TLS_SERVER, tmp_path
    )
    jane = authority.issue_client("jane", ["devs", "ops"])
    serving = shake_hands(server, end_of(authority, jane, ssl.PROTOCOL_TLS_CLIENT, tmp_path), host)
    subject = [pair for part in (serving.getpeercert() or {})["subject"] for pair in part]
    assert sorted(subject) == [("commonName", "jane"), ("organizationName", "devs"), ("organizationName", "ops")]


@pytest.mark.parametrize(
    ("server_valid", "client_valid", "host", "reason"),
    [
        (EXPIRED, timedelta(days=1), "localhost", "certificate has expired"),
        (timedelta(days=1), EXPIRED, "localhost", "certificate has expired"),
        (timedelta(days=1), timedelta(days=1), "example.test", "Hostname mismatch"),
    ],
)
def test_what_is_not_valid_is_refused(
    authority: CertificateAuthority,
    server_valid: timedelta,
    client_valid: timedelta,
    host: str,
    reason: str,
    tmp_path: Path,
) -> None:
    serving = authority.issue_server("localhost", valid_for=server_valid)
    calling = authority.issue_client("jane", valid_for=client_valid)
    server = end_of(authority, serving, ssl.PROTOCOL_TLS_SERVER, tmp_path)
    client = end_of(authority, calling, ssl.PROTOCOL_TLS_CLIENT, tmp_path)
    with pytest.raises(ssl.SSLCertVerificationError, match=reason):
        shake_hands(server, client, host)


def test_another_authority_is_not_trusted(authority: CertificateAuthority, tmp_path: Path) -> None:
    stranger = CertificateAuthority.create("ours")
    server = end_of(stranger, stranger.issue_server("localhost"), ssl.PROTOCOL_TLS_SERVER, tmp_path)
    client = end_of(authority, authority.issue_client("jane"), ssl.PROTOCOL_TLS_CLIENT, tmp_path)
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(server, client, "localhost")


def test_client_certificates_do_not_serve(authority: CertificateAuthority, tmp_path: Path) -> None:
    server = end_of(authority, authority.issue_client("localhost"), ssl.PROTOCOL_TLS_SERVER, tmp_path)
    client = end_of(authority, authority.issue_client("jane"), ssl.PROTOCOL_TLS_CLIENT, tmp_path)
    with pytest.raises(ssl.SSLCertVerificationError):
        shake_hands(server, client, "localhost")


def test_keys_stay_private(authority: CertificateAuthority, tmp_path: Path) -> None:
    pair = authority.issue_client("jane")
    _, key = pair.write(tmp_path, "jane")
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert "PRIVATE KEY" not in repr(pair)


def test_an_authority_can_be_kept(authority: CertificateAuthority, tmp_path: Path) -> None:
    again = CertificateAuthority(authority.pair)
    server = end_of(authority, again.issue_server("localhost"), ssl.PROTOCOL_TLS_SERVER, tmp_path)
    client = end_of(authority, authority.issue_client("jane"), ssl.PROTOCOL_TLS_CLIENT, tmp_path)
    shake_hands(server, client, "localhost")
