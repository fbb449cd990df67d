"""Whose an object is: by the labels that its owner selects, and by the controller that it names.

What nobody controls and the selector wants is adopted; what the owner controls and the selector does not want any more
is released. Both are written under the condition that it is still the same object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from trimtab.cache import Cached
from trimtab.client import Invalid, NotFound, StrategicMergePatch
from trimtab.controller import Context
from trimtab.kube.kinds import ResourceClass
from trimtab.kube.objects import Object
from trimtab.kube.owners import owner_reference
from trimtab.kube.partial import metadata_of
from trimtab.kube.selectors import Selector
from trimtab.kube.wire import to_wire

O = TypeVar("O", bound=Object)  # noqa: E741  # an Object


def to_adopt(selected: Iterable[Cached[O]]) -> list[Cached[O]]:
    """Of what the selector wants, what nobody controls and is not about to go."""
    return [entry for entry in selected if entry.owner is None and not entry.deleting]


def to_release(owned: Iterable[Cached[O]], selector: Selector) -> list[Cached[O]]:
    """Of what the owner controls, what the selector does not want."""
    unwanted: dict[int, bool] = {}  # many share their labels
    released: list[Cached[O]] = []
    for entry in owned:
        labels = entry.labels
        verdict = unwanted.get(id(labels))
        if verdict is None:
            verdict = unwanted[id(labels)] = not selector.matches(labels)
        if verdict:
            released.append(entry)
    return released


async def claim(
    ctx: Context,
    owner: Object,
    kind: type[O],
    selector: Selector,
    *,
    may_adopt: Callable[[Cached[O]], bool] = lambda _: True,
    on_release: Mapping[str, Any] | None = None,
) -> None:
    """Adopt and release, so that what the owner controls is what it should look after. One that goes claims nothing.

    `on_release` is what else is changed of the metadata of what is released.
    """
    if owner.metadata.deletion_timestamp is not None:
        return
    for entry in to_release(ctx.entries(kind, namespace=ctx.namespace, owner=owner), selector):
        await release(ctx, owner, entry, **(on_release or {}))
    orphans = to_adopt(ctx.entries(kind, namespace=ctx.namespace, labels=selector))
    if (orphans := [entry for entry in orphans if may_adopt(entry)]) and await _is_still_there(ctx, owner):
        for entry in orphans:
            await _adopt(ctx, owner, entry)


async def release(ctx: Context, owner: Object, entry: Cached[Any], **metadata: Any) -> None:
    """Let an object go its own way; `metadata` changes more of it in the same request."""
    reference = {"$patch": "delete", "uid": owner.metadata.uid}
    await _patch(ctx, entry, {**metadata, "ownerReferences": [reference]})


async def _adopt(ctx: Context, owner: Object, entry: Cached[Any]) -> None:
    await _patch(ctx, entry, {"ownerReferences": [to_wire(owner_reference(owner))]})


async def _patch(ctx: Context, entry: Cached[Any], metadata: dict[str, Any]) -> None:
    patch = StrategicMergePatch({"metadata": {"uid": entry.uid, **metadata}})
    try:
        await ctx.patch(entry.kind, entry.name, patch, namespace=entry.namespace)
    except (NotFound, Invalid):  # it is gone, or another controller was faster
        return


async def _is_still_there(ctx: Context, owner: Object) -> bool:
    """Ask the server: the cache may not know yet that the owner is to go, and then it would adopt for nobody."""
    kind: type[ResourceClass] = type(owner)
    try:
        there = await ctx.client.get(metadata_of(kind), owner.metadata.name, namespace=ctx.namespace)  # pyright: ignore[reportArgumentType]
    except NotFound:
        return False
    return there.metadata.uid == owner.metadata.uid and there.metadata.deletion_timestamp is None
