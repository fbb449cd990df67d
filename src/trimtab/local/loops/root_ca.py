"""Every namespace has a ConfigMap `kube-root-ca.crt` with the certificate by which Pods know the API server."""

from __future__ import annotations

from trimtab.client import AlreadyExists, Forbidden, NotFound
from trimtab.controller import App, Context, from_entry
from trimtab.kube.core.v1 import ConfigMap, Namespace
from trimtab.kube.meta.v1 import ObjectMeta

app = App("root-ca-certificate-publisher-controller")

CERTIFICATE = app.option("root-ca", "The certificate of the API server's authority, as PEM.")

NAME = "kube-root-ca.crt"
_KEY = "ca.crt"
_DESCRIPTION = "kubernetes.io/description"
_ABOUT = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the "
    "internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes "
    "clusters."
)
_concerned = from_entry(lambda config: [config.namespace] if config.name == NAME else [])


@app.controller(Namespace, name=app.name, watches={ConfigMap: _concerned})
async def root_ca(namespace: Namespace, ctx: Context) -> None:
    """Make the ConfigMap, and put back what somebody changed in it."""
    if namespace.metadata.deletion_timestamp:
        return
    name = namespace.metadata.name
    wanted = {_KEY: ctx.option(CERTIFICATE)}
    found = ctx.find(ConfigMap, NAME, namespace=name)
    try:
        if found is None:
            meta = ObjectMeta(name=NAME, namespace=name, annotations={_DESCRIPTION: _ABOUT})
            await ctx.create(ConfigMap(metadata=meta, data=wanted))
        elif found.data != wanted:

            def put_back(config: ConfigMap) -> None:
                config.data = wanted
                config.metadata.annotations[_DESCRIPTION] = _ABOUT

            await ctx.modify(ConfigMap, NAME, put_back, namespace=name)
    except (AlreadyExists, Forbidden, NotFound):
        return  # it is there, or the namespace is about to go: the cache will know soon
