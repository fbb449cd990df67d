"""Finalizers that cannot be forgotten: what to do with an object that may have one, and how it is put on and taken off.

An object gets its finalizer before the reconciler sees it, so before there can be anything to clean up. It loses it
when cleanup has returned, and not before. Both are patches that hold only for the version that was read, so other
people's finalizers are never lost.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Any

from trimtab.client import NoSuchResource, NotFound
from trimtab.controller.writes import Writer
from trimtab.kube.dynamic import Dynamic
from trimtab.kube.frozen import plain_class
from trimtab.kube.objects import Object


class Step(Enum):
    """What to do with an object that is there."""

    RECONCILE = auto()
    HOLD = auto()
    """Put the finalizer on, then reconcile."""
    CLEAN_UP = auto()
    """Clean up, then take the finalizer off."""
    LEAVE = auto()
    """It is on its way out, and we have done our part."""
    FORGET = auto()
    """It is not one that the controller is about: as good as gone."""


def next_step(*, wanted: bool, deleting: bool, held: bool | None) -> Step:
    """What to do. `held` says whether the object has our finalizer; None where none was declared."""
    if held and (deleting or not wanted):
        return Step.CLEAN_UP
    if not wanted:
        return Step.FORGET
    if held is None:
        return Step.RECONCILE  # a deletion that is under way too: it sees what is
    if deleting:
        return Step.LEAVE
    return Step.RECONCILE if held else Step.HOLD


async def hold(writer: Writer, obj: Object | Dynamic, finalizer: str) -> bool:
    """Put the finalizer on; False where there is nothing to hold any more."""

    def change(current: Any) -> None:
        meta = current.metadata
        if meta.uid == obj.metadata.uid and not meta.deletion_timestamp and finalizer not in meta.finalizers:
            meta.finalizers.append(finalizer)

    held = await _change(writer, obj, change)
    return held is not None and finalizer in held.metadata.finalizers


async def release(writer: Writer, obj: Object | Dynamic, finalizer: str) -> bool:
    """Take the finalizer off; False where the server does not know the object, which is for the cache to confirm."""

    def change(current: Any) -> None:
        meta = current.metadata
        if meta.uid == obj.metadata.uid and finalizer in meta.finalizers:
            meta.finalizers.remove(finalizer)

    return await _change(writer, obj, change) is not None


async def _change(writer: Writer, obj: Object | Dynamic, change: Any) -> Object | Dynamic | None:
    meta = obj.metadata
    try:
        return await writer.modify(plain_class(type(obj)), meta.name, change, namespace=meta.namespace)
    except NoSuchResource:
        raise
    except NotFound:
        return None
