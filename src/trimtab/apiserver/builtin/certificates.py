"""What is wrong with requests for certificates, and what the server notes of them."""

from __future__ import annotations

import base64
from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver import causes, names
from trimtab.apiserver.builtin import texts
from trimtab.apiserver.causes import Cause

Json: TypeAlias = dict[str, Any]

_BEGIN: Final = b"-----BEGIN CERTIFICATE REQUEST-----"
_CERTIFICATE: Final = b"-----BEGIN CERTIFICATE-----"
_USAGES: Final = (
    "any", "cert sign", "client auth", "code signing", "content commitment", "crl sign", "data encipherment",
    "decipher only", "digital signature", "email protection", "encipher only", "ipsec end system", "ipsec tunnel",
    "ipsec user", "key agreement", "key encipherment", "microsoft sgc", "netscape sgc", "ocsp signing", "s/mime",
    "server auth", "signing", "timestamping",
)  # fmt: skip
_LEGACY: Final = "kubernetes.io/legacy-unknown"
_SHORTEST: Final = 600
_DECIDING: Final = frozenset({"Approved", "Denied"})
_DOMAIN: Final = "must be a fully qualified domain and path of the form 'example.com/signer-name'"


def check_request(obj: Json) -> list[Cause]:
    """What is wrong with a CertificateSigningRequest."""
    spec = texts.spec_of(obj)
    request = spec.get("request")
    found: list[Cause] = []
    if _BEGIN not in base64.b64decode(request or ""):
        found.append(causes.invalid("spec.request", request, "PEM block type must be CERTIFICATE REQUEST"))
    usages = cast("list[str]", spec.get("usages") or [])
    if not usages:
        found.append(causes.required("spec.usages"))
    for index, usage in enumerate(usages):
        if usage not in _USAGES:
            found.append(causes.unsupported(f"spec.usages[{index}]", usage, _USAGES))
        if usage in usages[:index]:
            found.append(causes.duplicate(f"spec.usages[{index}]", usage))
    signer = spec.get("signerName", "")
    if signer == _LEGACY:
        found.append(
            causes.invalid("spec.signerName", signer, "the legacy signerName is not allowed via this API version")
        )
    else:
        found += _check_signer(signer)
    seconds = spec.get("expirationSeconds")
    if seconds is not None and seconds < _SHORTEST:
        why = "may not specify a duration less than 600 seconds (10 minutes)"
        found.append(causes.invalid("spec.expirationSeconds", seconds, why))
    return found


def _check_signer(name: str) -> list[Cause]:
    field = "spec.signerName"
    if not name:
        return [causes.required(field)]
    domain, slash, path = name.partition("/")
    if not slash or "/" in path:
        return [causes.invalid(field, name, _DOMAIN)]
    found: list[Cause] = []
    labels = domain.split(".")
    for label in labels:
        found += [
            causes.invalid(field, domain, f"validating label {causes.quoted(label)}: {why}")
            for why in names.label(label)
        ]
    if len(labels) == 1:
        why = "should be a domain with at least two segments separated by dots"
        found.append(causes.invalid(field, domain, why))
    for label in path.split("."):
        found += [
            causes.invalid(field, path, f"validating label {causes.quoted(label)}: {why}")
            for why in names.subdomain(label)
        ]
    return found


def _check_kept(new: Json, old: Json) -> list[Cause]:
    found: list[Cause] = []
    now, was = ({each.get("type") for each in texts.part(obj, "status").get("conditions") or ()} for obj in (new, old))
    for kind in ("Approved", "Denied", "Failed"):
        if kind in was - now:
            why = f"updates may not remove a condition of type {causes.quoted(kind)}"
            found.append(causes.forbidden("status.conditions", why))
    return found


def check_request_status(new: Json, old: Json) -> list[Cause]:
    """What is wrong with the status of a request."""
    status, was = texts.part(new, "status"), texts.part(old, "status")
    found = _check_conditions(status)
    certificate = status.get("certificate")
    if certificate and _CERTIFICATE not in base64.b64decode(certificate):
        why = "must contain at least one CERTIFICATE PEM block"
        found.append(causes.invalid("status.certificate", "<certificate data>", why))
    if certificate != was.get("certificate") and was.get("certificate"):
        why = "updates may not modify or remove certificate content"
        found.append(causes.forbidden("status.certificate", why))
    now, before = ({each.get("type") for each in part.get("conditions") or ()} for part in (status, was))
    for kind in sorted(now - before):
        if kind in _DECIDING:
            why = f"updates may not add a condition of type {causes.quoted(kind)}"
            found.append(causes.forbidden("status.conditions", why))
    return found + _check_kept(new, old)


def _check_conditions(status: Json) -> list[Cause]:
    found: list[Cause] = []
    taken: set[str] = set()
    for where, each in texts.numbered(status, "status", "conditions"):
        kind, state = each.get("type", ""), each.get("status", "")
        if not kind:
            found.append(causes.required(f"{where}.type"))
        if not state:
            found.append(causes.required(f"{where}.status"))
        elif kind in (*_DECIDING, "Failed"):
            found += texts.one_of_needed(f"{where}.status", state, ("True",))
        elif state not in ("True", "False", "Unknown"):
            found.append(causes.unsupported(f"{where}.status", state, ("False", "True", "Unknown")))
        if kind in taken:
            found.append(causes.duplicate(f"{where}.type", kind))
        taken.add(kind)
    return found


def fill_conditions(new: Json, old: Json, stamp: str) -> None:
    """When a condition was set, and when it became what it is, are noted where nobody says so."""
    was = {each.get("type"): each for each in texts.part(old, "status").get("conditions") or ()}
    for each in texts.part(new, "status").get("conditions") or ():
        before = was.get(each.get("type"))
        if not each.get("lastUpdateTime"):
            each["lastUpdateTime"] = stamp
        if not each.get("lastTransitionTime"):
            same = before is not None and before.get("status") == each.get("status")
            each["lastTransitionTime"] = before["lastTransitionTime"] if before is not None and same else stamp
