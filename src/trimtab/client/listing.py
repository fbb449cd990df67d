"""Lists: pages, and what a page holds."""

from __future__ import annotations

import gc
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from functools import cache
from typing import Any, Generic, TypeVar

import msgspec

from trimtab.kube.base import Struct
from trimtab.kube.meta.v1 import ListMeta
from trimtab.kube.objects import Object
from trimtab.kube.wire import K, decode

T = TypeVar("T")
PAGE_SIZE = 500


class ObjectList(list[K]):
    """Objects as of one resource version: a list that also knows that version.

    `continue_` is not empty where there is more; `remaining` then is how many the server says are left.
    """

    def __init__(self, items: Iterable[K], metadata: ListMeta) -> None:
        super().__init__(items)
        self.resource_version = metadata.resource_version
        self.continue_ = metadata.continue_
        self.remaining = metadata.remaining_item_count


class _Page(Struct, Generic[T]):
    metadata: ListMeta = msgspec.field(default_factory=ListMeta)
    items: list[T] | None  # required: what lacks it is no list, and must not pass for an empty one


def decode_page(cls: type[K], body: bytes) -> ObjectList[K]:
    """One page of a list, decoded. All of it or an error: what is left out would pass for deleted."""
    with collector_paused():
        if issubclass(cls, Object):
            try:
                page = _page_decoder(cls).decode(body)
            except msgspec.ValidationError:
                pass  # some item wants to be read as Go reads it: one by one then
            else:
                return ObjectList(page.items or (), page.metadata)
        raw = _page_decoder(msgspec.Raw).decode(body)
        return ObjectList((decode(cls, item) for item in raw.items or ()), raw.metadata)


@cache
def _page_decoder(cls: Any) -> msgspec.json.Decoder[_Page[Any]]:
    return msgspec.json.Decoder(_Page[cls])


@contextmanager
def collector_paused() -> Generator[None]:
    """Decode without the cyclic collector: it would walk all that was made so far again and again, and find nothing.

    Measured: ten pages of 500 Pods take about half of what they take with the collector running.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
