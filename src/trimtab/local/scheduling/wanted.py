"""What a Pod asks of a node, read once from its spec."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from trimtab.kube.core.v1 import (
    NodeSelectorTerm,
    PersistentVolume,
    Pod,
    PodAffinityTerm,
    ResourceRequirements,
    Toleration,
    TopologySpreadConstraint,
)
from trimtab.kube.hints import QuantityLike
from trimtab.kube.invalid import InvalidValueError
from trimtab.kube.quantity import Quantity
from trimtab.kube.selectors import Operator, Requirement, Selector

Amounts = Mapping[str, int]
"""By resource: processors in thousandths, everything else in ones."""
Port = tuple[str, str, int]

_OPERATORS: Final[Mapping[str, Operator]] = {
    "In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!", "Gt": ">", "Lt": "<",
}  # fmt: skip
_ANYWHERE: Final = "0.0.0.0"  # noqa: S104 - how a host port says that it is taken on all addresses
_USUAL_CPU: Final = 100
_USUAL_MEMORY: Final = 200 << 20


@dataclass(frozen=True, slots=True)
class Term:
    """One way in which a node may be chosen: all of its requirements hold."""

    labels: tuple[Requirement, ...]
    fields: tuple[Requirement, ...]

    def matches(self, name: str, labels: Mapping[str, str]) -> bool:
        """Whether a node of this name and these labels is meant. A term that wants nothing means none."""
        if not (self.labels or self.fields):
            return False
        about = {"metadata.name": name}
        return all(one.matches(labels) for one in self.labels) and all(one.matches(about) for one in self.fields)


@dataclass(frozen=True, slots=True)
class Relation:
    """Pods that this one wants to be near, or far from."""

    selector: Selector
    key: str
    namespaces: frozenset[str]
    in_namespaces: Selector | None
    """Namespaces by their labels; None for none but those that are named."""
    weight: int = 0

    def means(self, namespace: str, labels: Mapping[str, str], namespaces: Mapping[str, Mapping[str, str]]) -> bool:
        """Whether a Pod is meant."""
        if namespace not in self.namespaces:
            chosen = self.in_namespaces
            if chosen is None or not (chosen.is_everything or chosen.matches(namespaces.get(namespace, {}))):
                return False
        return self.selector.matches(labels)


@dataclass(frozen=True, slots=True)
class Spread:
    """How evenly Pods that are alike are to be spread."""

    selector: Selector
    key: str
    most: int
    required: bool
    least_domains: int
    honors_affinity: bool
    honors_taints: bool


@dataclass(frozen=True, slots=True, eq=False)
class Wanted:
    """What one Pod asks for."""

    key: str
    uid: str
    namespace: str
    labels: Mapping[str, str]
    priority: int
    preempts: bool
    requests: Amounts
    weight: Amounts
    """What it counts for where nodes are compared: containers that ask for nothing count too."""
    ports: tuple[Port, ...] = ()
    node_labels: tuple[tuple[str, str], ...] = ()
    terms: tuple[Term, ...] | None = None
    liked: tuple[tuple[int, Term], ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    near: tuple[Relation, ...] = ()
    far: tuple[Relation, ...] = ()
    near_liked: tuple[Relation, ...] = ()
    far_liked: tuple[Relation, ...] = ()
    spread: tuple[Spread, ...] = ()
    claims: tuple[str, ...] = ()
    volumes: tuple[tuple[Term, ...], ...] = ()
    """Of each volume that cannot be everywhere: where it can."""

    def chooses(self, name: str, labels: Mapping[str, str]) -> bool:
        """Whether its selector and its affinity let it be on a node."""
        if any(labels.get(key) != value for key, value in self.node_labels):
            return False
        return self.terms is None or any(term.matches(name, labels) for term in self.terms)

    def reaches(self, name: str, labels: Mapping[str, str]) -> bool:
        """Whether all its volumes can be on a node."""
        return all(any(term.matches(name, labels) for term in terms) for terms in self.volumes)


def wanted_of(pod: Pod) -> Wanted:
    """Read a Pod."""
    spec, meta = pod.spec, pod.metadata
    affinity = spec.affinity
    nodes = affinity.node_affinity if affinity is not None else None
    near = affinity.pod_affinity if affinity is not None else None
    far = affinity.pod_anti_affinity if affinity is not None else None
    required = nodes.required_during_scheduling_ignored_during_execution if nodes is not None else None
    requests = requests_of(pod)
    return Wanted(
        key=f"{meta.namespace}/{meta.name}",
        uid=meta.uid,
        namespace=meta.namespace,
        labels=meta.labels,
        priority=spec.priority or 0,
        preempts=spec.preemption_policy != "Never",
        requests=requests,
        weight={
            "cpu": requests.get("cpu", 0) or _USUAL_CPU * len(spec.containers),
            "memory": requests.get("memory", 0) or _USUAL_MEMORY * len(spec.containers),
        },
        ports=tuple(
            (port.protocol or "TCP", port.host_ip or _ANYWHERE, port.host_port)
            for container in spec.containers
            for port in container.ports
            if port.host_port
        ),
        node_labels=tuple(spec.node_selector.items()),
        terms=None if required is None else tuple(map(_term, required.node_selector_terms)),
        liked=tuple(
            (each.weight, _term(each.preference))
            for each in (nodes.preferred_during_scheduling_ignored_during_execution if nodes is not None else ())
        ),
        tolerations=tuple(spec.tolerations),
        near=_relations(pod, near.required_during_scheduling_ignored_during_execution if near is not None else ()),
        far=_relations(pod, far.required_during_scheduling_ignored_during_execution if far is not None else ()),
        near_liked=tuple(
            _relation(pod, each.pod_affinity_term, each.weight)
            for each in (near.preferred_during_scheduling_ignored_during_execution if near is not None else ())
        ),
        far_liked=tuple(
            _relation(pod, each.pod_affinity_term, each.weight)
            for each in (far.preferred_during_scheduling_ignored_during_execution if far is not None else ())
        ),
        spread=tuple(_spread(pod, each) for each in spec.topology_spread_constraints),
        claims=tuple(
            volume.persistent_volume_claim.claim_name
            for volume in spec.volumes
            if volume.persistent_volume_claim is not None
        ),
    )


def requests_of(pod: Pod) -> dict[str, int]:
    """What a Pod asks for: its containers together, or the most that one of its init containers asks for before."""
    spec = pod.spec
    total: dict[str, int] = {}
    for container in spec.containers:
        _add(total, amounts(_asked(container.resources)))
    beside: dict[str, int] = {}
    most: dict[str, int] = {}
    for container in spec.init_containers:
        asked = amounts(_asked(container.resources))
        if container.restart_policy == "Always":
            _add(beside, asked)
            peak: Amounts = beside
        else:
            peak = dict(asked)
            _add(peak, beside)
        for name, amount in peak.items():
            most[name] = max(most.get(name, 0), amount)
    _add(total, beside)
    for name, amount in most.items():
        total[name] = max(total.get(name, 0), amount)
    total.update(amounts(_asked(spec.resources)))  # what is asked for the whole Pod is what counts
    _add(total, amounts(spec.overhead))
    return {name: amount for name, amount in total.items() if amount}


def amounts(given: Mapping[str, QuantityLike]) -> dict[str, int]:
    """Quantities as numbers."""
    return {name: _amount(name == "cpu", str(value)) for name, value in given.items()}


@lru_cache(maxsize=4096)
def _amount(in_thousandths: bool, text: str) -> int:
    quantity = Quantity(text)
    return quantity.milli() if in_thousandths else quantity.value()


def _asked(resources: ResourceRequirements | None) -> Mapping[str, QuantityLike]:
    return resources.requests if resources is not None else {}


def _add(total: dict[str, int], more: Amounts) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount


def places_of(volume: PersistentVolume) -> tuple[Term, ...] | None:
    """Where a volume can be; None where it can be everywhere."""
    affinity = volume.spec.node_affinity
    if affinity is None or affinity.required is None:
        return None
    return tuple(map(_term, affinity.required.node_selector_terms))


def _term(term: NodeSelectorTerm) -> Term:
    labels, fields = (
        tuple(Requirement(each.key, _OPERATORS[each.operator], tuple(each.values)) for each in part)
        for part in (term.match_expressions, term.match_fields)
    )
    return Term(labels, fields)


def _relations(pod: Pod, terms: Iterable[PodAffinityTerm]) -> tuple[Relation, ...]:
    return tuple(_relation(pod, each) for each in terms)


def _relation(pod: Pod, term: PodAffinityTerm, weight: int = 0) -> Relation:
    named = frozenset(term.namespaces)
    chosen = None if term.namespace_selector is None else Selector.from_struct(term.namespace_selector)
    if not named and chosen is None:
        named = frozenset([pod.metadata.namespace])
    return Relation(Selector.from_struct(term.label_selector), term.topology_key, named, chosen, weight)


def _spread(pod: Pod, given: TopologySpreadConstraint) -> Spread:
    selector = Selector.from_struct(given.label_selector)
    labels = pod.metadata.labels
    try:
        alike = tuple(Requirement(key, "=", (labels[key],)) for key in given.match_label_keys if key in labels)
    except InvalidValueError:
        alike = ()
    return Spread(
        selector=Selector((*selector.requirements, *alike)) if alike and not selector.is_nothing else selector,
        key=given.topology_key,
        most=given.max_skew,
        required=given.when_unsatisfiable != "ScheduleAnyway",
        least_domains=given.min_domains or 1,
        honors_affinity=given.node_affinity_policy != "Ignore",
        honors_taints=given.node_taints_policy == "Honor",
    )
