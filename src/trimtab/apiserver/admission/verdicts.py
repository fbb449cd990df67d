"""What a webhook answers, read as what it may be: anything."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, cast

import msgspec

from trimtab.apiserver import reading
from trimtab.apiserver.admission.calling import BadAnswer, CallFailed
from trimtab.apiserver.causes import Cause
from trimtab.apiserver.messages import JSON, YAML
from trimtab.apiserver.patching.gotext import go_kind
from trimtab.apiserver.statuses import Refused
from trimtab.kube.reasons import CODES

Json: TypeAlias = dict[str, Any]

_MOST_WARNINGS: Final = 100
_LONGEST_WARNING: Final = 4096


class _Status(msgspec.Struct):
    message: str | None = None
    reason: str | None = None
    code: int | None = None
    details: dict[str, Any] | None = None


class _Response(msgspec.Struct, rename="camel"):
    uid: str = ""
    allowed: bool = False
    status: _Status | None = None
    patch: str | None = None
    patch_type: str | None = None
    audit_annotations: dict[str, str] | None = None
    warnings: list[str] | None = None


class _Review(msgspec.Struct, rename="camel"):
    api_version: str = ""
    kind: str = ""
    response: _Response | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a webhook says of a write."""

    allowed: bool
    status: _Status | None = None
    patch: bytes = b""
    warnings: tuple[str, ...] = ()
    annotations: dict[str, str] = field(default_factory=dict[str, str])


def verdict_of(body: bytes, uid: str, version: str) -> Verdict:
    """Read an answer. Raises CallFailed where it is none to this question."""
    try:
        said = reading.parse(body, JSON if body.lstrip().startswith(b"{") else YAML)  # Kubernetes looks at it so too
        if not isinstance(said, dict):
            raise CallFailed(f"couldn't get version/kind; json parse error: json: {_no_type(said)}")
        review = msgspec.convert(said, _Review)
    except reading.Unreadable as error:
        raise CallFailed(f"couldn't get version/kind; {error}") from error
    except (msgspec.ValidationError, RecursionError) as error:
        raise CallFailed(f"the answer is no AdmissionReview: {error}") from error
    response = review.response
    if response is None:
        raise BadAnswer("webhook response was absent")
    wanted = f"admission.k8s.io/{version}"
    if (review.api_version, review.kind) != (wanted, "AdmissionReview"):
        group = "" if "/" in review.api_version else "/"
        got = f"{group}{review.api_version}, Kind={review.kind}"
        raise BadAnswer(f"expected webhook response of {wanted}, Kind=AdmissionReview, got {got}")
    if response.uid != uid:
        raise BadAnswer(f'expected response.uid="{uid}", got "{response.uid}"')
    return Verdict(
        response.allowed,
        response.status,
        _patch(response),
        tuple(text[:_LONGEST_WARNING] for text in (response.warnings or ())[:_MOST_WARNINGS]),
        response.audit_annotations or {},
    )


def _no_type(said: Any) -> str:
    fields = r'APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\""'
    return f"cannot unmarshal {go_kind(said)} into Go value of type struct {{ {fields} }}"


def _patch(response: _Response) -> bytes:
    if not response.patch:
        if response.patch_type:
            raise BadAnswer("webhook returned response.patchType but no response.patch")
        return b""
    if not response.patch_type:
        raise BadAnswer("webhook returned response.patch but not response.patchType")
    if response.patch_type != "JSONPatch":
        raise BadAnswer(f'invalid response.patchType "{response.patch_type or ""}", expected "JSONPatch"')
    try:
        return base64.b64decode(response.patch, validate=True)
    except (binascii.Error, ValueError) as error:
        raise BadAnswer("response.patch is no base64") from error


def refused_by(name: str, verdict: Verdict) -> Refused:
    """The refusal of a write by a webhook, with what it gave as its reason."""
    denied = f'admission webhook "{name}" denied the request'
    status = verdict.status or _Status()
    if status.message:
        denied += f": {status.message}"
    elif status.reason:
        denied += f": {status.reason}"
    else:
        denied += " without explanation"
    code = status.code if status.code is not None and 400 <= status.code <= 599 else 400
    reason: Any = status.reason or ""
    details = status.details or {}
    refused = Refused(reason if reason in CODES else "BadRequest", denied, code=code, causes=_causes(details))
    refused.reason = reason
    for field_ in ("name", "group", "kind", "uid"):
        if isinstance(details.get(field_), str):
            setattr(refused, field_, details[field_])
    return refused


def _causes(details: Json) -> list[Cause]:
    given: Any = details.get("causes")
    found: list[Cause] = []
    for each in cast("list[Any]", given if isinstance(given, list) else []):
        if isinstance(each, dict):
            parts = cast("Json", each)
            found.append(Cause(*(str(parts.get(name) or "") for name in ("reason", "message", "field"))))
    return found
