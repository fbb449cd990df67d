"""`ctx.own`: what an object should own, all of it; what it owns and should not any more goes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import deepcopy
from typing import Any

import msgspec

from trimtab.cache import Cached
from trimtab.client import NotFound
from trimtab.controller.reach import Reach
from trimtab.controller.writes import Writer, place_of
from trimtab.errors import TrimtabError
from trimtab.kube.dynamic import Dynamic
from trimtab.kube.frozen import plain_class
from trimtab.kube.objects import Object
from trimtab.kube.owners import set_owner
from trimtab.kube.partial import metadata_of
from trimtab.kube.wire import K


class OwnedByAnother(TrimtabError):
    """An object of this name is there, and belongs to somebody else."""


async def own(
    owner: Object | Dynamic,
    wanted: Iterable[Object | Dynamic],
    kinds: Iterable[type[Object | Dynamic]],
    reach: Reach,
    writer: Writer,
) -> list[Any]:
    """Apply what is wanted, then delete what else of these kinds the owner controls and this writer made."""
    named: dict[tuple[type[Any], str], Object | Dynamic] = {}
    for obj in wanted:
        claimed = claim(obj, owner, reach)
        key = plain_class(type(claimed)), _key(claimed)
        if key in named:
            raise TrimtabError(f"{claimed!r} is named twice in one ctx.own: name each object once")
        named[key] = claimed
    made = [await writer.apply(obj, namespace=obj.metadata.namespace, force=True) for obj in named.values()]
    for kind in kinds:
        for entry in surplus(kind, owner, {key for of, key in named if of is kind}, reach):
            await _remove(entry, writer)
    return made


def claim(obj: K, owner: Object | Dynamic, reach: Reach) -> K:
    """A copy that says to whom it belongs; an error where it belongs to another already."""
    kind = plain_class(type(obj))
    reach.check_owned(kind)
    claimed: Any = (
        type(obj)(obj.to_wire())
        if isinstance(obj, Dynamic)
        else msgspec.structs.replace(obj, metadata=deepcopy(obj.metadata))
    )
    claimed.metadata.namespace = place_of(obj, owner.metadata.namespace)
    set_owner(claimed, owner)
    entry = reach.lister(kind).entry(claimed.metadata.name, namespace=claimed.metadata.namespace or None)
    holder = entry.controller if entry is not None else None
    if holder is not None and holder.uid != owner.metadata.uid:
        raise OwnedByAnother(
            f"{owner!r} cannot own {claimed!r}: {holder.kind} {holder.name} does: give it another name"
        )
    return claimed


def surplus(
    kind: type[Object | Dynamic], owner: Object | Dynamic, wanted: set[str], reach: Reach
) -> Iterator[Cached[Any]]:
    """What of a kind the owner controls and nobody named."""
    for entry in reach.lister(kind).entries(namespace=owner.metadata.namespace or None, owner=owner):
        if entry.key not in wanted and not entry.deleting:
            yield entry


async def _remove(entry: Cached[Any], writer: Writer) -> None:
    """Delete what this writer made. Another controller of the same owner may have made it: then it is left alone."""
    if entry.uid in writer.foreign:
        return
    try:
        partial = await writer.client.get(metadata_of(entry.kind), entry.name, namespace=entry.namespace or None)
    except NotFound:
        return
    managers = {each.manager for each in partial.metadata.managed_fields}
    if managers and writer.client.field_manager not in managers:
        writer.leave_alone(entry.uid)
        return
    await writer.delete(entry.kind, entry.name, namespace=entry.namespace, uid=entry.uid)


def _key(obj: Object | Dynamic) -> str:
    meta = obj.metadata
    return f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name
