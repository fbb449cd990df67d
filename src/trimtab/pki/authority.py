"""A certificate authority for loopback: server and client certificates, made in memory in a few milliseconds."""

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_AUTHORITY_LIFE = timedelta(days=3650)
_LEAF_LIFE = timedelta(days=30)
_CLOCK_SKEW = timedelta(hours=1)  # certificates are valid from a while ago: clocks of two machines differ


@dataclass(frozen=True)
class Issued:
    """A certificate and its private key, both as PEM."""

    certificate: bytes
    key: bytes = field(repr=False)

    def write(self, folder: Path, name: str) -> tuple[Path, Path]:
        """Write `name.crt` and `name.key` into the folder, and say where they are."""
        certificate, key = folder / f"{name}.crt", folder / f"{name}.key"
        certificate.write_bytes(self.certificate)
        key.touch(mode=0o600)
        key.write_bytes(self.key)
        return certificate, key


class CertificateAuthority:
    """Signs certificates for servers and clients that all trust this one authority."""

    def __init__(self, pair: Issued) -> None:
        self._certificate = x509.load_pem_x509_certificate(pair.certificate)
        key = serialization.load_pem_private_key(pair.key, password=None)
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise TypeError("the authority's key has to be an elliptic curve key")
        self._key = key
        self.pair = pair

    @classmethod
    def create(cls, name: str = "trimtab") -> Self:
        """Make a new authority with a key of its own."""
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        key = ec.generate_private_key(ec.SECP256R1())
        usage = x509.KeyUsage(
            digital_signature=True,
            key_cert_sign=True,
            crl_sign=True,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            encipher_only=False,
            decipher_only=False,
        )
        certificate = (
            _builder(subject, key, issuer=subject, issuer_key=key, valid_for=_AUTHORITY_LIFE)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(usage, critical=True)
            .sign(key, hashes.SHA256())
        )
        return cls(_pair(certificate, key))

    @property
    def certificate(self) -> bytes:
        """The authority's certificate as PEM: what clients and servers trust."""
        return self.pair.certificate

    def issue_server(self, *hosts: str, valid_for: timedelta = _LEAF_LIFE) -> Issued:
        """Issue a certificate for a server that is reached under these names and addresses.

        A negative `valid_for` makes a certificate that has already expired.
        """
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, hosts[0])])
        return self._issue(name, ExtendedKeyUsageOID.SERVER_AUTH, valid_for, [_general_name(host) for host in hosts])

    def issue_client(self, user: str, groups: Sequence[str] = (), *, valid_for: timedelta = _LEAF_LIFE) -> Issued:
        """Issue a certificate for a client: to Kubernetes its common name is the user, its organizations the groups.

        A negative `valid_for` makes a certificate that has already expired.
        """
        common_name = x509.NameAttribute(NameOID.COMMON_NAME, user)
        organizations = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
        return self._issue(x509.Name([*organizations, common_name]), ExtendedKeyUsageOID.CLIENT_AUTH, valid_for, [])

    def _issue(
        self,
        subject: x509.Name,
        usage: x509.ObjectIdentifier,
        valid_for: timedelta,
        names: Sequence[x509.GeneralName],
    ) -> Issued:
        key = ec.generate_private_key(ec.SECP256R1())
        builder = (
            _builder(subject, key, issuer=self._certificate.subject, issuer_key=self._key, valid_for=valid_for)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        )
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        return _pair(builder.sign(self._key, hashes.SHA256()), key)


def _builder(
    subject: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    *,
    issuer: x509.Name,
    issuer_key: ec.EllipticCurvePrivateKey,
    valid_for: timedelta,
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    until = now + valid_for
    # Python 3.13 and newer refuse chains without key identifiers (VERIFY_X509_STRICT).
    authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key())
    return (
        x509.CertificateBuilder(issuer_name=issuer, subject_name=subject, public_key=key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(min(now, until) - _CLOCK_SKEW)
        .not_valid_after(until)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(authority, critical=False)
    )


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _pair(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> Issued:
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return Issued(certificate.public_bytes(serialization.Encoding.PEM), private)
