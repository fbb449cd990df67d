"""Conditions of a Pod, as the server itself sets them."""

from __future__ import annotations

from typing import Any, TypeAlias, cast

Json: TypeAlias = dict[str, Any]


def set_condition(pod: Json, type_: str, stamp: str, reason: str = "", message: str = "") -> None:
    """Say that something is true of a Pod; since when stays, where it was true before."""
    status = cast("Json", pod.setdefault("status", {}))
    there = cast("list[Json]", status.get("conditions") or [])
    made = {"type": type_, "status": "True", "lastProbeTime": None, "lastTransitionTime": stamp}
    made |= {name: text for name, text in (("reason", reason), ("message", message)) if text}
    for condition in there:
        if condition.get("type") == type_:
            if condition.get("status") == "True":
                made["lastTransitionTime"] = condition.get("lastTransitionTime")
            condition.update(made)
            return
    status["conditions"] = [*there, made]
