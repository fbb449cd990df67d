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
from trimtab.apiserver.patching import json_patch, merge_patch, patched_text, strategic_merge, unknown_fields
from trimtab.apiserver.patching.gotext import go_text
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
    types = [JSON_PATCH, MERGE_PATCH, *([] if kind.custom is not None else [STRATEGIC_PATCH]), APPLY_PATCH]
    if media not in types:
        if kind.custom is not None:
            raise statuses.unsupported_media_type(types)
        raise Refused("UnsupportedMediaType", "415: Unsupported Media Type", empty_details=True)
    _check_options(call, applies=media == APPLY_PATCH)
    if media == APPLY_PATCH:
        applied, faults = _applied(call, request)
        return lambda live: _apply(call, live, applied, faults, now()), True
    patch, faults = _parse_patch(call, request.body, media)
    if media == STRATEGIC_PATCH:
        return _strategic(call, patch, faults), False
    change = json_patch if media == JSON_PATCH else merge_patch
    return _patched(call, lambda obj: change(obj, patch), faults), False


def _check_options(call: Call, *, applies: bool) -> None:
    if applies and not call.options.manager:
        raise options.invalid_options("PatchOptions", [causes.required("fieldManager", "is required for apply patch")])
    if not applies and call.options.force is not None:
        why = "may not be specified for non-apply patch"
        raise options.invalid_options("PatchOptions", [causes.forbidden("force", why)])


def _parse_patch(call: Call, body: bytes, media: str) -> tuple[Any, list[str]]:
    """What a patch says, and what stands in it twice."""
    try:
        patch = reading.parse(body, JSON)
    except reading.Unreadable as error:
        said = str(error).removeprefix("json parse error: ")
        raise statuses.bad_request(said if media == STRATEGIC_PATCH else f"error decoding patch: {said}") from error
    if call.options.validation == "Ignore":
        return patch, []
    faults = reading.duplicates(body, patch)
    if media != JSON_PATCH:
        return patch, faults
    return patch, [f"json patch {fault}" for fault in faults + unknown_fields(patch)]


def _patched(call: Call, change: Callable[[Json], Any], faults: list[str]) -> Make:
    def make(live: Json | None) -> Json:
        assert live is not None
        call.warnings.clear()
        made = change(live)
        return _conformed(call, made, live, faults)

    return make


def _conformed(call: Call, made: Any, live: Json, faults: list[str]) -> Json:
    """The object that a patch made, read as if it had been sent."""
    kind = call.target.kind
    if not isinstance(made, dict):
        why = f"json: cannot unmarshal {reading.json_type(made)} into Go value of type {kind.kind}"
        raise _invalid_patch(_shown(made), why)
    obj = cast("Json", made)
    version, name = obj.get("apiVersion") or kind.api_version, obj.get("kind") or kind.kind
    if (version, name) != (kind.api_version, kind.kind):
        raise _invalid_patch(
            patched_text(kind.schema, obj, live), f'no kind "{name}" is registered for version "{version}"'
        )
    try:
        held, unknown = hold(kind, obj)
    except Mistyped as error:
        raise _invalid_patch(patched_text(kind.schema, obj, live), str(error)) from error
    if (faults or unknown) and call.options.validation == "Strict":
        why = "strict decoding error: " + ", ".join(faults + unknown)
        raise _invalid_patch(patched_text(kind.schema, obj, live), why)
    return _named(call, held, faults + unknown)


def _strategic(call: Call, patch: Any, faults: list[str]) -> Make:
    schema = call.target.kind.schema
    assert schema is not None

    def make(live: Json | None) -> Json:
        assert live is not None
        call.warnings.clear()
        made = strategic_merge(live, patch, schema)
        try:
            held, unknown = hold(call.target.kind, made)
        except Mistyped as error:
            raise _invalid_patch(go_text(patch), error.restored) from error
        if (faults or unknown) and call.options.validation == "Strict":
            raise _invalid_patch(go_text(patch), "strict decoding error: " + ", ".join(faults + unknown))
        return _named(call, held, faults + unknown)

    return make


def _named(call: Call, held: Json, faults: list[str]) -> Json:
    bodies.note_faults(call, faults)
    metadata = held.setdefault("metadata", {})
    bodies.check_namespace(call, metadata)
    bodies.check_name(metadata.get("name", ""), call.target.name)
    return held


def _shown(value: Any) -> str:
    return msgspec.json.encode(value, order="deterministic").decode()


def _invalid_patch(text: str, why: str) -> Refused:
    return statuses.invalid("", "", "", [causes.invalid("patch", text, why)])


def _applied(call: Call, request: Request) -> tuple[Json, list[str]]:
    """What is applied, and what stands in it twice."""
    kind = call.target.kind
    try:
        value = reading.parse(request.body, JSON)
        twice = bool(reading.duplicates(request.body, value))
    except reading.Unreadable:
        try:
            value, twice = reading.parse(request.body, YAML), True
        except reading.Unreadable as error:
            said = f"error decoding YAML: error converting YAML to JSON: {error}"
            raise statuses.bad_request(said) from error
    faults = reading.repeated_keys(request.body) if twice and call.options.validation != "Ignore" else []
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
    bodies.check_namespace(call, metadata)
    return obj, faults


def _apply(call: Call, live: Json | None, applied: Json, faults: list[str], now: datetime) -> Json:
    kind = call.target.kind
    uid = applied["metadata"].get("uid")
    if live is None and uid:
        why = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
        raise statuses.conflict(kind.plural, kind.group, call.target.name, why)
    made = applied_to(call, live, applied, now)
    call.warnings.clear()
    if faults and call.options.validation == "Strict":
        said = "".join(f"\n  {fault}" for fault in faults)
        why = f"error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:{said}"
        raise statuses.bad_request(why)
    if call.options.validation == "Warn":
        call.warnings += faults
    if kind.custom is not None:
        # What the schema does not know goes when the object is stored, and nobody is told.
        kind.custom.default(made)
        return made
    return bodies.conformed(call, made, [])
