"""The life of a Pod on a simulated node: from the Pod as it is to what is to be written of it now. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, TypeAlias

from trimtab.kube.core.v1 import Container, ContainerStatus, Pod
from trimtab.kube.wire import to_wire
from trimtab.local.nodes.behaviour import BadAnnotation, Behaviour, behaviour_of, words_of
from trimtab.local.nodes.conditions import conditions_of
from trimtab.local.nodes.containers import KILLED, STOPPED, Look, advance, end, judge, waiting

Json: TypeAlias = dict[str, Any]

ENDED: Final = frozenset({"Succeeded", "Failed"})
_DEADLINE: Final = "Pod was active on the node longer than the specified deadline"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a Pod is: the node's address, and where the Pod's own comes from when it needs one."""

    host_ip: str
    address: Callable[[], str]


@dataclass(frozen=True, slots=True)
class Next:
    """What becomes of a Pod now."""

    status: Mapping[str, Any] | None = None
    """Fields of the status to be set; None where it is as it should be."""
    gone: bool = False
    """It has ended as it was asked to, and goes."""
    after: float | None = None
    """Seconds after which to look again, unless it changes before."""
    events: Sequence[tuple[str, str, str]] = ()
    """Type, reason and message of what is to be told."""


def next_of(pod: Pod, place: Place, now: datetime) -> Next:
    """What becomes of a Pod that is on this node."""
    meta = pod.metadata
    if pod.status.phase in ENDED:
        return Next(gone=meta.deletion_timestamp is not None and bool(meta.deletion_grace_period_seconds))
    life = _Life(pod, now)
    if meta.deletion_timestamp is not None:
        return life.end_of(meta.deletion_timestamp, meta.deletion_grace_period_seconds or 0)
    return life.go_on(place)


