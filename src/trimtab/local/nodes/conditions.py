"""The conditions of a Pod, as its kubelet sets them."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from trimtab.kube.core.v1 import Pod

Json: TypeAlias = dict[str, Any]

_OURS: Final = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")


def conditions_of(
    pod: Pod, there: list[Json], status: Json, *, initialized: bool, stamp: str, over: bool
) -> list[Json]:
    """The conditions that go with a status; those of others stay."""
    before = {each["type"]: each for each in there}
    containers: list[Json] = status["containerStatuses"]
    if over:
        done = status["phase"] == "Succeeded"
        reason = "PodCompleted" if done else "PodFailed"
        started = _said("Initialized", True, "PodCompleted" if done else "")
        all_ready, ready = (_said(name, False, reason) for name in ("ContainersReady", "Ready"))
    else:
        inits = [each["name"] for each in status.get("initContainerStatuses") or () if not each["ready"]]
        unready = [each["name"] for each in containers if not each["ready"]]
        lacks = f"containers with incomplete status: [{' '.join(inits)}]"
        started = (
            _said("Initialized", True)
            if initialized
            else _said("Initialized", False, "ContainersNotInitialized", lacks)
        )
        lacks = f"containers with unready status: [{' '.join(unready)}]"
        all_ready = (
            _said("ContainersReady", False, "ContainersNotReady", lacks)
            if unready or not initialized
            else _said("ContainersReady", True)
        )
        ready = _ready(pod, all_ready, before)
    scheduled = before.get("PodScheduled") or _said("PodScheduled", True)
    network = _said("PodReadyToStartContainers", not over)
    generation = pod.metadata.generation or 0
    made = [
        _since(each, before.get(each["type"]), stamp, generation)
        for each in (network, started, ready, all_ready, scheduled)
    ]
    return made + [each for each in there if each["type"] not in _OURS]


def _ready(pod: Pod, all_ready: Json, before: dict[str, Json]) -> Json:
    """A Pod is ready when its containers are, and all that its readiness gates wait for is true."""
    said = [all_ready["message"]] if "message" in all_ready else []
    reason = all_ready.get("reason", "")
    for gate in pod.spec.readiness_gates:
        condition = before.get(gate.condition_type)
        if condition is None:
            said.append(f'corresponding condition of pod readiness gate "{gate.condition_type}" does not exist.')
        elif condition["status"] != "True":
            said.append(
                f'the status of pod readiness gate "{gate.condition_type}" is not "True", but {condition["status"]}'
            )
    if not said:
        return _said("Ready", True)
    return _said("Ready", False, reason or "ReadinessGatesNotReady", ", ".join(said))


def _said(name: str, holds: bool, reason: str = "", message: str = "") -> Json:
    made: Json = {"type": name, "status": "True" if holds else "False"}
    if reason:
        made["reason"] = reason
    if message:
        made["message"] = message
    return made


def _since(condition: Json, before: Json | None, stamp: str, generation: int) -> Json:
    """The condition with the time since when it is so."""
    since = before.get("lastTransitionTime") if before is not None and before["status"] == condition["status"] else None
    made = {**condition, "lastTransitionTime": since or stamp}
    if condition["type"] in _OURS[:-1] and generation:
        made["observedGeneration"] = generation
    return made
