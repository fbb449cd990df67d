"""The fake server of the cache's tests, with what controllers need beside: server-side apply, status, preconditions."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import msgspec
from tests.cache.fakeserver import FakeServer
from tests.cache.samples import Obj, merged, status
from tests.cache.streams import Asked

from trimtab.client.patches import APPLY
from trimtab.client.request import Request
from trimtab.client.transport import Broken, Response

Leaves = dict[tuple[str, ...], Any]
WRITES = ("create", "update", "patch", "delete")


class ApiServer(FakeServer):
    """A write that changes nothing changes nothing here; `admit` may change what is written, as defaults do."""

    def __init__(self, *served: type[Any]) -> None:
        super().__init__(*served)
        self.admit: Callable[[Obj], None] = lambda _: None
        self.before_write: Callable[[Asked], None] = lambda _: None
        self.lost_answers = 0  # of writes that were done
        self._applied: dict[tuple[str, str], dict[str, Leaves]] = {}

    async def send(self, request: Request) -> Response:
        response = await super().send(request)
        if self.lost_answers and request.verb in WRITES:
            self.lost_answers -= 1
            raise Broken(f"cannot {request}: the answer was lost")
        return response

    @property
    def writes(self) -> list[Asked]:
        return self.asked_for(*WRITES)

    def written(self) -> list[str]:
        """The writes, in short."""
        return [f"{asked.verb} {asked.plural}/{asked.name}" for asked in self.writes]

    def get(self, plural: str, key: str) -> Obj | None:
        return self.current[plural].get(key)

    def _write(self, asked: Asked) -> tuple[int, bytes]:
        if asked.request.verb in WRITES:
            self.before_write(asked)
        name, _, subresource = asked.name.partition("/")
        key = f"{asked.namespace}/{name}" if asked.namespace else name
        before = self.current[asked.plural].get(key)
        body = msgspec.json.decode(asked.request.body or b"{}")
        wanted = body.get("preconditions") or body.get("metadata") or {}
        if before is not None and any(
            wanted.get(field) not in (None, "", before["metadata"][field]) for field in ("uid", "resourceVersion")
        ):
            return status(409, "Conflict", message="it is another one, or of another version")
        if asked.request.verb != "patch":
            return super()._write(asked)
        applies = asked.request.content_type == APPLY
        if before is None and not applies:
            return status(404, "NotFound")
        if applies:
            result = self._apply(asked, key, before, body)
            if result is None:
                return status(409, "Conflict", message="another manager owns a field")
        else:
            assert before is not None
            result = merged(before, body)
        return self._store(asked, name, before, result, subresource)

    def _store(self, asked: Asked, name: str, before: Obj | None, result: Obj, subresource: str) -> tuple[int, bytes]:
        assert asked.resource is not None
        if subresource:
            assert before is not None
            result = {**deepcopy(before), "status": result.get("status", {})}
        elif before is not None and "status" in before:
            result["status"] = before["status"]
        place = {"name": name, **({"namespace": asked.namespace} if asked.namespace else {})}
        identity = {"kind": asked.resource.kind, "apiVersion": asked.resource.api_version, "metadata": place}
        result = merged(result, identity)
        self.admit(result)
        if before is not None:
            result["metadata"]["resourceVersion"] = before["metadata"]["resourceVersion"]
            if result == before:
                return 200, msgspec.json.encode(before)
        return 200, msgspec.json.encode(self._put(result))

    def _apply(self, asked: Asked, key: str, before: Obj | None, body: Obj) -> Obj | None:
        """Fields that are set are set, those that this manager set before and leaves out go; None for a conflict."""
        manager, forced = asked.query["fieldManager"], asked.query.get("force") == "true"
        if before is None:
            self._applied.pop((asked.plural, key), None)
        managers = self._applied.setdefault((asked.plural, key), {})
        mine = _leaves(body)
        others: Leaves = {}
        for who, leaves in managers.items():
            if who != manager:
                others |= leaves
        fought = {path for path, value in mine.items() if path in others and others[path] != value}
        if fought and not forced:
            return None
        for leaves in managers.values():
            for path in fought:
                leaves.pop(path, None)
        result = deepcopy(before) if before is not None else {}
        for path in managers.get(manager, {}).keys() - mine.keys() - others.keys():
            _remove(result, path)
        managers[manager] = mine
        result = merged(result, body)
        result["metadata"]["managedFields"] = [{"manager": who, "operation": "Apply"} for who in managers]
        return result


def _leaves(value: Obj, path: tuple[str, ...] = ()) -> Leaves:
    found: Leaves = {}
    for name, inner in value.items():
        if isinstance(inner, dict) and inner:
            found |= _leaves(inner, (*path, name))
        elif (*path, name) not in {("apiVersion",), ("kind",), ("metadata", "name"), ("metadata", "namespace")}:
            found[(*path, name)] = inner
    return found


def _remove(obj: Obj, path: tuple[str, ...]) -> None:
    for name in path[:-1]:
        obj = obj.get(name) or {}
    obj.pop(path[-1], None)


def of_kind(api_version: str, kind: str, name: str, namespace: str = "default", **parts: Any) -> Obj:
    """An object as JSON; `metadata=` adds to its metadata."""
    meta = {"name": name, **({"namespace": namespace} if namespace else {}), **parts.pop("metadata", {})}
    return {"kind": kind, "apiVersion": api_version, "metadata": meta, **parts}
