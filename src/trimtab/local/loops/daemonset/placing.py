"""Where a DaemonSet has Pods, and what is to be done about it: pure decisions, node by node."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from msgspec import field as default

from trimtab.controllers.replicaset.making import TemplateView
from trimtab.controllers.replicaset.pods import ENDED, PodSpecView, PodView, available_in
from trimtab.kube.apps.v1 import DaemonSet
from trimtab.kube.core.v1 import Affinity, Node, Pod, Taint, Toleration
from trimtab.kube.intorstring import scaled
from trimtab.kube.wire import from_wire
from trimtab.local.loops.history import OF_PODS
from trimtab.local.scheduling.tainted import tolerates
from trimtab.local.scheduling.wanted import Wanted, wanted_of

_PREFIX: Final = "node.kubernetes.io/"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_CLOSED: Final = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")


class DaemonPodSpec(PodSpecView):
    """Of a Pod's spec: which node it is for."""

    affinity: Affinity | None = None


class DaemonPod(PodView):
    """Of a Pod of a DaemonSet: which node it is for."""

    spec: DaemonPodSpec = default(default_factory=DaemonPodSpec)  # pyright: ignore[reportIncompatibleVariableOverride]  # read only


def tolerations_for(*, host_network: bool) -> list[Toleration]:
    """What Pods of DaemonSets put up with: what is wrong with a node is no reason for them to leave."""
    names = [("not-ready", "NoExecute"), ("unreachable", "NoExecute")]
    names += [(f"{each}-pressure", "NoSchedule") for each in ("disk", "memory", "pid")]
    names += [("unschedulable", "NoSchedule")] + ([("network-unavailable", "NoSchedule")] if host_network else [])
    return [Toleration(key=_PREFIX + name, operator="Exists", effect=effect) for name, effect in names]


def template_pod(template: TemplateView) -> Wanted:
    """What a Pod of this template asks of a node."""
    pod = from_wire(Pod, {"metadata": {"name": "any", "namespace": "any"}, "spec": template.spec})
    pod.spec.tolerations += tolerations_for(host_network=bool(pod.spec.host_network))
    return wanted_of(pod)


def may_run(pod: Wanted, node: Node, only: str | None = None) -> tuple[bool, bool]:
    """Whether a Pod is to be started on a node, and whether one that is there may stay. `only` names the one node."""
    name = node.metadata.name
    if (only and only != name) or not pod.chooses(name, node.metadata.labels):
        return False, False
    taints = [*node.spec.taints, *([_CLOSED] if node.spec.unschedulable else [])]
    against = {taint.effect for taint in taints if not tolerates(pod.tolerations, taint)}
    return not against & {"NoSchedule", "NoExecute"}, "NoExecute" not in against


def node_of(pod: DaemonPod) -> str:
    """The node that it is on, or for."""
    if pod.spec.node_name:
        return pod.spec.node_name
    nodes = pod.spec.affinity.node_affinity if pod.spec.affinity is not None else None
    required = nodes.required_during_scheduling_ignored_during_execution if nodes is not None else None
    for term in required.node_selector_terms if required is not None else ():
        for each in term.match_fields:
            if each.key == "metadata.name" and each.operator == "In" and len(each.values) == 1:
                return each.values[0]
    return ""


