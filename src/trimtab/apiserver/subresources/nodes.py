"""What only the node of a Pod can tell or do: logs, and connections into containers.

A server has no nodes. Who runs Pods beside it gives it `Nodes`; without them, it answers as kube-apiserver does when
nobody is there who could be asked.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import Any, Final, Protocol, TypeAlias, cast

from trimtab.apiserver import statuses
from trimtab.apiserver.causes import quoted
from trimtab.apiserver.messages import Answer, Response, Streaming
from trimtab.apiserver.objects import decode
from trimtab.apiserver.options import Query, first
from trimtab.apiserver.routing import Target
from trimtab.apiserver.statuses import Refused
from trimtab.apiserver.storage import Store
from trimtab.apiserver.subresources.logs import Log, LogSource, log_options
from trimtab.apiserver.surroundings import Surroundings

Json: TypeAlias = dict[str, Any]

_NAMES: Final = frozenset({"log", "exec", "attach", "portforward", "proxy"})
_ADDRESSES: Final = ("Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP")
_KUBELET: Final = 10250
_SIMULATED: Final = "there is no {} here: Pods are simulated, and no process runs in them; kubectl logs is there"
_PATHS: Final = {"log": "containerLogs", "portforward": "portForward"}
_CONTAINERS: Final = ("initContainers", "containers", "ephemeralContainers")


class Nodes(Protocol):
    """Those who run Pods."""

    def log(self, pod: Json, container: str, *, previous: bool) -> Log | None:
        """What a container of a Pod said, or the one that was there before it; None where there was none yet."""
        ...


class OnNodes:
    """Asks the nodes."""

    def __init__(self, store: Store, around: Surroundings, nodes: Nodes | None = None) -> None:
        self._store = store
        self._around = around
        self._nodes = nodes

    def has(self, target: Target) -> bool:
        """Whether it is for a node to answer."""
        return target.subresource is not None and target.subresource.name in _NAMES

    def answer(self, target: Target, query: Query) -> Answer:
        """What the node says; refused where there is none."""
        assert target.subresource is not None
        what = target.subresource.name
        if what == "proxy":
            raise self._no_proxy(target)
        wanted = log_options(query, target.name, self._around.now()) if what == "log" else None
        pod = self._pod(target, target.name)
        container = "" if what == "portforward" else container_of(pod, first(query, "container"))
        node = cast("Json", pod.get("spec") or {}).get("nodeName", "")
        if not node:
            if wanted is not None:
                return Response(204, content_type="")
            raise statuses.bad_request(f"pod {target.name} does not have a host assigned")
        where = self._address(node)
        if wanted is None:
            raise statuses.bad_request("Upgrade request required" if self._nodes is None else _SIMULATED.format(what))
        if self._nodes is None:
            path = "/".join(filter(None, (_PATHS.get(what, what), target.namespace, target.name, container)))
            raise statuses.unknown(f'Get "https://{where}/{path}": dial tcp {where}: connect: connection refused')
        log = self._nodes.log(pod, container, previous=wanted.previous)
        if log is None:
            raise statuses.bad_request(_why_silent(pod, container, previous=wanted.previous))
        return Streaming(200, LogSource(log, wanted), "text/plain")

    def _pod(self, target: Target, name: str) -> Json:
        record = self._store.get("pods", f"{target.namespace}/{name}")
        if record is None:
            raise statuses.not_found("pods", "", name)
        return decode(record.data)

    def _address(self, node: str) -> str:
        """Where the kubelet of a node is said to listen."""
        record = self._store.get("nodes", node)
        if record is None:
            raise statuses.not_found("pods", "", node)
        status = cast("Json", decode(record.data).get("status") or {})
        given = cast("list[Json]", status.get("addresses") or [])
        for kind in _ADDRESSES:
            for each in given:
                if each.get("type") == kind and each.get("address"):
                    endpoints = cast("Json", status.get("daemonEndpoints") or {})
                    port = cast("Json", endpoints.get("kubeletEndpoint") or {}).get("Port") or _KUBELET
                    return f"{each['address']}:{port}"
        raise statuses.unknown("no preferred addresses found; known addresses: []")

    def _no_proxy(self, target: Target) -> Refused:
        """Nothing listens where a proxy would go: it says which way it would have been."""
        scheme, name, port = _split(target.name)
        if target.kind.bucket == "services":
            if self._store.get("services", f"{target.namespace}/{name}") is None:
                return statuses.not_found("services", "", name)
            return statuses.unavailable(f"no endpoints available for service {quoted(target.name)}")
        if target.kind.bucket == "nodes":
            where = self._address(name)
            if not _reachable(where.rpartition(":")[0]):
                return statuses.bad_request("address not allowed")
            return statuses.unavailable(f"error trying to reach service: dial tcp {where}: {_REFUSED}")
        pod = self._pod(target, name)
        address = _ip(pod)
        if not address:
            return statuses.bad_request("address not allowed")
        port = port or _first_port(pod) or ("443" if scheme == "https" else "80")
        return statuses.unavailable(f"error trying to reach service: dial tcp {address}:{port}: {_REFUSED}")


_REFUSED: Final = "connect: connection refused"


def container_of(pod: Json, wanted: str) -> str:
    """Which container is meant."""
    spec, name = cast("Json", pod.get("spec") or {}), pod["metadata"]["name"]
    there = [each["name"] for part in _CONTAINERS for each in cast("list[Json]", spec.get(part) or [])]
    if wanted:
        if wanted not in there:
            raise statuses.bad_request(f"container {wanted} is not valid for pod {name}")
        return wanted
    main = cast("list[Json]", spec.get("containers") or [])
    if len(main) == 1:
        return main[0]["name"]
    choice = f", choose one of: [{' '.join(there)}]" if main else ""
    raise statuses.bad_request(f"a container name must be specified for pod {name}{choice}")


def _why_silent(pod: Json, container: str, *, previous: bool) -> str:
    """What a kubelet says of a container that has no log."""
    about = f'container "{container}" in pod "{pod["metadata"]["name"]}"'
    if previous:
        return f"previous terminated {about} not found"
    status = cast("Json", pod.get("status") or {})
    told = [each for name in ("initContainerStatuses", "containerStatuses") for each in status.get(name) or ()]
    for each in cast("list[Json]", told):
        if each.get("name") == container:
            waiting = cast("Json", cast("Json", each.get("state") or {}).get("waiting") or {})
            if waiting:
                return f"{about} is waiting to start: {waiting.get('reason', '')}"
    return f"{about} is not available"


def _split(name: str) -> tuple[str, str, str]:
    """Scheme, name and port: `https:web:8443`, `web:80`, `web`."""
    parts = name.split(":")
    if len(parts) == 3:
        return parts[0], parts[1], parts[2]
    return ("", parts[0], parts[1]) if len(parts) == 2 else ("", name, "")


def _ip(pod: Json) -> str:
    """The Pod's address, if one could be let through to it."""
    given = cast("list[Json]", cast("Json", pod.get("status") or {}).get("podIPs") or [{}])[0].get("ip", "")
    if not given or not _reachable(given):
        return ""
    return f"[{given}]" if ":" in given else given


def _reachable(host: str) -> bool:
    """Whether it is a name, or an address that is no one's own."""
    try:
        address = ip_address(host)
    except ValueError:
        return True
    return not (address.is_loopback or address.is_link_local or address.is_multicast or address.is_unspecified)


def _first_port(pod: Json) -> str:
    for each in cast("list[Json]", cast("Json", pod.get("spec") or {}).get("containers") or []):
        for port in cast("list[Json]", each.get("ports") or []):
            return str(port.get("containerPort", ""))
    return ""
