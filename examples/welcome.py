"""A first controller: every namespace gets a ConfigMap that welcomes whoever works there."""

import trimtab
from trimtab.kube.core.v1 import ConfigMap, Namespace
from trimtab.kube.meta.v1 import ObjectMeta

app = trimtab.App("welcome")


@app.controller(Namespace, owns=[ConfigMap])
async def welcome(namespace: Namespace, ctx: trimtab.Context) -> None:
    """Make the cluster match one namespace, whatever happened to it."""
    name = namespace.metadata.name
    text = f"Welcome to {name}, in use since {namespace.metadata.creation_timestamp:%F}."
    await ctx.own(ConfigMap(metadata=ObjectMeta(name="welcome", namespace=name), data={"text": text}))
    ctx.log.info("is welcoming")
