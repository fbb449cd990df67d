"""The station that reads bodies: from JSON or YAML to a dict, with limits on what comes from outside."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Final, TypeAlias, cast

import msgspec
import yaml
from yaml.scanner import ScannerError

from trimtab.apiserver import gojson, statuses
from trimtab.apiserver.causes import quoted
from trimtab.apiserver.messages import YAML
from trimtab.apiserver.negotiation import TYPES
from trimtab.errors import one_line

Json: TypeAlias = dict[str, Any]

LARGEST: Final = 3 << 20
"""Bytes of a body."""

_MOST_ALIASED: Final = 100_000  # values of YAML with aliases: each may stand for many lines
_DEEPEST: Final = 500  # collections within collections of YAML: libyaml takes each on the stack, and dies of too many
_SHOWN: Final = 30  # bytes of a body that an error quotes


class Unreadable(Exception):
    """A body that is none, with the words of why."""


def media_of(content_type: str, types: Sequence[str] = TYPES) -> str:
    """The type of a body. Refused where it is none of these."""
    media = content_type.partition(";")[0].strip().lower()
    if not media:
        return types[0]
    if media not in types:
        raise statuses.unsupported_media_type(types)
    return media


def parse(body: bytes, media: str) -> Any:
    """What a body says, whatever it is. Raises Unreadable."""
    if len(body) > LARGEST:
        raise statuses.too_large(LARGEST)
    return _parse_yaml(body) if media == YAML else parse_json(body)


def parse_json(body: bytes) -> Any:
    """What JSON says. What is no UTF-8 in it is replaced, as Go does."""
    try:
        return msgspec.json.decode(body)
    except UnicodeDecodeError:
        return parse_json(body.decode("utf-8", "replace").encode())
    except RecursionError as error:
        raise Unreadable(f"json parse error: {gojson.fault(body) or 'exceeded max depth'}") from error
    except msgspec.DecodeError as error:
        return _parse_leniently(body, error)


def _parse_leniently(body: bytes, error: Exception) -> Any:
    """Go takes half of a surrogate pair, and replaces it; what it does not take either stays an error."""
    if b"\\u" in body:
        try:
            value = json.loads(body)
            return msgspec.json.decode(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
        except (ValueError, RecursionError, msgspec.DecodeError):
            pass
    raise Unreadable(f"json parse error: {gojson.fault(body) or one_line(str(error))}") from error


def _parse_yaml(body: bytes) -> Any:
    try:
        text = body.decode("utf-8", "replace")
        _check_depth(text)
        value: Any = next(iter(yaml.load_all(text, _Loader)), None)
        most = _MOST_ALIASED if b"&" in body else len(body) + 1
        # Through JSON: what YAML has and JSON has not (other keys than text) is read as Kubernetes reads it.
        return msgspec.json.decode(msgspec.json.encode(_Jsonable(most).of(value)))
    except RecursionError as error:
        raise Unreadable("yaml: exceeded max depth") from error
    except yaml.MarkedYAMLError as error:
        raise Unreadable(f"yaml: {_yaml_fault(error)}") from error
    except (yaml.YAMLError, ValueError, TypeError) as error:
        raise Unreadable(f"yaml: {one_line(str(error))}") from error


def _check_depth(text: str) -> None:
    """Raises RecursionError where YAML is nested too deep to be loaded."""
    if len(text) <= _DEEPEST:  # each level takes a character at least
        return
    depth = 0
    for event in yaml.parse(text, yaml.CSafeLoader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > _DEEPEST:
                raise RecursionError
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def _yaml_fault(error: yaml.MarkedYAMLError) -> str:
    """What is wrong with YAML as Go's reader says it, which counts the lines of its scanner from one."""
    mark = error.problem_mark or error.context_mark
    line = (mark.line if mark else 0) + isinstance(error, ScannerError)
    said = one_line(error.problem or str(error))
    return f"line {line}: {said}" if mark and mark.line else said


class _Loader(yaml.CSafeLoader):
    """YAML as Kubernetes reads it: times stay text, and y and n are no text."""

    bool_values: ClassVar[dict[str, bool]] = {**yaml.CSafeLoader.bool_values, "y": True, "n": False}


_YES_OR_NO: Final = ("tag:yaml.org,2002:bool", re.compile(r"[yYnN]\Z"))
_Loader.yaml_implicit_resolvers = {
    first: [_YES_OR_NO, *(each for each in resolvers if each[0] != "tag:yaml.org,2002:timestamp")]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


class _Jsonable:
    """What YAML says, as JSON: an alias stands for as much as is said there, up to a limit."""

    def __init__(self, most: int) -> None:
        self._left = most

    def of(self, value: Any) -> Any:
        """The value without what JSON does not have."""
        self._left -= 1
        if self._left < 0:
            raise ValueError("document contains excessive aliasing")
        if isinstance(value, dict):
            return {_key(key): self.of(item) for key, item in cast("dict[Any, Any]", value).items()}
        if isinstance(value, list):
            return [self.of(item) for item in cast("list[Any]", value)]
        if value is None or isinstance(value, str | bool | int | float):
            return value
        raise TypeError(f"{type(value).__name__} has no place in JSON")


def _key(key: Any) -> str:
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, str | int | float):
        return str(key)
    raise TypeError("keys have to be text")


