"""TLS as a client of a Kubernetes API server needs it: whom to trust, and the certificate that says who is asking.

Everything is kept as bytes, so that what rotates on disk can be compared, and a torn pair is seen.
"""

import logging
import os
import re
import ssl
import tempfile
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Never

from trimtab.client.config.errors import ConfigError
from trimtab.errors import one_line

_log = logging.getLogger(__name__)
# OpenSSL's names for a key that is not the certificate's, of the same kind or of another.
_OTHER_KEY = ("KEY_VALUES_MISMATCH", "KEY_TYPE_MISMATCH", "NO_CERTIFICATE_ASSIGNED")
_CERTIFICATE = re.compile(rb"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A client certificate with its chain and its private key, both PEM. `origin` names it in errors."""

    certificate: bytes = field(repr=False)
    key: bytes = field(repr=False)
    origin: str = "the client certificate"

    def check(self, now: datetime | None = None) -> None:
        """Raise a ConfigError unless certificate and key are readable, belong together and have not expired."""
        self.load_into(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
        expiry = _not_after(self.certificate)
        if expiry <= (now or datetime.now(UTC)):
            raise ConfigError(f"{self.origin} expired on {expiry:%Y-%m-%d at %H:%M:%S} UTC; renew it")

    def load_into(self, context: ssl.SSLContext) -> None:
        """Show this certificate in the handshakes made with `context`."""
        if not _CERTIFICATE.search(self.certificate):
            raise ConfigError(f"{self.origin} is not PEM: it has no BEGIN CERTIFICATE line")
        if b"PRIVATE KEY-----" not in self.key:
            raise ConfigError(f"the key of {self.origin} is not PEM: it has no BEGIN PRIVATE KEY line")
        try:
            with _as_file(self.certificate) as certificate, _as_file(self.key) as key:
                context.load_cert_chain(certificate, key, password=self._no_passphrase)
        except ssl.SSLError as error:
            if error.reason in _OTHER_KEY:
                raise ConfigError(f"the key of {self.origin} belongs to another certificate") from error
            raise ConfigError(f"{self.origin} cannot be used: {one_line(error.reason or str(error))}") from error

    def _no_passphrase(self) -> Never:
        # Without this, OpenSSL asks at the terminal.
        raise ConfigError(f"the key of {self.origin} is encrypted, and there is nobody to ask for its passphrase")


class TLS:
    """Whom to trust: makes a server's one ssl.SSLContext, and another when the CA or the client's certificate changes.

    `ca` is PEM, or a function that reads it again: it is called once in five minutes, as client-go does.
    With neither `ca` nor `insecure` the system's roots decide. `server_name` is the name to ask for, and to find in the
    server's certificate, when it is not the host of the URL.
    """

    def __init__(
        self,
        *,
        ca: bytes | Callable[[], bytes] | None = None,
        insecure: bool = False,
        server_name: str | None = None,
        origin: str = "the certificate authority",
        period: float = 300.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if ca is not None and insecure:
            raise ConfigError(f"{origin} and insecure-skip-tls-verify exclude each other: remove one")
        self.insecure = insecure
        self.server_name = server_name
        self._origin = origin
        self._reread = ca if callable(ca) else None
        self._ca = ca() if callable(ca) else ca
        self._period = period
        self._clock = clock
        self._due = clock() + period
        self._pair: KeyPair | None = None
        self._context: ssl.SSLContext | None = None
        if self._ca is not None:
            self._trust(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), self._ca)

    def __repr__(self) -> str:
        return f"TLS(insecure={self.insecure}, server_name={self.server_name!r})"

    @property
    def ca(self) -> bytes | None:
        """The CA bundle as of its last reading, PEM; None for the system's."""
        return self._ca

    def context(self, pair: KeyPair | None = None) -> ssl.SSLContext:
        """Return the context for connections that show `pair`: the same object until something has changed."""
        if self._reread is not None and self._clock() >= self._due:
            self._refresh(self._reread)
        if self._context is None or (pair is not self._pair and pair != self._pair):
            self._context = self._build(pair)
            self._pair = pair
        return self._context

    def _refresh(self, reread: Callable[[], bytes]) -> None:
        self._due = self._clock() + self._period
        try:
            ca = reread()
            self._trust(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), ca)
        except ConfigError as error:
            _log.warning("%s; going on with the one read before", error)
            return
        if ca != self._ca:
            self._ca, self._context = ca, None

    def _build(self, pair: KeyPair | None) -> ssl.SSLContext:
        # Not ssl.create_default_context(): from Python 3.13 on it sets VERIFY_X509_STRICT, which refuses the CAs of
        # many living clusters (EKS's and microk8s' lack key identifiers or key usage). Go and kubectl accept those, and
        # a controller must not stop because its Python was upgraded. PARTIAL_CHAIN is Go's rule too: every certificate
        # of the bundle is trusted, an intermediate as well as a root.
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        context.hostname_checks_common_name = False
        context.set_alpn_protocols(["http/1.1"])
        if self.insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        elif self._ca is None:
            context.load_default_certs()
        else:
            self._trust(context, self._ca)
        if pair is not None:
            pair.load_into(context)
        return context

    def _trust(self, context: ssl.SSLContext, ca: bytes) -> None:
        certificates = _CERTIFICATE.findall(ca)
        if not certificates:
            raise ConfigError(f"{self._origin} is not PEM: it has no BEGIN CERTIFICATE line")
        try:
            context.load_verify_locations(cadata=b"\n".join(certificates).decode("ascii"))
        except (ssl.SSLError, UnicodeDecodeError) as error:
            raise ConfigError(f"{self._origin} has a certificate that cannot be read") from error


@contextmanager
def _as_file(pem: bytes) -> Generator[str]:
    """Lend `pem` as a file: Python's ssl reads certificates and keys from nowhere else.

    In memory where the system can, which also works in a container whose file system is read-only.
    """
    if hasattr(os, "memfd_create") and Path("/proc/self/fd").is_dir():
        descriptor = os.memfd_create("trimtab", os.MFD_CLOEXEC)
        try:
            os.write(descriptor, pem)
            yield f"/proc/self/fd/{descriptor}"
        finally:
            os.close(descriptor)
    else:
        with tempfile.TemporaryDirectory(prefix="trimtab-") as folder:  # for this user's eyes only, as mkdtemp makes it
            path = Path(folder, "pem")
            path.touch(0o600)
            path.write_bytes(pem)
            yield str(path)


def _not_after(pem: bytes) -> datetime:
    """The end of a certificate's validity, which the standard library has no public way to ask for."""
    first = _CERTIFICATE.search(pem)
    assert first is not None
    der = ssl.PEM_cert_to_DER_cert(first[0].decode("ascii"))
    certificate = next(_elements(der, 0, len(der)))
    to_be_signed = next(_elements(der, *certificate[1:]))
    fields = list(_elements(der, *to_be_signed[1:]))
    has_version = fields[0][0] == _VERSION_TAG  # optional; then serial, algorithm, issuer, validity
    validity = fields[4 if has_version else 3]
    tag, start, end = list(_elements(der, *validity[1:]))[1]
    form = "%y%m%d%H%M%SZ" if tag == _UTC_TIME_TAG else "%Y%m%d%H%M%SZ"
    return datetime.strptime(der[start:end].decode("ascii"), form).replace(tzinfo=UTC)


_VERSION_TAG = 0xA0
_UTC_TIME_TAG = 0x17


def _elements(der: bytes, at: int, end: int) -> Iterator[tuple[int, int, int]]:
    """The tag, start and end of each DER element between two places."""
    while at < end:
        tag, length = der[at], der[at + 1]
        at += 2
        if length & 0x80:  # the long form: the low bits count the bytes of the length
            digits = length & 0x7F
            length = int.from_bytes(der[at : at + digits])
            at += digits
        yield tag, at, at + length
        at += length
