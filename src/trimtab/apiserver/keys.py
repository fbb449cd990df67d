"""The keys of a server: its own authority, its certificate, and what its administrator proves themselves by.

They live in the data folder where there is one, so that a kubeconfig stays good when the server starts anew.
"""

from __future__ import annotations

import secrets
import ssl
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from trimtab.pki import CertificateAuthority, Issued, kubeconfig, write_kubeconfig

_HOSTS: Final = ("127.0.0.1", "::1", "localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")
_ACCOUNTS: Final = "accounts.key"
_TOKEN: Final = "admin.token"  # noqa: S105 - the name of a file


@dataclass(frozen=True)
class Keys:
    """Made once for each server."""

    authority: CertificateAuthority
    token: str
    accounts: bytes = field(default=b"", repr=False)  # the key that signs tokens of service accounts, where it is kept

    @classmethod
    def make(cls) -> Keys:
        """New ones."""
        return cls(CertificateAuthority.create(), secrets.token_urlsafe(32))

    @classmethod
    def in_folder(cls, folder: Path) -> Keys:
        """Those in the folder, made there where there are none."""
        certificate, key, token = folder / "ca.crt", folder / "ca.key", folder / _TOKEN
        accounts = folder / _ACCOUNTS
        if certificate.exists() and key.exists() and token.exists():
            pair = Issued(certificate.read_bytes(), key.read_bytes())
            authority = CertificateAuthority(pair)
            if not accounts.exists():
                _write_secret(accounts, authority.issue_server("service-accounts").key)
            return cls(authority, token.read_text().strip(), accounts.read_bytes())
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        made = cls.make()
        made.authority.pair.write(folder, "ca")
        key_of_accounts = made.authority.issue_server("service-accounts").key
        _write_secret(accounts, key_of_accounts)
        _write_secret(token, made.token.encode() + b"\n")  # at last: where it is, all is
        return replace(made, accounts=key_of_accounts)

    def server_context(self) -> ssl.SSLContext:
        """TLS for the server, which takes client certificates of its own authority."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])
        context.verify_mode = ssl.CERT_OPTIONAL
        context.load_verify_locations(cadata=self.authority.certificate.decode())
        with tempfile.TemporaryDirectory(prefix="trimtab-") as folder:  # ssl reads keys from files only
            certificate, key = self.authority.issue_server(*_HOSTS).write(Path(folder), "server")
            context.load_cert_chain(certificate, key)
        return context

    def write_kubeconfig(self, path: Path, url: str, user: str, groups: tuple[str, ...]) -> None:
        """Write a kubeconfig by which its owner is this user."""
        client = self.authority.issue_client(user, groups)
        write_kubeconfig(path, kubeconfig(url, self.authority.certificate, client))


def _write_secret(path: Path, data: bytes) -> None:
    """Whole or not at all: half a token would be one that others guess."""
    unfinished = path.with_suffix(".new")
    unfinished.unlink(missing_ok=True)
    unfinished.touch(mode=0o600)
    unfinished.write_bytes(data)
    unfinished.replace(path)
