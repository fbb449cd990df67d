"""DefaultTolerationSeconds: a Pod stays five minutes on a node that is not ready, or not to be reached."""

from __future__ import annotations

from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver.plugins.attempt import Attempt
from trimtab.apiserver.plugins.plugin import Plugin

Json: TypeAlias = dict[str, Any]

_TAINTS: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_SECONDS: Final = 300


class DefaultTolerationSeconds(Plugin):
    """Unless it says otherwise itself."""

    buckets = frozenset({"pods"})

    def admit(self, attempt: Attempt) -> None:
        """Add the tolerations that are missing."""
        if attempt.subresource:
            return
        given = cast("list[Json]", attempt.spec.get("tolerations") or [])
        added = [
            {"key": taint, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _SECONDS}
            for taint in _TAINTS
            if not any(_tolerates(each, taint) for each in given)
        ]
        if added:
            attempt.spec["tolerations"] = [*given, *added]


def _tolerates(toleration: Json, taint: str) -> bool:
    return (toleration.get("key") or taint) == taint and (toleration.get("effect") or "NoExecute") == "NoExecute"
