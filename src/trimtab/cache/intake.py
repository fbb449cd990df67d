"""The station where bytes from the server become entries of the cache: split, stripped, packed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeAlias

import msgspec

from trimtab.cache.entry import Cached
from trimtab.cache.indexes import Indexer
from trimtab.errors import TrimtabError
from trimtab.kube.kinds import Resource
from trimtab.kube.wire import K
from trimtab.packing import Packer

Transform: TypeAlias = Callable[[dict[str, Any]], dict[str, Any]]
"""Changes the JSON of an object before it is kept. What it returns it must leave as it is the second time."""

_MANAGED = b'"managedFields":'
_NONE = msgspec.Raw(b"")
_TYPE_FIRST = b'{"type":"'
_BEFORE_OBJECT = tuple(f'{{"type":"{kind}","object":'.encode() for kind in ("ADDED", "MODIFIED", "DELETED"))
Known: TypeAlias = Callable[[str], Cached[K] | None]
"""Finds what is kept under a key."""


class _Metadata(msgspec.Struct, rename="camel", gc=False):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    labels: msgspec.Raw = _NONE
    owner_references: msgspec.Raw = _NONE
    deletion_timestamp: str | None = None
    managed_fields: msgspec.Raw = _NONE


class _Item(msgspec.Struct, rename="camel", gc=False):
    metadata: _Metadata
    api_version: str = ""
    kind: str = ""


class _Type(msgspec.Struct, gc=False):
    type: str


class _Object(msgspec.Struct, gc=False):
    object: msgspec.Raw


class WrongKind(msgspec.ValidationError):
    """What came is an object of another kind."""


class Intake(Generic[K]):
    """Makes entries of one kind, from lines of a watch or items of a list.

    What it is given is checked to be JSON with metadata of the right types; the rest of an object is only looked at
    when somebody reads it.
    """

    def __init__(
        self,
        kind: type[K],
        calls_itself: Resource,
        indexer: Indexer[K],
        packer: Packer,
        transform: Transform | None = None,
    ) -> None:
        self._kind = kind
        self._api_version = calls_itself.api_version
        self._kind_name = calls_itself.kind
        of_kind = (f'"kind":"{calls_itself.kind}"', f'"apiVersion":"{calls_itself.api_version}"')
        orders = (of_kind, of_kind[::-1], ())
        self._before_metadata = tuple(f'{{{",".join((*order, ""))}"metadata":{{'.encode() for order in orders)
        self._indexer = indexer
        self._packer = packer
        self._transform = transform
        self._transform_tried = False

    def type_of(self, line: bytes) -> str:
        """Of what type the event in a line of a watch is."""
        if line.startswith(_TYPE_FIRST):
            return line[len(_TYPE_FIRST) : line.find(b'"', len(_TYPE_FIRST))].decode()
        return _decode_type(line).type

    def from_line(self, line: bytes, known: Known[K] | None = None) -> Cached[K]:
        """The entry for the object in a line of a watch; the one that is known where it is the same version."""
        for before in _BEFORE_OBJECT:
            if line.startswith(before):
                try:
                    return self.from_item(line[len(before) : -1], known)
                except msgspec.ValidationError:
                    raise
                except msgspec.DecodeError:
                    break
        return self.from_item(bytes(_decode_object(line).object), known)  # somebody writes it in another way

    def from_item(self, data: bytes, known: Known[K] | None = None) -> Cached[K]:
        """The entry for an item of a list; the one that is known where it is the same version."""
        item = _decode_item(data)
        if item.kind != self._kind_name or item.api_version != self._api_version:
            self._check(item)
        metadata = item.metadata
        if known is not None and (old := known(_key(metadata))) is not None:
            same = old.resource_version == metadata.resource_version and old.uid == metadata.uid
            if same:
                return old
        return self._keep(metadata, data)

    def from_answer(self, body: bytes) -> Cached[K]:
        """The entry for an object that was answered to a write: whole, also where only metadata is kept."""
        return self._keep(_decode_item(body).metadata, body)

    def _keep(self, metadata: _Metadata, data: bytes) -> Cached[K]:
        if managed := bytes(metadata.managed_fields):
            data = _without_managed_fields(data, managed, metadata_first=data.startswith(self._before_metadata))
        if self._transform is not None:
            data = self._transformed(data)
            metadata = _decode_item(data).metadata
        if not metadata.name or not metadata.resource_version:
            raise msgspec.ValidationError("it has no name or no resource version")
        owner = self._indexer.owners.intern(bytes(metadata.owner_references))
        packed, codec = self._packer.pack(data, owner.siblings if owner else None)
        return Cached(
            _key(metadata),
            metadata.resource_version,
            metadata.uid,
            self._indexer.groups.intern(metadata.namespace, bytes(metadata.labels)),
            owner,
            metadata.deletion_timestamp is not None,
            packed,
            codec,
            self._kind,
        )

    def _check(self, item: _Item) -> None:
        """Items of a list of a built-in kind do not say what they are; what says something else is refused."""
        said = (item.api_version or self._api_version, item.kind or self._kind_name)
        if said != (self._api_version, self._kind_name):
            raise WrongKind(f"it is a {item.kind or 'something'} of {item.api_version or 'no version'}")

    def _transformed(self, data: bytes) -> bytes:
        assert self._transform is not None
        try:
            once = msgspec.json.encode(self._transform(msgspec.json.decode(data)))
            twice = once if self._transform_tried else msgspec.json.encode(self._transform(msgspec.json.decode(once)))
        except Exception as error:
            raise msgspec.ValidationError(f"the transform failed: {error!r}") from error
        if not self._transform_tried:
            self._transform_tried = True
            if twice != once:
                raise TrimtabError(
                    f"the transform of {self._kind_name} changes what it has changed already: the cache may run it "
                    "again on its own result, so let that come out the same"
                )
        return once


def _key(metadata: _Metadata) -> str:
    return f"{metadata.namespace}/{metadata.name}" if metadata.namespace else metadata.name


def _without_managed_fields(data: bytes, value: bytes, *, metadata_first: bool) -> bytes:
    """The object without its managedFields, which are half of it and of no use to a reader.

    Cut out instead of decoded and encoded, where metadata is the first object in it, as API servers write it: then the
    name of the field, in quotes and with a colon, stands there for the first time. Not in a string, for quotes in
    strings are escaped; not as a label or an annotation, for behind it has to be the very value that was decoded, and
    theirs are strings.
    """
    name = data.find(_MANAGED) if metadata_first else -1
    start = name + len(_MANAGED)
    end = start + len(value)
    if name > 0 and data[start:end] == value:
        if data[name - 1] == ord(","):
            return data[: name - 1] + data[end:]
        if data[end] == ord(","):
            return data[:name] + data[end + 1 :]
    obj = msgspec.json.decode(data)
    obj["metadata"].pop("managedFields", None)
    return msgspec.json.encode(obj)


_decode_type = msgspec.json.Decoder(_Type).decode
_decode_object = msgspec.json.Decoder(_Object).decode
_decode_item = msgspec.json.Decoder(_Item).decode
