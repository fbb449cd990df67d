"""Priority: a Pod has the priority of its class, or of the one that is the default."""

from __future__ import annotations

from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver.objects import decode
from trimtab.apiserver.plugins.attempt import Attempt
from trimtab.apiserver.plugins.plugin import Means, Plugin, Remembered

Json: TypeAlias = dict[str, Any]

_CLASSES: Final = "priorityclasses.scheduling.k8s.io"
_NO_CLASS: Final[Json] = {"metadata": {"name": ""}, "value": 0, "preemptionPolicy": "PreemptLowerPriority"}


class Priority(Plugin):
    """Nobody gives a Pod a number: they name a class."""

    buckets = frozenset({"pods", _CLASSES})

    def __init__(self, means: Means) -> None:
        super().__init__(means)
        self._default = Remembered(means.store, _CLASSES, _default_of)

    def admit(self, attempt: Attempt) -> None:
        """Resolve the class; an update that leaves out the number keeps it."""
        if attempt.bucket != "pods" or attempt.subresource:
            return
        spec = attempt.spec
        if attempt.operation == "UPDATE":
            was = cast("Json", (attempt.old or {}).get("spec") or {})
            for name in ("priority", "preemptionPolicy"):
                if spec.get(name) is None and name in was:
                    spec[name] = was[name]
            return
        found = self._class(attempt, spec.get("priorityClassName") or "")
        value, policy = found.get("value", 0), found.get("preemptionPolicy")
        if (given := spec.get("priority")) is not None and given != value:
            raise attempt.forbidden(
                f"the integer value of priority ({given}) must not be provided in pod spec; priority admission "
                f"controller computed {value} from the given PriorityClass name"
            )
        if policy and (asked := spec.get("preemptionPolicy")) and asked != policy:
            raise attempt.forbidden(
                f"the string value of PreemptionPolicy ({asked}) must not be provided in pod spec; priority admission "
                f"controller computed {policy} from the given PriorityClass name"
            )
        if name := found["metadata"]["name"]:
            spec["priorityClassName"] = name
        spec["priority"] = value
        if policy:
            spec["preemptionPolicy"] = policy

    def validate(self, attempt: Attempt) -> None:
        """There is one default."""
        if attempt.bucket != _CLASSES or attempt.operation == "DELETE" or attempt.subresource:
            return
        there = self._default.get()["metadata"]["name"]
        if not attempt.obj.get("globalDefault") or not there:
            return
        if attempt.operation == "CREATE" or there != attempt.name:
            raise attempt.forbidden(f"PriorityClass {there} is already marked as default. Only one default can exist")

    def _class(self, attempt: Attempt, name: str) -> Json:
        if not name:
            return self._default.get()
        record = self.store.get(_CLASSES, name)
        if record is None:
            raise attempt.forbidden(f"no PriorityClass with name {name} was found")
        return decode(record.data)


def _default_of(classes: list[Json]) -> Json:
    """Of several that say they are the default, as a race may leave them, the lowest."""
    marked = (each for each in classes if each.get("globalDefault"))
    return min(marked, key=lambda each: each["value"], default=_NO_CLASS)