def bound_to(spec: Mapping[str, Any], node: str, tolerations: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The spec of a Pod for this node alone: the scheduler puts it there, when there is room."""
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    affinity = {**spec.get("affinity", {})}
    mine = {**affinity.get("nodeAffinity", {})}
    mine["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": [term]}
    affinity["nodeAffinity"] = mine
    return {**spec, "affinity": affinity, "tolerations": [*spec.get("tolerations", ()), *tolerations]}


@dataclass(frozen=True, slots=True)
class Limits:
    """How many nodes may be without an available Pod during an update, and on how many two may be."""

    unavailable: int
    surge: int
    rolling: bool = True


def limits_of(obj: DaemonSet, nodes: int) -> Limits:
    """What its spec says, for so many nodes."""
    said = obj.spec.update_strategy.rolling_update
    surge = scaled(said.max_surge or 0, nodes, round_up=True) if said is not None else 0
    usual = 0 if surge else 1
    most = said.max_unavailable if said is not None else None
    unavailable = scaled(usual if most is None else most, nodes, round_up=True)
    if not surge and not unavailable:
        unavailable = 1
    return Limits(unavailable, surge, obj.spec.update_strategy.type != "OnDelete")


@dataclass(slots=True)
class Plan:
    """What is to be done."""

    create: list[str] = field(default_factory=list[str])
    """The nodes that want a Pod."""
    delete: list[DaemonPod] = field(default_factory=list[DaemonPod])
    ended: list[DaemonPod] = field(default_factory=list[DaemonPod])
    """Those that have ended, though they should run for ever: they go, too."""


@dataclass(slots=True)
class Place:
    """A node with the Pods that are for it."""

    node: str
    starts: bool
    stays: bool
    pods: list[DaemonPod] = field(default_factory=list[DaemonPod])

    def running(self) -> list[DaemonPod]:
        """Those that go on; who is on the node and older first."""
        left = [p for p in self.pods if p.metadata.deletion_timestamp is None and p.status.phase not in ENDED]
        return sorted(left, key=lambda p: (not p.spec.node_name, _made(p)))


def places_of(nodes: Mapping[str, tuple[bool, bool]], pods: Iterable[DaemonPod]) -> list[Place]:
    """All nodes, and those that are not there any more and have Pods."""
    places = {name: Place(name, *may) for name, may in nodes.items()}
    for pod in pods:
        name = node_of(pod)
        places.setdefault(name, Place(name, starts=False, stays=False)).pods.append(pod)
    return list(places.values())


def fill(places: Sequence[Place], revision: str, limits: Limits, min_ready: int, now: datetime) -> Plan:
    """One Pod on each node that wants one, none on the others."""
    plan = Plan()
    for place in places:
        if place.starts and not place.pods:
            plan.create.append(place.node)
        elif place.stays:
            plan.ended += [p for p in place.pods if p.status.phase in ENDED and p.metadata.deletion_timestamp is None]
            running = place.running()
            if limits.surge and limits.rolling:
                _keep_two(plan, running, revision, min_ready, now)
            else:
                plan.delete += running[1:]
        else:
            plan.delete += [pod for pod in place.pods if pod.metadata.deletion_timestamp is None]
    return plan


def _keep_two(plan: Plan, running: Sequence[DaemonPod], revision: str, min_ready: int, now: datetime) -> None:
    """During an update with a surge: an old Pod beside a new one, until that is available."""
    new = [pod for pod in running if is_of(pod, revision)]
    old = [pod for pod in running if not is_of(pod, revision)]
    if new and is_available(new[0], min_ready, now):
        plan.delete += old
    else:
        plan.delete += old[1:]
    plan.delete += new[1:]


def update(places: Sequence[Place], revision: str, limits: Limits, min_ready: int, now: datetime) -> Plan:
    """The next Pods of an old revision that make room for new ones."""
    plan = Plan()
    if not limits.rolling:
        return plan
    wanted = [place for place in places if place.starts]
    down = surging = 0
    free: list[Place] = []
    spare: list[Place] = []
    for place in wanted:
        running = place.running()
        new = [pod for pod in running if is_of(pod, revision)]
        old = [pod for pod in running if not is_of(pod, revision)]
        if not any(is_available(pod, min_ready, now) for pod in running):
            down += 1
        if new and old:
            surging += 1
        elif old and not is_available(old[0], min_ready, now):
            free.append(place)
        elif old and len(running) == len(place.pods):
            spare.append(place)
    if limits.surge:
        plan.create += [place.node for place in free + spare][: max(limits.surge - surging, 0)]
        return plan
    chosen = free + spare[: max(limits.unavailable - down, 0)]
    plan.delete += [pod for place in chosen for pod in place.running()]
    return plan


def _made(pod: PodView) -> datetime:
    return pod.metadata.creation_timestamp or _EPOCH


def is_of(pod: PodView, revision: str) -> bool:
    """Whether it is of this revision."""
    return pod.metadata.labels.get(OF_PODS) == revision


def is_available(pod: PodView, min_ready: int, now: datetime) -> bool:
    """Whether it is ready, and has been for long enough."""
    return available_in(pod, min_ready, now) == 0


def counts_of(places: Sequence[Place], revision: str, min_ready: int, now: datetime) -> dict[str, int]:
    """The numbers of the status."""
    wanted = [place for place in places if place.starts]
    oldest = [min(place.pods, key=_made) for place in wanted if place.pods]
    available = sum(any(is_available(pod, min_ready, now) for pod in place.pods) for place in wanted)
    return {
        "desired_number_scheduled": len(wanted),
        "current_number_scheduled": sum(bool(place.pods) for place in wanted),
        "number_misscheduled": sum(bool(place.pods) for place in places if not place.starts and place.node),
        "number_ready": sum(available_in(pod, 0, now) == 0 for pod in oldest),
        "updated_number_scheduled": sum(is_of(pod, revision) for pod in oldest),
        "number_available": available,
        "number_unavailable": len(wanted) - available,
    }
