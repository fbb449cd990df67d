"""`Cached`: an object as the cache keeps it."""

from __future__ import annotations

import sys
from typing import Any, Final, Generic, TypeVar, cast

import msgspec
from msgspec.structs import force_setattr

from trimtab.errors import TrimtabError
from trimtab.kube.base import Struct
from trimtab.kube.frozen import FrozenDict, frozen
from trimtab.kube.meta.v1 import ObjectMeta, OwnerReference
from trimtab.kube.wire import K, decode
from trimtab.packing import Codec, Siblings, is_packed

NOTHING: Final = (b"", b"null", b"{}", b"[]")
"""How JSON says that there are none."""

T = TypeVar("T")
V = TypeVar("V", bound=Struct)


class Undecodable(TrimtabError):
    """An object in the cache is of another shape than the class that it is read as."""


class Labels(FrozenDict[str]):
    """The labels that some objects of a namespace have in common: one instance for all of them."""

    __slots__ = ("namespace", "raw")

    def __init__(self, namespace: str, raw: bytes) -> None:
        pairs = () if raw in NOTHING else _decode_labels(raw).items()
        super().__init__((sys.intern(key), sys.intern(value)) for key, value in pairs)  # groups share most of them
        self.namespace = namespace
        self.raw = raw


class Owner:
    """The controller that several objects have in common."""

    __slots__ = ("raw", "reference", "siblings")

    def __init__(self, reference: OwnerReference, raw: bytes) -> None:
        self.reference = reference
        self.raw = raw
        self.siblings = Siblings()


class _Metadata(Struct):
    metadata: ObjectMeta = msgspec.field(default_factory=ObjectMeta)


class Cached(msgspec.Struct, Generic[K], frozen=True, eq=False, gc=False):
    """One object at one resource version: packed bytes, and of its metadata what the machinery needs at hand.

    It never changes, but for how it is packed: a newer version of the object is another `Cached`. `read` decodes it.
    """

    key: str
    resource_version: str
    uid: str
    labels: Labels
    owner: Owner | None
    deleting: bool
    data: bytes
    codec: Codec
    kind: type[K]

    @property
    def namespace(self) -> str:
        """Its namespace; empty where the kind has none."""
        return self.key.rpartition("/")[0]

    @property
    def name(self) -> str:
        """Its name."""
        return self.key.rpartition("/")[2]

    @property
    def controller(self) -> OwnerReference | None:
        """The owner that manages it, if it has one."""
        return self.owner.reference if self.owner else None

    @property
    def metadata(self) -> ObjectMeta:
        """Its metadata, with nothing else decoded; managedFields are not kept. It is the reader's own."""
        return decode(_Metadata, self.json()).metadata

    def json(self) -> bytes:
        """The object as JSON."""
        data = self.data  # first: `repack` sets it last, and readers may be in threads
        return self.codec.unpack(data) if is_packed(data) else data

    def repack(self, data: bytes, codec: Codec) -> None:
        """Keep the same JSON in another way. What it was kept in so far has to be plain."""
        force_setattr(self, "codec", codec)
        force_setattr(self, "data", data)

    def read(self) -> K:
        """The object. It cannot be changed, and `copy.deepcopy` makes a copy that can.

        A Dynamic object is the reader's own instead.
        """
        return self.decode(readable(self.kind), self.json())

    def view(self, view: type[V]) -> V:
        """A part of the object: a Struct with some of its fields decodes several times faster than the whole."""
        return self.decode(readable(view), self.json())

    def decode(self, cls: type[T], data: bytes) -> T:
        """Its JSON as this class. Undecodable where it does not fit."""
        try:
            return cast("T", decode(cast("Any", cls), data))
        except msgspec.DecodeError as error:
            raise Undecodable(f"{self.kind.resource.kind} {self.key} does not fit {cls.__name__}: {error}") from error

    def __repr__(self) -> str:
        return f"<{self.kind.__name__} {self.key} at {self.resource_version}>"


_decode_labels = msgspec.json.Decoder(dict[str, str]).decode


def readable(cls: type[T]) -> type[T]:
    """The class that readers of the cache are given objects of: frozen, or fresh each time where that cannot be."""
    return cast("type[T]", frozen(cls)) if issubclass(cls, msgspec.Struct) else cls
