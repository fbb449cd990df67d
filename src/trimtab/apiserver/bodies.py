"""The station that makes of a body the object that a write brings: of the right type, as its kind holds it."""

from __future__ import annotations

from typing import Any, TypeAlias, cast

from trimtab.apiserver import causes, reading, statuses
from trimtab.apiserver.calls import Call
from trimtab.apiserver.catalogue import Kind
from trimtab.apiserver.conforming import Mistyped, conform, hold
from trimtab.apiserver.facts import Facts
from trimtab.apiserver.messages import JSON, PROTOBUF, Request
from trimtab.apiserver.protobuf.decoding import read_protobuf

Json: TypeAlias = dict[str, Any]

_SCHEME = 'in scheme "pkg/runtime/scheme.go:111"'


def object_of(call: Call, request: Request, facts: Facts) -> Json:
    """The object in the body of a create or an update."""
    kind = call.target.kind
    media = reading.media_of(request.header("content-type"))
    if media == PROTOBUF:
        obj = _from_protobuf(request.body, kind, facts)
    else:
        obj = reading.read_object(request.body, media, kind.kind)
    if kind.custom is not None:
        _check_custom_type(kind, obj, request.body)
    else:
        _check_type(kind, obj)
    faults: list[str] = []
    if call.options.validation != "Ignore" and media == JSON:
        faults = reading.duplicates(request.body, obj)
    return conformed(call, obj, faults, request.body)


def _from_protobuf(body: bytes, kind: Kind, facts: Facts) -> Json:
    if len(body) > reading.LARGEST:
        raise statuses.too_large(reading.LARGEST)
    try:
        return read_protobuf(body, facts)
    except reading.Unreadable as error:
        said = f"the object provided is unrecognized (must be of type {kind.kind}): {error} ({body[:30].hex()})"
        raise statuses.bad_request(said) from error


def conformed(call: Call, obj: Json, faults: list[str], body: bytes = b"") -> Json:
    """The object as its kind holds it; what it has no place for is told of, or refused.

    `faults` are what was found in the body before.
    """
    kind = call.target.kind
    try:
        made, unknown = hold(kind, obj)
    except Mistyped as error:
        raise not_handled(kind, str(error)) from error
    mixed = faults and unknown and kind.custom is None
    note_faults(call, reading.in_order(body, faults + unknown) if mixed else faults + unknown)
    check_namespace(call, cast("Json", made.setdefault("metadata", {})))
    return made


def check_namespace(call: Call, metadata: Json) -> None:
    """The object in a body has to be where the address says."""
    if call.target.namespace and metadata.get("namespace") not in (None, "", call.target.namespace):
        said = "the namespace of the provided object does not match the namespace sent on the request"
        raise statuses.bad_request(said)


def note_faults(call: Call, faults: list[str]) -> None:
    """Warn of what an object has no place for, or refuse it, as the writer wishes."""
    if faults and call.options.validation == "Strict":
        raise not_handled(call.target.kind, "strict decoding error: " + ", ".join(faults))
    if call.options.validation == "Warn":
        call.warnings += faults


def check_name(name: str, wanted: str) -> None:
    """The object in a body has to be the one in the address."""
    if not name:
        said = f"the name of the object ({wanted} based on URL) was undeterminable: name must be provided"
        raise statuses.bad_request(said)
    if name != wanted:
        raise statuses.bad_request(f"the name of the object ({name}) does not match the name on the URL ({wanted})")


def delete_body(request: Request, facts: Facts) -> Json:
    """The options in the body of a deletion, {} without one."""
    if not request.body:
        return {}
    media = reading.media_of(request.header("content-type"))
    try:
        given = read_protobuf(request.body, facts) if media == PROTOBUF else reading.parse(request.body, media)
    except reading.Unreadable as error:
        raise statuses.bad_request(f"couldn't get version/kind; {error}") from error
    if not isinstance(given, dict):
        raise statuses.bad_request("couldn't get version/kind; the body is no object")
    body = dict(cast("Json", given))
    kind, version = body.pop("kind", "DeleteOptions"), body.pop("apiVersion", "v1")
    if kind != "DeleteOptions":
        raise statuses.bad_request(f'no kind "{kind}" is registered for version "{version}" {_SCHEME}')
    schema = facts.schema("", "v1", "DeleteOptions")
    if schema is None:
        return body
    try:
        return conform(schema, body, fill=False)[0]
    except Mistyped as error:
        raise statuses.bad_request(str(error)) from error


def not_handled(kind: Kind, why: str) -> statuses.Refused:
    """The refusal of a body that its kind cannot hold."""
    said = f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: {why}'
    return statuses.bad_request(said)


def _check_custom_type(kind: Kind, obj: Json, body: bytes) -> None:
    """What is sent of a custom kind has to say what it is."""
    version, name = obj.get("apiVersion") or "", obj.get("kind") or ""
    if not name:
        said = f"Object 'Kind' is missing in '{body.decode('utf-8', 'replace')}'"
        raise statuses.bad_request(reading.unrecognized(kind.kind, said, body))
    if version != kind.api_version:
        said = f"does not match the expected API version ({kind.api_version})"
        raise statuses.bad_request(f"the API version in the data ({version}) {said}")
    if name != kind.kind:
        given: Any = obj.get("metadata")
        called = cast("Json", given).get("name") if isinstance(given, dict) else ""
        about = causes.invalid("kind", name, f"must be {kind.kind}")
        raise statuses.invalid(name, kind.group, called if isinstance(called, str) else "", [about])


def _check_type(kind: Kind, obj: Json) -> None:
    version, name = obj.get("apiVersion") or kind.api_version, obj.get("kind") or kind.kind
    if (version, name) == (kind.api_version, kind.kind):
        return
    if version != kind.api_version and name == kind.kind:
        said = f'no kind "{name}" is registered for version "{version}" {_SCHEME}'
    else:
        package = kind.group.partition(".")[0] or "core"
        given = f"{version.rpartition('/')[2]}.{name}"
        said = f"converting ({given}) to ({package}.{kind.kind}): unknown conversion"
    short = version.rpartition("/")[2]
    raise statuses.bad_request(f'{name} in version "{short}" cannot be handled as a {kind.kind}: {said}')
