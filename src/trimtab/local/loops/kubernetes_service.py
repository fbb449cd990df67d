"""The Service `kubernetes` in `default`, the API server as Pods know it, comes back when somebody deletes it.

A server has it from its start (`apiserver/standing.py`); that of Kubernetes also keeps it.
"""

from __future__ import annotations

from typing import Final

from trimtab.client import AlreadyExists
from trimtab.controller import App, Context, Options, from_entry
from trimtab.kube.core.v1 import Namespace, Service, ServicePort, ServiceSpec
from trimtab.kube.meta.v1 import ObjectMeta

NAME: Final = "kubernetes-service-controller"
_SERVICE: Final = "kubernetes"
_NAMESPACE: Final = "default"
_ADDRESS: Final = "10.0.0.1"
_LABELS: Final = {"component": "apiserver", "provider": "kubernetes"}

app = App(NAME)


class ApiPort:
    """Where the API server listens; the usual port, unless a cluster says otherwise."""

    def __init__(self, _: Options | None = None, *, port: int = 6443) -> None:
        self.port = port


_concerned = from_entry(lambda service: [_NAMESPACE] if service.key == f"{_NAMESPACE}/{_SERVICE}" else [])


@app.controller(
    Namespace,
    name=NAME,
    known_as="kube-apiserver",
    where=lambda namespace: namespace.metadata.name == _NAMESPACE,
    watches={Service: _concerned},
)
async def kubernetes_service(_default: Namespace, ctx: Context) -> None:
    """Make the Service, unless it is there."""
    if ctx.find(Service, _SERVICE, namespace=_NAMESPACE) is not None:
        return
    port = ServicePort(name="https", port=443, protocol="TCP", target_port=ctx.once(ApiPort).port)
    service = Service(
        metadata=ObjectMeta(name=_SERVICE, namespace=_NAMESPACE, labels=_LABELS),
        spec=ServiceSpec(cluster_ip=_ADDRESS, ip_family_policy="SingleStack", ports=[port], type="ClusterIP"),
    )
    try:
        await ctx.create(service)
    except AlreadyExists:
        return  # the cache will know soon
