"""JSON patch (RFC 6902), as lenient as kube-apiserver's: negative indexes count from the end, replacing adds."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from trimtab.apiserver.patching.gotext import go_kind
from trimtab.apiserver.patching.refusals import not_too_deep, unprocessable
from trimtab.apiserver.patching.typedsets import equal
from trimtab.apiserver.patching.values import is_list, is_map
from trimtab.apiserver.statuses import Refused, bad_request

MOST_OPERATIONS: Final = 10_000

_INDEX: Final = re.compile(r"[+-]?[0-9]+", re.ASCII)
_ABSENT: Final[Any] = object()
_FIELDS: Final = frozenset({"op", "path", "from", "value"})


class FailedError(Exception):
    """An operation that cannot be done, or a test that failed."""


@not_too_deep
def json_patch(obj: Any, operations: Any) -> Any:
    """The object after the operations; Refused where they are none, or one of them cannot be done."""
    patch = _operations(operations)
    document = _copied(obj)
    for number, operation in enumerate(patch):
        do = _OPERATIONS.get(operation.get("op") or "", _unknown)
        try:
            document = do(document, operation)
        except FailedError as error:
            raise unprocessable() from FailedError(f"operation {number}: {error}")
    return document


def unknown_fields(operations: Any) -> list[str]:
    """What stands in the operations and means nothing there."""
    if not is_list(operations):
        return []
    return [
        f'unknown field "[{number}].{key}"'
        for number, operation in enumerate(operations)
        if is_map(operation)
        for key in operation
        if key not in _FIELDS
    ]


def _copied(value: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(value))


def _operations(operations: Any) -> list[dict[str, Any]]:
    if not is_list(operations):
        raise _unreadable(operations, "value of type []handlers.jsonPatchOp")
    for operation in operations:
        if not is_map(operation):
            raise _unreadable(operation, "value of type handlers.jsonPatchOp")
        for key in ("op", "path", "from"):
            value: Any = operation.get(key, "")
            if not isinstance(value, str | None):
                raise _unreadable(value, f"struct field jsonPatchOp.{key} of type string")
    if len(operations) > MOST_OPERATIONS:
        what = f"The allowed maximum operations in a JSON patch is {MOST_OPERATIONS}, got {len(operations)}"
        raise Refused("RequestEntityTooLarge", f"Request entity too large: {what}")
    return operations


def _unreadable(value: Any, what: str) -> Refused:
    return bad_request(f"error decoding patch: json: cannot unmarshal {go_kind(value)} into Go {what}")


def _path(operation: Mapping[str, Any], key: str = "path") -> str:
    path = operation.get(key)
    if path is None:
        raise FailedError(f"it has no {key}")
    return path


def _container(document: Any, path: str) -> tuple[Any, str]:
    """The map or list that holds what a path names, and under which key."""
    first, *parts = path.split("/")
    if not parts:
        raise FailedError(f"the path {first!r} does not begin with a slash")
    *above, last = [part.replace("~1", "/").replace("~0", "~") for part in parts]
    for part in above:
        document = _get(document, part)
        if not is_map(document) and not is_list(document):
            raise FailedError(f"there is nothing at {path}")
    return document, last


def _get(container: Any, key: str) -> Any:
    if is_map(container):
        return container.get(key, _ABSENT)
    items: list[Any] = container
    return items[_index(key, len(items) - 1)]


def _index(key: str, highest: int) -> int:
    if not _INDEX.fullmatch(key):
        raise FailedError(f"{key!r} is no index of a list")
    index = int(key)
    if index > highest or index < -(highest + 1):
        raise FailedError(f"the list has no index {index}")
    return index if index >= 0 else index + highest + 1


def _put(container: Any, key: str, value: Any, *, insert: bool) -> None:
    if is_map(container):
        container[key] = value
        return
    items: list[Any] = container
    if not insert:
        items[_index(key, len(items) - 1)] = value
    elif key == "-":
        items.append(value)
    else:
        items.insert(_index(key, len(items)), value)


def _take(container: Any, key: str) -> Any:
    if is_map(container):
        if key not in container:
            raise FailedError(f"there is no key {key!r} to remove")
        return container.pop(key)
    items: list[Any] = container
    return items.pop(_index(key, len(items) - 1))


def _add(document: Any, operation: Mapping[str, Any]) -> Any:
    container, key = _container(document, _path(operation))
    _put(container, key, _copied(operation.get("value")), insert=True)
    return document


def _remove(document: Any, operation: Mapping[str, Any]) -> Any:
    _take(*_container(document, _path(operation)))
    return document


def _replace(document: Any, operation: Mapping[str, Any]) -> Any:
    path, value = _path(operation), _copied(operation.get("value"))
    if not path:
        if not is_map(value) and not is_list(value):
            raise FailedError("the whole can only be replaced by an object or a list")
        return value
    container, key = _container(document, path)
    _put(container, key, value, insert=False)
    return document


def _move(document: Any, operation: Mapping[str, Any]) -> Any:
    value = _take(*_container(document, _path(operation, "from")))
    container, key = _container(document, _path(operation))
    _put(container, key, value, insert=True)
    return document


def _copy(document: Any, operation: Mapping[str, Any]) -> Any:
    value = _get(*_container(document, _path(operation, "from")))
    container, key = _container(document, _path(operation))
    _put(container, key, None if value is _ABSENT else _copied(value), insert=True)
    return document


def _unknown(document: Any, operation: Mapping[str, Any]) -> Any:  # noqa: ARG001  # as all operations are
    raise FailedError(f"there is no operation {operation.get('op')!r}")


def _test(document: Any, operation: Mapping[str, Any]) -> Any:
    path, wanted = _path(operation), operation.get("value")
    found = _get(*_container(document, path)) if path else document
    if found is _ABSENT:
        found = None
    if type(found) is not type(wanted) or not equal(found, wanted):
        raise FailedError(f"what is at {path} is something else")
    return document


_OPERATIONS: Final[dict[str, Callable[[Any, Mapping[str, Any]], Any]]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}
