"""The station of patches: of each of the four types a function from the object that is there to what is to be."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final, TypeAlias, cast

import msgspec

from trimtab.apiserver import bodies, causes, options, reading, statuses
from trimtab.apiserver.calls import Call
from trimtab.apiserver.conforming import Mistyped, hold
from trimtab.apiserver.managed import applied_to
from trimtab.apiserver.messages import JSON, YAML, Request
from trimtab.apiserver.patching import json_patch, merge_patch, strategic_merge
from trimtab.apiserver.statuses import Refused

Json: TypeAlias = dict[str, Any]
Make: TypeAlias = Callable[[Json | None], Json]

JSON_PATCH: Final = "application/json-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC_PATCH: Final = "application/strategic-merge-patch+json"
APPLY_PATCH: Final = "application/apply-patch+yaml"


def patch_of(call: Call, request: Request, now: Callable[[], datetime]) -> tuple[Make, bool]:
    """What a patch makes of an object, and whether it makes one where there is none."""
    kind = call.target.kind
    media = request.header("content-type").partition(";")[0].strip().lower()
    types = [JSON_PATCH, MERGE_PATCH, *([STRATEGIC_PATCH] if kind.builtin else []), APPLY_PATCH]
    if media not in types:
        raise Refused("UnsupportedMediaType", "415: Unsupported Media Type", empty_details=True)
    _check_options(call, applies=media == APPLY_PATCH)
    if media == APPLY_PATCH:
        applied = _applied(call, request)
        return lambda live: _apply(call, live, applied, now()), True
    patch = _parse_patch(request.body)
    if media == STRATEGIC_PATCH:
        assert kind.schema is not None
        schema = kind.schema
        return _patched(call, lambda obj: strategic_merge(obj, patch, schema)), False
    change = json_patch if media == JSON_PATCH else merge_patch
    return _patched(call, lambda obj: change(obj, patch)), False


def _check_options(call: Call, *, applies: bool) -> None:
    if applies and not call.options.manager:
        raise options.invalid_options("PatchOptions", [causes.required("fieldManager", "is required for apply patch")])
    if not applies and call.options.force is not None:
        why = "may not be specified for non-apply patch"
        raise options.invalid_options("PatchOptions", [causes.forbidden("force", why)])


def _parse_patch(body: bytes) -> Any:
    try:
        return reading.parse(body, JSON)
    except reading.Unreadable as error:
        said = str(error).removeprefix("json parse error: ")
        raise statuses.bad_request(f"error decoding patch: {said}") from error


def _patched(call: Call, change: Callable[[Json], Any]) -> Make:
    def make(live: Json | None) -> Json:
        assert live is not None
        call.warnings.clear()
        made = change(live)
        return _conformed(call, made)

    return make


def _conformed(call: Call, made: Any) -> Json:
    kind = call.target.kind
    if not isinstance(made, dict):
        raise _invalid_patch(
            made, f"json: cannot unmarshal {reading.json_type(made)} into Go value of type {kind.kind}"
        )
    obj = cast("Json", made)
    if (obj.get("apiVersion"), obj.get("kind")) != (kind.api_version, kind.kind):
        said = f'no kind "{obj.get("kind")}" is registered for version "{obj.get("apiVersion")}"'
        raise _invalid_patch(obj, said)
    try:
        held, unknown = hold(kind, obj)
    except Mistyped as error:
        raise _invalid_patch(obj, str(error)) from error
    if unknown and call.options.validation == "Strict":
        raise _invalid_patch(obj, "strict decoding error: " + ", ".join(unknown))
    bodies.note_faults(call, unknown)
    metadata = held.setdefault("metadata", {})
    bodies.check_name(metadata.get("name", ""), call.target.name)
    return held


def _invalid_patch(obj: Any, why: str) -> Refused:
    text = msgspec.json.encode(obj, order="deterministic").decode()
    return statuses.invalid("", "", "", [causes.invalid("patch", text, why)])


def _applied(call: Call, request: Request) -> Json:
    kind = call.target.kind
    try:
        value = reading.parse(request.body, JSON)
    except reading.Unreadable:
        try:
            value = reading.parse(request.body, YAML)
        except reading.Unreadable as error:
            said = f"error decoding YAML: error converting YAML to JSON: {error}"
            raise statuses.bad_request(said) from error
    if value is not None and not isinstance(value, dict):
        said = f"json: cannot unmarshal {reading.json_type(value)} into Go value of type map[string]interface {{}}"
        raise statuses.bad_request(f"error decoding YAML: error unmarshaling JSON: while decoding JSON: {said}")
    obj = cast("Json", value or {})
    version, name = obj.get("apiVersion", ""), obj.get("kind", "")
    if (version, name) != (kind.api_version, kind.kind):
        group, _, short = str(version).rpartition("/")
        raise statuses.bad_request(f"invalid object type: {group}/{short}, Kind={name}")
    found: Any = obj.setdefault("metadata", {})
    if not isinstance(found, dict):
        raise bodies.not_handled(kind, "metadata is no object")
    metadata = cast("Json", found)
    given = metadata.get("name")
    if given is not None and not isinstance(given, str):
        raise bodies.not_handled(kind, "metadata.name is no text")
    bodies.check_name(given or "", call.target.name)
    namespace = call.target.namespace
    if namespace and metadata.get("namespace") not in (None, "", namespace):
        said = "the namespace of the provided object does not match the namespace sent on the request"
        raise statuses.bad_request(said)
    return obj


def _apply(call: Call, live: Json | None, applied: Json, now: datetime) -> Json:
    kind = call.target.kind
    uid = applied["metadata"].get("uid")
    if live is None and uid:
        why = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
        raise statuses.conflict(kind.plural, kind.group, call.target.name, why)
    made = applied_to(call, live, applied, now)
    call.warnings.clear()
    return bodies.conformed(call, made, [])
