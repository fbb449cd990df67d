"""RuntimeClass: a Pod has the overhead of the runtime that it wants, and goes to nodes that have it."""

from __future__ import annotations

from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver.causes import quoted
from trimtab.apiserver.objects import decode
from trimtab.apiserver.plugins.attempt import Attempt
from trimtab.apiserver.plugins.plugin import Plugin
from trimtab.kube.quantity import Quantity

Json: TypeAlias = dict[str, Any]

_CLASSES: Final = "runtimeclasses.node.k8s.io"


class RuntimeClass(Plugin):
    """Nobody gives a Pod an overhead: they name a class."""

    buckets = frozenset({"pods"})

    def admit(self, attempt: Attempt) -> None:
        """Add what the class says."""
        found = self._class(attempt)
        if found is None:
            return
        spec = attempt.spec
        if overhead := _overhead(found):
            if spec.get("overhead") and not _same(spec["overhead"], overhead):
                raise attempt.forbidden("pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead")
            spec["overhead"] = overhead
        scheduling = cast("Json", found.get("scheduling") or {})
        wanted = cast("dict[str, str]", spec.get("nodeSelector") or {})
        for key, value in cast("dict[str, str]", scheduling.get("nodeSelector") or {}).items():
            if wanted.get(key, value) != value:
                raise attempt.forbidden(
                    f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; "
                    f"pod.spec.nodeSelector[{key}] = {wanted[key]}"
                )
            wanted = spec["nodeSelector"] = {**wanted, key: value}
        there = cast("list[Json]", spec.get("tolerations") or [])
        added = [each for each in cast("list[Json]", scheduling.get("tolerations") or []) if each not in there]
        if added:
            spec["tolerations"] = [*there, *added]

    def validate(self, attempt: Attempt) -> None:
        """Refuse an overhead that no class says."""
        if attempt.operation != "CREATE" or attempt.subresource:
            return
        given, found = attempt.spec.get("overhead"), self._class(attempt)
        overhead = None if found is None else _overhead(found)
        if overhead:
            if not _same(given or {}, overhead):
                raise attempt.forbidden("pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead")
        elif given is not None:
            raise attempt.forbidden(
                "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
            )

    def _class(self, attempt: Attempt) -> Json | None:
        if attempt.operation != "CREATE" or attempt.subresource:
            return None
        name = attempt.spec.get("runtimeClassName")
        if name is None:
            return None
        record = self.store.get(_CLASSES, name)
        if record is None:
            raise attempt.forbidden(f"pod rejected: RuntimeClass {quoted(name)} not found")
        return decode(record.data)


def _overhead(found: Json) -> Json:
    return cast("Json", cast("Json", found.get("overhead") or {}).get("podFixed") or {})


def _same(one: Json, other: Json) -> bool:
    return {name: Quantity(each) for name, each in one.items()} == {k: Quantity(v) for k, v in other.items()}