def read_object(body: bytes, media: str, kind: str) -> Json:
    """An object; `kind` is what it has to be, for what an error says."""
    try:
        value = parse(body, media)
    except Unreadable as error:
        found = error.args[0]
        said = found if media == YAML else f"couldn't get version/kind; {found}"
        raise statuses.bad_request(f"{_unrecognized(kind)}: {said} ({_shown(body)})") from error
    if value is None:
        return {}
    if not isinstance(value, dict):
        words = {list: "array", str: "string", bool: "bool"}
        what = words.get(cast("type[Any]", type(value)), "number")
        said = f"json: cannot unmarshal {what} into Go value of type {GO_TYPE_META}"
        raise statuses.bad_request(
            f"{_unrecognized(kind)}: couldn't get version/kind; json parse error: {said} ({_shown(body)})"
        )
    return _typed(cast("Json", value), body, kind)


GO_TYPE_META: Final = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
)


def _typed(value: Json, body: bytes, kind: str) -> Json:
    for name in ("apiVersion", "kind"):
        given = value.get(name)
        if given is not None and not isinstance(given, str):
            said = f"json: cannot unmarshal {json_type(given)} into Go struct field .{name} of type string"
            raise statuses.bad_request(
                f"{_unrecognized(kind)}: couldn't get version/kind; json parse error: {said} ({_shown(body)})"
            )
    version = value.get("apiVersion") or ""
    if version.count("/") > 1:
        said = f"unexpected GroupVersion string: {version}"
        raise statuses.bad_request(f"{_unrecognized(kind)}: {said} ({_shown(body)})")
    return value


def json_type(value: Any) -> str:
    """What Go calls it."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "number"
    if isinstance(value, float):
        return f"number {value!r}"
    return "string" if isinstance(value, str) else "array" if isinstance(value, list) else "object"


def unrecognized(kind: str, why: str, body: bytes) -> str:
    """Why a body is no object of a kind."""
    return f"{_unrecognized(kind)}: {why} ({_shown(body)})"


def _unrecognized(kind: str) -> str:
    return f"the object provided is unrecognized (must be of type {kind})"


def _shown(body: bytes) -> str:
    if not body:
        return "<empty>"
    if not body.lstrip().startswith(b"{"):
        return body[:_SHOWN].hex() + (" ..." if len(body) > _SHOWN else "")
    text = body[:_SHOWN].decode("utf-8", "replace")
    return text if len(body) <= _SHOWN else f"{text} ..."


def duplicates(body: bytes, value: Any) -> list[str]:
    """The fields that stand twice in JSON, as `spec.containers[0].name`.

    Finding them takes a slow reading, so it is made only where something of the body is missing in what was read.
    """
    if body.count(b'"') == msgspec.json.encode(value).count(b'"'):
        return []
    return [_duplicate(where) for where, again in _paths(body) if again]


def in_order(body: bytes, faults: list[str]) -> list[str]:
    """Fields that stand twice and fields that are unknown, as they come in JSON: so Go tells of its own types."""
    places: dict[str, int] = {}
    for place, (where, again) in enumerate(_paths(body)):
        places.setdefault(_duplicate(where) if again else f"unknown field {quoted(where)}", place)
    return sorted(faults, key=lambda fault: places.get(fault, len(places)))


def _duplicate(where: str) -> str:
    return f"duplicate field {quoted(where)}"


class _Pairs:
    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        self.pairs = pairs


def _paths(body: bytes) -> Iterator[tuple[str, bool]]:
    """The fields in JSON as they come, and of each whether it was there already."""
    try:
        whole = json.loads(body.decode("utf-8", "replace"), object_pairs_hook=_Pairs)
    except (ValueError, RecursionError):
        return
    yield from _paths_in(whole, "")


def _paths_in(value: Any, path: str) -> Iterator[tuple[str, bool]]:
    if isinstance(value, _Pairs):
        seen: set[str] = set()
        for key, item in value.pairs:
            where = f"{path}.{key}" if path else key
            yield where, key in seen
            seen.add(key)
            yield from _paths_in(item, where)
    elif isinstance(value, list):
        for index, item in enumerate(cast("list[Any]", value)):
            yield from _paths_in(item, f"{path}[{index}]")


def repeated_keys(body: bytes) -> list[str]:
    """The keys that stand twice in an object, as Go's reader of YAML tells of them."""
    try:
        text = body.decode("utf-8", "replace")
        _check_depth(text)
        node = yaml.compose(text, yaml.CSafeLoader)
    except (yaml.YAMLError, RecursionError, ValueError):
        return []
    found: list[str] = []
    todo: list[Any] = [node]
    while todo:
        node = todo.pop()
        if isinstance(node, yaml.MappingNode):
            seen: set[str] = set()
            for key, value in cast("list[tuple[Any, Any]]", node.value):
                if isinstance(key.value, str):
                    if key.value in seen:
                        found.append(f"line {key.start_mark.line + 1}: key {quoted(key.value)} already set in map")
                    seen.add(key.value)
                todo.append(value)
        elif isinstance(node, yaml.SequenceNode):
            todo += reversed(cast("list[Any]", node.value))
    return found
