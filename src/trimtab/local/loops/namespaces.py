"""A namespace that is to be deleted takes all that is in it along, Pods first, and goes when nothing is left.

It waits for what has finalizers, and says so in the conditions of the namespace.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from trimtab.client import ApiError, Client, Conflict, MethodNotAllowed, NotFound
from trimtab.controller import App, Context, Requeue, from_entry, requeue
from trimtab.kube.conditions import ConditionStatus, set_condition
from trimtab.kube.core.v1 import Namespace, NamespaceCondition, Pod
from trimtab.kube.dynamic import dynamic
from trimtab.kube.kinds import Resource
from trimtab.kube.partial import MetadataOnly, metadata_of
from trimtab.queue import ItemExponential

app = App("namespace-controller")

FINALIZER: Final = "kubernetes"
_NEEDED: Final = frozenset({"delete", "list"})


@dataclass
class Left:
    """What is still in a namespace after everything in it was asked to go."""

    counts: dict[Resource, int] = field(default_factory=dict[Resource, int])
    finalizers: dict[str, int] = field(default_factory=dict[str, int])
    failures: list[str] = field(default_factory=list[str])

    def count(self, resource: Resource, objects: Iterable[MetadataOnly]) -> None:
        """Take down what is left of a kind."""
        found = list(objects)
        if found:
            self.counts[resource] = len(found)
        for finalizer in (each for obj in found for each in obj.metadata.finalizers):
            self.finalizers[finalizer] = self.finalizers.get(finalizer, 0) + 1


def conditions_of(left: Left) -> list[tuple[str, ConditionStatus, str, str]]:
    """What a namespace says of its end: type, status, reason and message, in Kubernetes' words."""
    failures, counts, finalizers = left.failures, left.counts, left.finalizers
    remaining = ", ".join(sorted(f"{r.plural}.{r.group} has {n} resource instances" for r, n in counts.items()))
    held = ", ".join(sorted(f"{name} in {n} resource instances" for name, n in finalizers.items()))
    return [
        ("NamespaceDeletionDiscoveryFailure", "False", "ResourcesDiscovered", "All resources successfully discovered"),
        (
            "NamespaceDeletionGroupVersionParsingFailure", "False", "ParsedGroupVersions",
            "All legacy kube types successfully parsed",
        ),
        ("NamespaceDeletionContentFailure", "True", "ContentDeletionFailed",
         f"Failed to delete all resource types, {len(failures)} remaining: {', '.join(failures)}")
        if failures else
        ("NamespaceDeletionContentFailure", "False", "ContentDeleted",
         "All content successfully deleted, may be waiting on finalization"),
        ("NamespaceContentRemaining", "True", "SomeResourcesRemain", f"Some resources are remaining: {remaining}")
        if counts else
        ("NamespaceContentRemaining", "False", "ContentRemoved", "All content successfully removed"),
        ("NamespaceFinalizersRemaining", "True", "SomeFinalizersRemain",
         f"Some content in the namespace has finalizers remaining: {held}")
        if finalizers else
        ("NamespaceFinalizersRemaining", "False", "ContentHasNoFinalizers",
         "All content-preserving finalizers finished"),
    ]  # fmt: skip


_home = from_entry(lambda pod: [pod.namespace] if pod.deleting else [])


@app.controller(
    Namespace,
    name=app.name,
    where=lambda namespace: bool(namespace.metadata.deletion_timestamp),
    watches={Pod: _home},
    workers=4,
    limiter=lambda: ItemExponential(first=0.05, longest=15.0),
)
async def namespaces(namespace: Namespace, ctx: Context) -> Requeue | None:
    """Empty a namespace that is to go, and let it go."""
    if FINALIZER not in namespace.spec.finalizers:
        return None
    name = namespace.metadata.name
    left = await _empty(ctx.client, name)
    await _tell(ctx, name, left)
    if left.counts or left.failures:
        return requeue()  # Pods bring it back when they are gone; of other kinds nobody tells
    await _finalize(ctx.client, name)
    return None


async def _empty(client: Client, namespace: str) -> Left:
    """Ask everything in a namespace to go: the Pods, and the rest when none is left."""
    left = Left()
    kinds = await _kinds(client)
    pods = [resource for resource in kinds if (resource.group, resource.plural) == ("", "pods")]
    for resource in (*pods, *(each for each in kinds if each not in pods)):
        if resource not in pods and any(each in left.counts for each in pods):
            break
        try:
            await _empty_of(client, resource, namespace, left)
        except ApiError as error:
            left.failures.append(str(error))
    return left


async def _empty_of(client: Client, resource: Resource, namespace: str, left: Left) -> None:
    kind = dynamic(resource.api_version, resource.kind, plural=resource.plural, namespaced=True)
    metadata = metadata_of(kind)
    try:
        if not await client.list(metadata, namespace=namespace):
            return
        await client.delete_all(kind, namespace=namespace, propagation="Background")
        left.count(resource, await client.list(metadata, namespace=namespace))
    except (NotFound, MethodNotAllowed):
        return  # a kind that went meanwhile, or that cannot be deleted


async def _kinds(client: Client) -> list[Resource]:
    """All that lives in namespaces, in one version each."""
    found: dict[tuple[str, str], Resource] = {}
    for served in await client.discovery.all():
        if served.resource.namespaced and set(served.verbs) >= _NEEDED:
            found.setdefault((served.resource.group, served.resource.plural), served.resource)
    return list(found.values())


async def _tell(ctx: Context, name: str, left: Left) -> None:
    def change(namespace: Namespace) -> None:
        for kind, status, reason, message in conditions_of(left):
            set_condition(
                namespace.status.conditions, kind, status, reason=reason, message=message, now=ctx.now(),
                of=NamespaceCondition,
            )  # fmt: skip

    try:
        await ctx.modify(Namespace, name, change, subresource="status")
    except NotFound:
        return


async def _finalize(client: Client, name: str) -> None:
    """Take our finalizer off, with which it goes unless there are others."""
    raw = dynamic("v1", "Namespace", plural="namespaces", namespaced=False)
    try:
        namespace = await client.get(raw, name)
        kept = [each for each in namespace.get("spec", "finalizers", default=[]) if each != FINALIZER]
        namespace["spec"] = {**namespace.get("spec", default={}), "finalizers": kept}
        await client.replace(namespace, subresource="finalize")
    except (NotFound, Conflict):
        return  # gone, or changed: then it comes again
