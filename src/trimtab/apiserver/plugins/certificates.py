"""CertificateApproval, CertificateSigning, CertificateSubjectRestriction: who may have certificates made, and which."""

from __future__ import annotations

import base64
import binascii
from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver.access.attributes import Attributes
from trimtab.apiserver.access.rbac import MASTERS, Rbac
from trimtab.apiserver.causes import quoted
from trimtab.apiserver.messages import User
from trimtab.apiserver.plugins.attempt import Attempt
from trimtab.apiserver.plugins.plugin import Means, Plugin

Json: TypeAlias = dict[str, Any]

_GROUP: Final = "certificates.k8s.io"
_BUCKET: Final = f"certificatesigningrequests.{_GROUP}"
_CLIENTS: Final = "kubernetes.io/kube-apiserver-client"


class _OfSigners(Plugin):
    """What is allowed to those who may do something with a signer."""

    buckets = frozenset({_BUCKET})

    def __init__(self, means: Means) -> None:
        super().__init__(means)
        self._rbac = means.rbac

    def _check(self, attempt: Attempt, verb: str) -> None:
        signer = cast("Json", (attempt.old or attempt.obj).get("spec") or {}).get("signerName", "")
        if not _may(self._rbac, attempt.call.user, verb, signer):
            raise attempt.forbidden(f"user not permitted to {verb} requests with signerName {quoted(signer)}")


class CertificateApproval(_OfSigners):
    """Who approves has to be allowed to, for that signer."""

    def validate(self, attempt: Attempt) -> None:
        """Look at the right."""
        if attempt.operation == "UPDATE" and attempt.subresource == "approval":
            self._check(attempt, "approve")


class CertificateSigning(_OfSigners):
    """Who hands out a certificate has to be allowed to sign for that signer."""

    def validate(self, attempt: Attempt) -> None:
        """Look at the right, where the certificate or what is said of it changes."""
        if attempt.operation != "UPDATE" or attempt.subresource != "status" or attempt.old is None:
            return
        now, was = (cast("Json", each.get("status") or {}) for each in (attempt.obj, attempt.old))
        if any((now.get(name) or None) != (was.get(name) or None) for name in ("certificate", "conditions")):
            self._check(attempt, "sign")


class CertificateSubjectRestriction(Plugin):
    """Nobody becomes one of the masters by a certificate that is signed here."""

    buckets = frozenset({_BUCKET})

    def validate(self, attempt: Attempt) -> None:
        """Look at whom the certificate is to be for."""
        if attempt.operation != "CREATE" or attempt.subresource or attempt.spec.get("signerName") != _CLIENTS:
            return
        try:
            groups = _organizations(attempt.spec.get("request", ""))
        except (ValueError, binascii.Error) as error:
            raise attempt.forbidden(f"failed to parse CSR: {error}") from error
        if MASTERS in groups:
            raise attempt.forbidden(f"use of {_CLIENTS} signer with {MASTERS} group is not allowed")


def _may(rbac: Rbac, user: User, verb: str, signer: str) -> bool:
    """Whether somebody may do that with a signer, or with all of its domain."""
    if MASTERS in user.groups:
        return True
    names = (signer, f"{signer.partition('/')[0]}/*")
    return any(rbac.decide(Attributes(user, verb, _GROUP, "*", "signers", "", "", name)).allowed for name in names)


def _organizations(request: str) -> list[str]:
    # It is needed for this alone, and a server without certificates of its own can do without it.
    from cryptography import x509  # noqa: PLC0415

    found = x509.load_pem_x509_csr(base64.b64decode(request, validate=True))
    return [str(each.value) for each in found.subject.get_attributes_for_oid(x509.NameOID.ORGANIZATION_NAME)]
