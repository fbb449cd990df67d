"""What stands in the table of Pods."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, TypeAlias

from trimtab.apiserver.cells.words import (
    NONE,
    age,
    age_of,
    conditions,
    containers,
    is_going,
    is_true,
    items,
    labels,
    name_of,
    part,
)

Json: TypeAlias = dict[str, Any]

_ENDED: Final = {
    "Succeeded": "The pod has completed successfully.",
    "Failed": "The pod failed.",
}


def pod(obj: Json, now: datetime) -> list[Any]:
    """Name, Ready, Status, Restarts, Age, IP, Node, Nominated Node, Readiness Gates."""
    spec, status = part(obj, "spec"), part(obj, "status")
    lasting = _lasting(spec)
    first, later = _Seen(), _Seen()
    reason = _first_reason(obj)
    said = _begin(obj, lasting, first)
    if not said or is_true(obj, "Initialized"):
        later.restarts, later.ends = first.lasting_restarts, list(first.lasting_ends)
        reason = _run(obj, said or reason, later)
        counted = later
    else:
        reason, counted = said, first
    if is_going(obj):
        if status.get("reason") == "NodeLost":
            reason = "Unknown"
        elif status.get("phase") not in _ENDED:
            reason = "Terminating"
    ready, total = first.ready + later.ready, len(items(spec, "containers")) + len(lasting)
    gates = items(spec, "readinessGates")
    met = sum(1 for gate in gates if is_true(obj, gate.get("conditionType", "")))
    ips = items(status, "podIPs")
    return [
        name_of(obj), f"{ready}/{total}", reason, counted.text(now), age_of(obj, now),
        (ips[0].get("ip") if ips else "") or NONE, spec.get("nodeName") or NONE,
        status.get("nominatedNodeName") or NONE, f"{met}/{len(gates)}" if gates else NONE,
    ]  # fmt: skip


def pod_conditions(obj: Json) -> list[Json]:
    """What is said of the row of a Pod that is over."""
    phase = part(obj, "status").get("phase", "")
    if phase not in _ENDED:
        return []
    return [{"type": "Completed", "status": "True", "reason": phase, "message": _ENDED[phase]}]


def pod_template(obj: Json, now: datetime) -> list[Any]:
    """Name, Containers, Images, Pod Labels."""
    del now
    template = part(obj, "template")
    return [name_of(obj), *containers(template), labels(part(template, "metadata", "labels"))]


@dataclass
class _Seen:
    """What was counted while looking through containers."""

    ready: int = 0
    restarts: int = 0
    ends: list[str] = field(default_factory=list[str])  # of the runs before
    lasting_restarts: int = 0  # of those that come first and stay
    lasting_ends: list[str] = field(default_factory=list[str])

    def count(self, container: Json, *, lasting: bool = False) -> None:
        """Note how often it was started again, and when it ended last."""
        end = part(container, "lastState", "terminated").get("finishedAt")
        self.restarts += container.get("restartCount", 0)
        self.ends += [end] if end else []
        if lasting:
            self.lasting_restarts += container.get("restartCount", 0)
            self.lasting_ends += [end] if end else []

    def text(self, now: datetime) -> str:
        """`3 (5m ago)`."""
        last = max(self.ends, default=None)
        return f"{self.restarts} ({age(last, now)} ago)" if self.restarts and last else str(self.restarts)


def _lasting(spec: Json) -> set[str]:
    """The containers that come first and stay."""
    return {each.get("name", "") for each in items(spec, "initContainers") if each.get("restartPolicy") == "Always"}


def _first_reason(obj: Json) -> str:
    gated = any(
        each.get("type") == "PodScheduled" and each.get("reason") == "SchedulingGated" for each in conditions(obj)
    )
    status = part(obj, "status")
    return "SchedulingGated" if gated else status.get("reason") or status.get("phase", "")


def _begin(obj: Json, lasting: set[str], seen: _Seen) -> str:
    """What its containers that come first are at; "" once they are through."""
    wanted = items(part(obj, "spec"), "initContainers")
    for number, each in enumerate(items(part(obj, "status"), "initContainerStatuses")):
        stays = each.get("name") in lasting
        seen.count(each, lasting=stays)
        state = part(each, "state")
        over, waits = state.get("terminated"), part(state, "waiting")
        if over is not None and not over.get("exitCode"):
            continue
        if stays and each.get("started"):
            seen.ready += 1 if each.get("ready") else 0
            continue
        if over is not None:
            return f"Init:{_ended(over)}"
        if waits.get("reason") not in (None, "", "PodInitializing"):
            return f"Init:{waits['reason']}"
        return f"Init:{number}/{len(wanted)}"
    return ""


def _run(obj: Json, reason: str, seen: _Seen) -> str:
    """What its containers are at."""
    runs, failed = False, ""
    for each in reversed(items(part(obj, "status"), "containerStatuses")):
        seen.count(each)
        state = part(each, "state")
        over, waits = state.get("terminated"), part(state, "waiting")
        if waits.get("reason"):
            reason = waits["reason"]
        elif over is not None:
            reason = _ended(over)
            failed = reason if over.get("exitCode") else failed
        elif each.get("ready") and "running" in state:
            runs = True
            seen.ready += 1
    if reason != "Completed":
        return reason
    if runs and is_true(obj, "Ready"):
        return "Running"
    return failed or ("NotReady" if runs else reason)


def _ended(over: Json) -> str:
    if over.get("reason"):
        return over["reason"]
    return f"Signal:{over['signal']}" if over.get("signal") else f"ExitCode:{over.get('exitCode', 0)}"
