"""Every namespace has a service account `default`, as which its Pods run unless they say otherwise."""

from __future__ import annotations

from trimtab.client import AlreadyExists, Forbidden, NotFound
from trimtab.controller import App, Context, from_entry
from trimtab.kube.core.v1 import Namespace, ServiceAccount
from trimtab.kube.meta.v1 import ObjectMeta

app = App("serviceaccount-controller")

_DEFAULT = "default"
_concerned = from_entry(lambda account: [account.namespace] if account.name == _DEFAULT else [])


@app.controller(Namespace, name=app.name, watches={ServiceAccount: _concerned})
async def service_accounts(namespace: Namespace, ctx: Context) -> None:
    """Make the account where it is missing."""
    name = namespace.metadata.name
    if namespace.metadata.deletion_timestamp or ctx.find(ServiceAccount, _DEFAULT, namespace=name):
        return
    try:
        await ctx.create(ServiceAccount(metadata=ObjectMeta(name=_DEFAULT, namespace=name)))
    except (AlreadyExists, Forbidden, NotFound):
        return  # it is there, or the namespace is about to go: the cache will know soon
