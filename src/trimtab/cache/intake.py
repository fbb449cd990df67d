"""The station where bytes from the server become entries of the cache: split, stripped, packed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeAlias

import msgspec

from trimtab.cache.entry import Cached
from trimtab.cache.indexes import Indexer
from trimtab.cache.latest import Latest
from trimtab.errors import TrimtabError
from trimtab.kube.kinds import Resource
from trimtab.kube.wire import K
from trimtab.packing import PLAIN, Packer

Transform: TypeAlias = Callable[[dict[str, Any]], dict[str, Any]]
"""Changes the JSON of an object before it is kept. What it returns it must leave as it is the second time."""

_MANAGED = b'"managedFields":'
_NONE = msgspec.Raw(b"")
_TYPE_FIRST = b'{"type":"'
_BEFORE_OBJECT = tuple(f'{{"type":"{kind}","object":'.encode() for kind in ("ADDED", "MODIFIED", "DELETED"))
_COMMA = ord(",")
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
        self._latest: Latest[K] = Latest(packer)
        self._transform = transform
        self._transform_tried = False

    def type_of(self, line: bytes) -> str:
        """Of what type the event in a line of a watch is."""
        if line.startswith(_TYPE_FIRST):
            return line[len(_TYPE_FIRST) : line.find(b'"', len(_TYPE_FIRST))].decode()
        return _decode_type(line).type

    def from_line(self, line: bytes, known: Known[K] | None = None, *, later: bool = False) -> Cached[K]:
        """The entry for the object in a line of a watch; the one that is known where it is the same version.

        `later` is for a change: it is read next by those who hear of it, and packed when others came after it.
        """
        if line.startswith(_BEFORE_OBJECT):
            start = line.find(b":", len(_TYPE_FIRST)) + 1
            try:
                return self._take(line, start, len(line) - 1, known, later=later)
            except msgspec.ValidationError:
                raise
            except msgspec.DecodeError:
                pass  # something follows the object
        data = bytes(_decode_object(line).object)  # somebody writes it in another way
        return self._take(data, 0, len(data), known, later=later)

    def from_item(self, data: bytes, known: Known[K] | None = None) -> Cached[K]:
        """The entry for an item of a list; the one that is known where it is the same version."""
        return self._take(data, 0, len(data), known, later=False)

    def from_answer(self, body: bytes) -> Cached[K]:
        """The entry for an object that was answered to a write: whole, also where only metadata is kept."""
        return self._keep(_decode_item(body).metadata, body, 0, len(body), later=True)

    def _take(self, text: bytes, start: int, end: int, known: Known[K] | None, *, later: bool) -> Cached[K]:
        """The entry for the object that stands there in a text; a copy of it would cost as much as to read it."""
        item = _decode_item(memoryview(text)[start:end])
        if item.kind != self._kind_name or item.api_version != self._api_version:
            self._check(item)
        metadata = item.metadata
        if known is not None and (old := known(_key(metadata))) is not None:
            same = old.resource_version == metadata.resource_version and old.uid == metadata.uid
            if same:
                return old
        return self._keep(metadata, text, start, end, later=later)

    def _keep(self, metadata: _Metadata, text: bytes, start: int, end: int, *, later: bool) -> Cached[K]:
        if metadata.managed_fields is _NONE:
            data = text[start:end]
        else:
            first = text.startswith(self._before_metadata, start)
            data = _without_managed_fields(text, start, end, metadata.managed_fields, metadata_first=first)
        if self._transform is not None:
            data = self._transformed(data)
            metadata = _decode_item(data).metadata
        if not metadata.name or not metadata.resource_version:
            raise msgspec.ValidationError("it has no name or no resource version")
        owner = self._indexer.owners.intern(bytes(metadata.owner_references))
        packed, codec = (data, PLAIN) if later else self._packer.pack(data, owner.siblings if owner else None)
        entry = Cached(
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
        if later:
            self._latest.add(entry)
        return entry

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


def _without_managed_fields(text: bytes, start: int, end: int, value: msgspec.Raw, *, metadata_first: bool) -> bytes:
    """The object that stands there without its managedFields, which are half of it and of no use to a reader.

    Cut out instead of decoded and encoded, where metadata is the first object in it, as API servers write it: then the
    name of the field, in quotes and with a colon, stands there for the first time. Not in a string, for quotes in
    strings are escaped; not as a label or an annotation, for behind it has to be the very value that was decoded, and
    theirs are strings.
    """
    name = text.find(_MANAGED, start, end) if metadata_first else -1
    begin = name + len(_MANAGED)
    if name > 0 and text.startswith(value, begin):  # pyright: ignore[reportArgumentType]  # a Raw is a buffer
        after = begin + len(memoryview(value))  # pyright: ignore[reportArgumentType]  # so it is
        whole = memoryview(text)
        if text[name - 1] == _COMMA:
            return b"".join((whole[start : name - 1], whole[after:end]))
        if text[after] == _COMMA:
            return b"".join((whole[start:name], whole[after + 1 : end]))
    obj = msgspec.json.decode(memoryview(text)[start:end])
    obj["metadata"].pop("managedFields", None)
    return msgspec.json.encode(obj)


_decode_type = msgspec.json.Decoder(_Type).decode
_decode_object = msgspec.json.Decoder(_Object).decode
_decode_item = msgspec.json.Decoder(_Item).decode
