"""Which Pods a Service leads to, at which of their ports, and when that changed last."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from ipaddress import ip_address
from typing import Any, Final, TypeAlias

from msgspec import field

from trimtab.controller import Options
from trimtab.kube.base import Struct
from trimtab.kube.conditions import find_condition, is_condition_true
from trimtab.kube.core.v1 import ContainerPort, PodCondition, PodIP, Service, ServicePort
from trimtab.kube.meta.v1 import ObjectMeta

Json: TypeAlias = dict[str, Any]

HEADLESS: Final = "service.kubernetes.io/headless"
"""A label of what leads to a Service without an address of its own."""
CHANGED_AT: Final = "endpoints.kubernetes.io/last-change-trigger-time"
_ENDED: Final = ("Succeeded", "Failed")


class _Container(Struct):
    ports: list[ContainerPort] = []
    restart_policy: str | None = None


class _Spec(Struct):
    containers: list[_Container] = []
    init_containers: list[_Container] = []
    node_name: str | None = None
    hostname: str | None = None
    subdomain: str | None = None


class _Status(Struct):
    phase: str | None = None
    pod_ip: str | None = field(default=None, name="podIP")
    pod_ips: list[PodIP] = field(default=[], name="podIPs")
    conditions: list[PodCondition] = []


class Member(Struct):
    """Of a Pod, what matters to who wants to reach it."""

    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: _Spec = field(default_factory=_Spec)
    status: _Status = field(default_factory=_Status)


def has_endpoints(service: Service) -> bool:
    """Whether it is ours to say where a Service leads: without a selector others say so."""
    return service.spec.type != "ExternalName" and bool(service.spec.selector)


def is_headless(service: Service) -> bool:
    """Whether a Service has no address of its own."""
    return service.spec.cluster_ip in (None, "", "None")


def belongs(pod: Member, *, also_terminating: bool) -> bool:
    """Whether a Pod can be reached, or could be soon: it has an address and has not ended."""
    if pod.status.phase in _ENDED or not (pod.status.pod_ip or pod.status.pod_ips):
        return False
    return also_terminating or pod.metadata.deletion_timestamp is None


def is_ready(pod: Member) -> bool:
    """Whether it says that it can be reached."""
    return is_condition_true(pod.status.conditions, "Ready")


def addresses(pod: Member, family: str) -> list[str]:
    """The Pod's addresses of a family, IPv4 or IPv6."""
    version = 6 if family == "IPv6" else 4
    parsed = (ip_address(each.ip) for each in pod.status.pod_ips)
    return [str(each) for each in parsed if each.version == version]


def hostname(pod: Member, service: Service) -> str | None:
    """Under which name the Pod is known in the domain of the Service, if it is."""
    return pod.spec.hostname if pod.spec.hostname and pod.spec.subdomain == service.metadata.name else None


def reference(pod: Member) -> Json:
    """What an endpoint says of whose it is."""
    meta = pod.metadata
    return {"kind": "Pod", "namespace": meta.namespace, "name": meta.name, "uid": meta.uid}


def ports(pod: Member, service: Service) -> list[Json]:
    """The ports of a Pod that a Service leads to; what is named and not there is left out."""
    found: list[Json] = []
    for port in service.spec.ports:
        number = _number(pod, port)
        if number is None:
            continue
        told: Json = {"name": port.name or "", "port": number, "protocol": port.protocol or "TCP"}
        if port.app_protocol is not None:
            told["appProtocol"] = port.app_protocol
        found.append(told)
    return found


def _number(pod: Member, port: ServicePort) -> int | None:
    target = port.target_port
    if not isinstance(target, str):
        return target or port.port
    beside = [each for each in pod.spec.init_containers if each.restart_policy == "Always"]
    for container in (*pod.spec.containers, *beside):
        for each in container.ports:
            if each.name == target and (each.protocol or "TCP") == (port.protocol or "TCP"):
                return each.container_port
    return None


class Triggers:
    """What a run remembers of each Service: when it and its Pods changed last, as the changes themselves say."""

    def __init__(self, _: Options | None = None) -> None:
        self._services: dict[str, datetime] = {}
        self._pods: dict[str, dict[str, datetime]] = {}

    def since(self, key: str, service: Service, pods: Sequence[Member]) -> datetime | None:
        """The earliest change that was not known yet."""
        new: list[datetime] = []
        known, told = self._pods.get(key, {}), dict[str, datetime]()
        for pod in pods:
            ready = find_condition(pod.status.conditions, "Ready")
            at = None if ready is None else ready.last_transition_time
            if at is not None:
                told[pod.metadata.name] = at
                if pod.metadata.name not in known or at > known[pod.metadata.name]:
                    new.append(at)
        made = service.metadata.creation_timestamp
        if made is not None and made != self._services.get(key):
            new.append(made)
            self._services[key] = made
        self._pods[key] = told
        return min(new, default=None)

    def forget(self, key: str) -> None:
        """The Service is gone."""
        self._services.pop(key, None)
        self._pods.pop(key, None)


def stamp(at: datetime) -> str:
    """A time as annotations have it: with no more digits than it needs."""
    told = at.astimezone(UTC).isoformat().removesuffix("+00:00")
    return f"{told.rstrip('0').rstrip('.') if '.' in told else told}Z"
