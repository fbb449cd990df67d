"""What pyright makes of controllers; `test_apps.py` runs it. An ignore that is not needed is an error here."""
# pyright: strict, reportUnnecessaryTypeIgnoreComment=true

from collections.abc import Iterable
from typing import assert_type

import trimtab
from trimtab.kube.apps.v1 import StatefulSet
from trimtab.kube.core.v1 import ConfigMap, Pod, Secret, Service
from trimtab.kube.meta.v1 import ObjectMeta

app = trimtab.App("app")


async def clean_up(cm: ConfigMap, ctx: trimtab.Context) -> None: ...


async def gone(key: str, ctx: trimtab.Context) -> None: ...


def for_secret(secret: Secret) -> Iterable[str]:
    return [secret.metadata.name]


@app.controller(
    ConfigMap,
    where=lambda cm: bool(cm.data),
    owns=[StatefulSet, Service],
    reads=[Pod],
    watches={Secret: for_secret, Pod: trimtab.from_entry(lambda entry: entry.key)},
    finalizer=trimtab.Finalizer("example.com/x", clean_up),
    gone=gone,
)
async def everything(cm: ConfigMap, ctx: trimtab.Context) -> trimtab.Result | None:
    assert_type(ctx.list(Pod, namespace=cm.metadata.namespace), list[Pod])
    await ctx.own(Service(metadata=ObjectMeta(name="x")))
    assert_type(ctx.get(StatefulSet, "x"), StatefulSet)
    if running := ctx.find(StatefulSet, cm.metadata.name):
        await ctx.patch_status(ready=running.status.ready_replicas)
        assert_type(await ctx.delete(running), StatefulSet | None)
    return trimtab.requeue(after=30) if cm.immutable else trimtab.terminal("no")


@app.controller(ConfigMap, where=trimtab.annotated("x") & ~trimtab.generation_changed)
def plain(cm: ConfigMap, ctx: trimtab.Context) -> None:
    assert_type(ctx.wait(ctx.apply(cm)), ConfigMap)


async def several(obj: ConfigMap | Secret, ctx: trimtab.Context) -> None: ...


for kind in (ConfigMap, Secret):
    app.controller(kind)(several)


@app.controller(ConfigMap)  # type: ignore[arg-type]
async def of_another_kind(secret: Secret, ctx: trimtab.Context) -> None: ...


@app.controller(ConfigMap)  # type: ignore[arg-type]
async def with_another_answer(cm: ConfigMap, ctx: trimtab.Context) -> int:
    return 3


@app.controller(ConfigMap, finalizer=trimtab.Finalizer("x/y", gone))  # type: ignore[arg-type]
async def with_a_cleanup_of_something_else(cm: ConfigMap, ctx: trimtab.Context) -> None: ...
