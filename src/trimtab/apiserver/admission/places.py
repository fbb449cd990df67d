"""Where a webhook is: what its configuration says, or, of a Service, what is known of its endpoints."""

from __future__ import annotations

from typing import Any, TypeAlias, cast
from urllib.parse import urlsplit

from trimtab.apiserver.admission.calling import CallFailed, Place
from trimtab.apiserver.admission.hooks import Hook
from trimtab.apiserver.objects import decode
from trimtab.apiserver.storage import Store

Json: TypeAlias = dict[str, Any]


def place_of(hook: Hook, store: Store) -> Place:
    """Find it. Raises CallFailed where it cannot be reached."""
    return place_at(hook.client, hook.bundle, hook.timeout, store)


def place_at(client: Json, bundle: bytes, timeout: int, store: Store) -> Place:
    """Find what a clientConfig says. Raises CallFailed where it cannot be reached."""
    url = cast("str", client.get("url") or "")
    if url:
        try:
            parts = urlsplit(url)
        except ValueError as error:
            raise CallFailed(f"{url} is no address: {error}") from error
        query = f"{parts.query}&" if parts.query else ""
        full = parts._replace(query=f"{query}timeout={timeout}s").geturl()
        return Place(full, bundle)
    service = cast("Json", client.get("service") or {})
    namespace, name = service.get("namespace", ""), service.get("name", "")
    port = service.get("port") or 443
    host = f"{name}.{namespace}.svc"
    path = service.get("path") or "/"
    full = f"https://{host}:{port}{path}?timeout={timeout}s"
    record = store.get("services", f"{namespace}/{name}")
    if record is None:
        raise CallFailed(f'Post "{full}": service "{name}" not found')
    spec = cast("Json", decode(record.data).get("spec") or {})
    if spec.get("type") == "ExternalName":
        return Place(full, bundle, (spec.get("externalName", ""), port), host)
    if spec.get("clusterIP") == "None":
        raise CallFailed(f'Post "{full}": cannot route to service with ClusterIP "None"')
    wanted = next((each for each in spec.get("ports") or () if each.get("port") == port), None)
    if wanted is None:
        raise CallFailed(f'Post "{full}": no service port {port} found for service "{name}"')
    address = _endpoint(store, namespace, name, wanted)
    if address is None:
        raise CallFailed(f'Post "{full}": no endpoints available for service "{name}"')
    return Place(full, bundle, address, host)


def _endpoint(store: Store, namespace: str, name: str, port: Json) -> tuple[str, int] | None:
    """The first address behind a port of a Service: nothing here forwards, so it has to be reachable as it is."""
    record = store.get("endpoints", f"{namespace}/{name}")
    if record is not None:
        for subset in decode(record.data).get("subsets") or ():
            for each in subset.get("ports") or ():
                if each.get("name", "") == port.get("name", "") and subset.get("addresses"):
                    return subset["addresses"][0]["ip"], each["port"]
    for record in store.scan("endpointslices.discovery.k8s.io", f"{namespace}/"):
        found = decode(record.data)
        labels = cast("Json", found["metadata"].get("labels") or {})
        if labels.get("kubernetes.io/service-name") != name:
            continue
        endpoints = cast("list[Json]", found.get("endpoints") or [])
        ready = [each for each in endpoints if cast("Json", each.get("conditions") or {}).get("ready") is not False]
        for each in cast("list[Json]", found.get("ports") or []):
            if (each.get("name") or "") == port.get("name", "") and ready and each.get("port"):
                return ready[0]["addresses"][0], each["port"]
    return None
