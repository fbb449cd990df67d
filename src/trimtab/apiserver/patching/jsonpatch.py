"""JSON patch (RFC 6902), as lenient as kube-apiserver's: negative indexes count from the end, replacing adds."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
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
    """An operation that cannot be done, or a test that failed, in the words of Kubernetes' library."""


class TestFailedError(FailedError):
    """What was tested is something else."""

    __test__ = False  # so that pytest does not take it for one of its own


class _NowhereError(FailedError):
    """There is nothing in which something could be under that path."""


@not_too_deep
def json_patch(obj: Any, operations: Any) -> Any:
    """The object after the operations; Refused where they are none, or one of them cannot be done."""
    patch = _operations(operations)
    document = _copied(obj)
    for operation in patch:
        do = _OPERATIONS.get(operation.get("op") or "", _unknown)
        try:
            document = do(document, operation)
        except FailedError as error:
            raise unprocessable() from error
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
        raise FailedError(f"{operation['op']} operation failed to decode {key}: missing value")
    return path


def _container(document: Any, path: str) -> tuple[Any, str]:
    """The map or list that holds what a path names, and under which key."""
    _, *parts = path.split("/")
    if not parts:  # what is before the first slash is ignored
        raise _NowhereError(path)
    *above, last = [part.replace("~1", "/").replace("~0", "~") for part in parts]
    for part in above:
        try:
            document = _get(document, part)
        except FailedError as error:
            raise _NowhereError(path) from error
        if not is_map(document) and not is_list(document):
            raise _NowhereError(path)
    return document, last


def _get(container: Any, key: str) -> Any:
    if is_map(container):
        return container.get(key, _ABSENT)
    items: list[Any] = container
    return items[_index(key, len(items) - 1)]


def _index(key: str, highest: int) -> int:
    if not _INDEX.fullmatch(key):
        why = f'strconv.Atoi: parsing "{key}": invalid syntax'
        raise FailedError(f"value was not a proper array index: '{key}': {why}")
    index = int(key)
    if index > highest or index < -(highest + 1):
        raise FailedError(f"Unable to access invalid index: {index}: invalid index referenced")
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
            raise FailedError(f"Unable to remove nonexistent key: {key}: missing value")
        return container.pop(key)
    items: list[Any] = container
    return items.pop(_index(key, len(items) - 1))


def _add(document: Any, operation: Mapping[str, Any]) -> Any:
    path = _path(operation)
    with _telling(f'add operation does not apply: doc is missing path: "{path}"', f"error in add for path: '{path}'"):
        container, key = _container(document, path)
        _put(container, key, _copied(operation.get("value")), insert=True)
    return document


def _remove(document: Any, operation: Mapping[str, Any]) -> Any:
    path = _path(operation)
    nowhere = f'remove operation does not apply: doc is missing path: "{path}"'
    with _telling(nowhere, f"error in remove for path: '{path}'"):
        _take(*_container(document, path))
    return document


def _replace(document: Any, operation: Mapping[str, Any]) -> Any:
    path, value = _path(operation), _copied(operation.get("value"))
    if not path:
        if not is_map(value) and not is_list(value):
            raise FailedError("replace operation value must be object or array")
        return value
    missing = "replace operation does not apply: doc is missing"
    with _telling(f"{missing} path: {path}", f"{missing} key: {path}: missing value", whole=True):
        container, key = _container(document, path)
        _put(container, key, value, insert=False)
    return document


def _move(document: Any, operation: Mapping[str, Any]) -> Any:
    source, path = _path(operation, "from"), _path(operation)
    failed = "error in move for path: '{}'".format
    with _telling(f"move operation does not apply: doc is missing from path: {source}", failed(source)):
        value = _take(*_container(document, source))
    with _telling(f"move operation does not apply: doc is missing destination path: {path}", failed(path)):
        container, key = _container(document, path)
        _put(container, key, value, insert=True)
    return document


def _copy(document: Any, operation: Mapping[str, Any]) -> Any:
    source, path = _path(operation, "from"), _path(operation)
    nowhere = f"copy operation does not apply: doc is missing from path: {source}"
    with _telling(nowhere, f"error in copy for from: '{source}'"):
        value = _get(*_container(document, source))
    nowhere = f"copy operation does not apply: doc is missing destination path: {path}"
    with _telling(nowhere, "error while adding value during copy"):
        container, key = _container(document, path)
        _put(container, key, None if value is _ABSENT else _copied(value), insert=True)
    return document


def _unknown(document: Any, operation: Mapping[str, Any]) -> Any:  # noqa: ARG001  # as all operations are
    raise FailedError(f"Unexpected kind: {operation.get('op') or 'unknown'}")


def _test(document: Any, operation: Mapping[str, Any]) -> Any:
    path, wanted = _path(operation), operation.get("value")
    with _telling(f"test operation does not apply: is missing path: {path}", f"error in test for path: '{path}'"):
        found = _get(*_container(document, path)) if path else document
    if found is _ABSENT:
        found = None
    if type(found) is not type(wanted) or not equal(found, wanted):
        raise TestFailedError(f"testing value {path} failed: test failed")
    return document


@contextmanager
def _telling(nowhere: str, failed: str, *, whole: bool = False) -> Generator[None]:
    """Say of what fails within on which way it was; `whole` says that the reason adds nothing."""
    try:
        yield
    except _NowhereError as error:
        raise FailedError(f"{nowhere}: missing value") from error
    except FailedError as error:
        raise FailedError(failed if whole else f"{failed}: {error}") from error


_OPERATIONS: Final[dict[str, Callable[[Any, Mapping[str, Any]], Any]]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}
