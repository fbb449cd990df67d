"""TaintNodesByCondition: a node that is new is not ready, and says so before anything is put on it."""

from __future__ import annotations

from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver.plugins.attempt import Attempt
from trimtab.apiserver.plugins.plugin import Plugin

Json: TypeAlias = dict[str, Any]

_KEY: Final = "node.kubernetes.io/not-ready"
_EFFECT: Final = "NoSchedule"


class TaintNodesByCondition(Plugin):
    """Who finds it ready takes the taint away: the node lifecycle controller."""

    buckets = frozenset({"nodes"})

    def admit(self, attempt: Attempt) -> None:
        """Add the taint."""
        if attempt.operation != "CREATE" or attempt.subresource:
            return
        given = cast("list[Json]", attempt.spec.get("taints") or [])
        if not any((each.get("key"), each.get("effect")) == (_KEY, _EFFECT) for each in given):
            attempt.spec["taints"] = [*given, {"key": _KEY, "effect": _EFFECT}]