class _Life:
    """One look at one Pod that has not ended."""

    def __init__(self, pod: Pod, now: datetime) -> None:
        self._pod = pod
        self._look = Look(pod, now)
        self._inits = _by_name(pod.status.init_container_statuses)
        self._mains = _by_name(pod.status.container_statuses)
        owners = pod.metadata.owner_references
        self._of_job = any(owner.controller and owner.kind == "Job" for owner in owners)

    def go_on(self, place: Place) -> Next:
        """It is to run."""
        pod, look = self._pod, self._look
        begun = pod.status.start_time
        if begun is not None and self._is_over(begun):
            return self._killed("DeadlineExceeded", _DEADLINE)
        first = "PodInitializing" if pod.spec.init_containers else "ContainerCreating"
        for spec in pod.spec.init_containers:
            self._inits.setdefault(spec.name, waiting(spec, "PodInitializing"))
        for spec in pod.spec.containers:
            self._mains.setdefault(spec.name, waiting(spec, first))
        initialized, broken = self._initialize()
        if initialized:
            for spec in pod.spec.containers:
                status, does = self._mains[spec.name], self._behaviour(spec, ends=self._of_job or _echoes(spec))
                advance(status, spec, does, look, self._restarts)
                judge(status, spec, does, look)
        phase = "Failed" if broken else self._phase(initialized=initialized)
        wanted: Json = {"phase": phase}
        if begun is None:
            wanted["startTime"] = look.stamp
        if place.host_ip and pod.status.host_ip != place.host_ip:
            wanted |= {"hostIP": place.host_ip, "hostIPs": [{"ip": place.host_ip}]}
        if not pod.status.pod_ip:
            address = place.host_ip if pod.spec.host_network else place.address()
            wanted |= {"podIP": address, "podIPs": [{"ip": address}]}
        return self._next(wanted, initialized=initialized)

    def end_of(self, deadline: datetime, grace: int) -> Next:
        """It is to go."""
        look = self._look
        running = [spec for spec in self._pod.spec.containers if _runs(self._mains.get(spec.name))]
        begun = deadline - timedelta(seconds=grace)
        hangs = any(self._behaviour(spec, ends=False).hangs_after is not None for spec in running)
        needs = grace if hangs else min(grace, max((_pre_stop(spec) for spec in running), default=0))
        for spec in running:
            look.tell("Normal", "Killing", f"Stopping container {spec.name}")
        left = (begun + timedelta(seconds=needs) - look.now).total_seconds()
        if left > 0:
            return Next(after=left, events=look.events)
        if not self._pod.metadata.finalizers:
            return Next(gone=True, events=look.events)
        return self._killed("", "", code=KILLED if hangs else STOPPED)  # who holds it sees how it ended

    # Inner parts

    def _initialize(self) -> tuple[bool, bool]:
        """Let init containers run, one after the other: whether all have, and whether one failed for good."""
        look = self._look
        for spec in self._pod.spec.init_containers:
            status, sidecar = self._inits[spec.name], spec.restart_policy == "Always"
            does = self._behaviour(spec, ends=not sidecar, init=True)
            advance(status, spec, does, look, (lambda _: True) if sidecar else self._restarts_init)
            judge(status, spec, does, look)
            ended = status["state"].get("terminated")
            if sidecar:
                if not status["started"]:
                    return False, False
            elif ended is None or ended["exitCode"]:
                return False, ended is not None and not self._restarts_init(ended["exitCode"])
            else:
                status["ready"] = True
        return True, False

    def _restarts(self, code: int) -> bool:
        policy = self._pod.spec.restart_policy or "Always"
        return policy == "Always" or (policy == "OnFailure" and code != 0)

    def _restarts_init(self, code: int) -> bool:
        return code != 0 and self._pod.spec.restart_policy != "Never"

    def _behaviour(self, spec: Container, *, ends: bool, init: bool = False) -> Behaviour:
        try:
            return behaviour_of(self._pod.metadata.annotations, spec.name, ends=ends, init=init)
        except BadAnnotation as error:
            self._look.tell("Warning", "BadAnnotation", str(error))
            return behaviour_of({}, spec.name, ends=ends)

    def _phase(self, *, initialized: bool) -> str:
        states = [self._mains[spec.name] for spec in self._pod.spec.containers]
        if not initialized or any("waiting" in s["state"] and not s.get("lastState") for s in states):
            return "Pending"
        codes = [s["state"]["terminated"]["exitCode"] for s in states if "terminated" in s["state"]]
        if len(codes) < len(states) or any(self._restarts(code) for code in codes):
            return "Running"
        return "Failed" if any(codes) else "Succeeded"

    def _is_over(self, begun: datetime) -> bool:
        most = self._pod.spec.active_deadline_seconds
        if most is None:
            return False
        left = (begun + timedelta(seconds=most) - self._look.now).total_seconds()
        if left > 0:
            self._look.wake.append(left)
        return left <= 0

    def _killed(self, reason: str, message: str, code: int = KILLED) -> Next:
        """All containers end now, and the Pod with them."""
        for status in (*self._inits.values(), *self._mains.values()):
            if "terminated" not in status["state"]:
                end(status, self._look, code)
        codes = [status["state"]["terminated"]["exitCode"] for status in self._mains.values()]
        wanted: Json = {"phase": "Failed" if reason or not codes or any(codes) else "Succeeded"}
        if reason:
            wanted |= {"reason": reason, "message": message}
        return self._next(wanted, initialized=True)

    def _next(self, wanted: Json, *, initialized: bool) -> Next:
        pod, look = self._pod, self._look
        before: Json = to_wire(pod.status)
        if over := wanted["phase"] in ENDED:
            for spec in pod.spec.init_containers:
                if _runs(self._inits.get(spec.name)):  # a sidecar ends with those that it was for
                    end(self._inits[spec.name], look, 0)
        generation = pod.metadata.generation or 0
        wanted["observedGeneration"] = generation
        wanted["containerStatuses"] = [
            self._mains[spec.name] for spec in pod.spec.containers if spec.name in self._mains
        ]
        if pod.spec.init_containers:
            wanted["initContainerStatuses"] = [self._inits[spec.name] for spec in pod.spec.init_containers]
        wanted["conditions"] = conditions_of(
            pod, before.get("conditions") or [], wanted, initialized=initialized, stamp=look.stamp, over=over
        )
        changed = {name: value for name, value in wanted.items() if before.get(name) != value}
        return Next(changed or None, after=min(look.wake, default=None), events=look.events if changed else ())


def _by_name(statuses: Sequence[ContainerStatus]) -> dict[str, Json]:
    return {status.name: to_wire(status) for status in statuses}


def _runs(status: Json | None) -> bool:
    return status is not None and "running" in status["state"]


def _echoes(spec: Container) -> bool:
    return words_of([*spec.command, *spec.args]) is not None


def _pre_stop(spec: Container) -> int:
    """Seconds that a container sleeps before it is stopped."""
    hook = spec.lifecycle.pre_stop if spec.lifecycle is not None else None
    return hook.sleep.seconds if hook is not None and hook.sleep is not None else 0
