"""ControllerRevisions: the templates that an object has had. `kubectl rollout history` shows them, `undo` goes back."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from trimtab.client import AlreadyExists, MergePatch
from trimtab.controller import Context
from trimtab.controllers.replicaset.claiming import claim
from trimtab.controllers.replicaset.making import TemplateView
from trimtab.kube.apps.v1 import ControllerRevision, DaemonSet, StatefulSet
from trimtab.kube.meta.v1 import ObjectMeta
from trimtab.kube.owners import owner_reference
from trimtab.kube.selectors import Selector
from trimtab.kube.wire import from_wire, to_wire
from trimtab.local.loops.deployment.revisions import hash_of

HASH = "controller.kubernetes.io/hash"
OF_PODS = "controller-revision-hash"
KEPT = 10
"""Revisions that are remembered, where nothing else is said."""


def hash_label(owner: StatefulSet | DaemonSet) -> str:
    """Under which label a revision has its hash: by that of a DaemonSet its Pods are known too."""
    return OF_PODS if isinstance(owner, DaemonSet) else HASH


def data_of(template: TemplateView) -> dict[str, Any]:
    """A patch that brings this template back; its keys in order, so that the same template is the same bytes."""
    body = {"$patch": "replace", "metadata": to_wire(template.metadata), "spec": template.spec}
    return _in_order({"spec": {"template": body}})


def template_in(revision: ControllerRevision) -> TemplateView:
    """The template that a revision holds."""
    body = dict(revision.data["spec"]["template"])
    body.pop("$patch", None)
    return from_wire(TemplateView, body)


def _in_order(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _in_order(value[key]) for key in sorted(value)}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return [_in_order(each) for each in value] if isinstance(value, list) else value  # pyright: ignore[reportUnknownVariableType]


def in_order(revisions: Iterable[ControllerRevision]) -> list[ControllerRevision]:
    """The oldest first."""
    return sorted(revisions, key=lambda each: (each.revision, each.metadata.name))


async def current_revision(
    ctx: Context, owner: StatefulSet | DaemonSet, template: TemplateView
) -> tuple[ControllerRevision, list[ControllerRevision]]:
    """The revision of the template, made where there is none, and all that there are.

    Those that an owner of before left behind are taken over. One that is come back to gets the next number.
    """
    selector = Selector.from_struct(owner.spec.selector)
    await claim(ctx, owner, ControllerRevision, selector)
    known = in_order(ctx.list(ControllerRevision, namespace=ctx.namespace, owner=owner))
    data, following = data_of(template), known[-1].revision + 1 if known else 1
    same = [each for each in known if each.data == data]
    if not same:
        made = await _make(ctx, owner, template, data, following)
        return made, [*known, made]
    if same[-1] is not known[-1]:
        name = same[-1].metadata.name
        renumbered = await ctx.patch(ControllerRevision, name, MergePatch({"revision": following}))
        return renumbered, [*(each for each in known if each.metadata.name != name), renumbered]
    return same[-1], known


async def _make(
    ctx: Context, owner: StatefulSet | DaemonSet, template: TemplateView, data: dict[str, Any], number: int
) -> ControllerRevision:
    collisions = owner.status.collision_count
    while True:
        digest = hash_of(template, collisions)
        meta = ObjectMeta(
            name=f"{owner.metadata.name}-{digest}",
            namespace=owner.metadata.namespace,
            labels={**template.metadata.labels, hash_label(owner): digest},
            annotations=dict(owner.metadata.annotations),
            owner_references=[owner_reference(owner)],
        )
        try:
            return await ctx.create(ControllerRevision(metadata=meta, data=data, revision=number))
        except AlreadyExists:
            there = await ctx.client.get(ControllerRevision, meta.name, namespace=ctx.namespace)
            if there.data == data:
                return there
            collisions += 1


async def forget_old(
    ctx: Context, known: Sequence[ControllerRevision], in_use: Collection[str], limit: int | None
) -> None:
    """Delete the oldest revisions beyond the limit that nobody uses; `in_use` are their names."""
    idle = [each for each in in_order(known) if each.metadata.name not in in_use]
    for revision in idle[: max(len(idle) - (KEPT if limit is None else limit), 0)]:
        await ctx.delete(ControllerRevision, revision.metadata.name, uid=revision.metadata.uid)
