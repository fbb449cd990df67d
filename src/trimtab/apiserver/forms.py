"""The station that writes answers: stored objects in the form that was asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, TypeAlias

import msgspec

from trimtab.apiserver import statuses, tables
from trimtab.apiserver.catalogue import Kind
from trimtab.apiserver.causes import quoted
from trimtab.apiserver.messages import JSON, PROTOBUF, YAML, Response
from trimtab.apiserver.negotiation import Form
from trimtab.apiserver.objects import as_item, as_kind, decode
from trimtab.apiserver.protobuf.encoding import frame, to_protobuf
from trimtab.apiserver.yamltext import to_yaml

Json: TypeAlias = dict[str, Any]

_PARTIAL: Final = "PartialObjectMetadata"
_TABLE: Final = "Table"
_INCLUDED: Final = ("", "Metadata", "Object", "None")

# What Kubernetes keeps as a field inside, and shows as an annotation with the whole object only.
_OF_WHOLE: Final = {"daemonsets.apps": ("deprecated.daemonset.template.generation",)}


class _Whole(msgspec.Struct, gc=False):
    metadata: msgspec.Raw


_metadata: Final = msgspec.json.Decoder(_Whole).decode


@dataclass(frozen=True, slots=True)
class Shown:
    """How objects of a kind are shown: the form, and what a row of a table has with it."""

    kind: Kind
    form: Form
    included: str = ""

    def __post_init__(self) -> None:
        if self.form.shape == _TABLE and self.included not in _INCLUDED:
            why = (
                f"includeObject: Invalid value: {quoted(self.included)}: must be 'Metadata', 'Object', 'None', or empty"
            )
            raise statuses.bad_request(f"Unable to convert to Table as requested: {why}")

    def one(self, data: bytes, now: datetime) -> bytes:
        """One object, as JSON."""
        match self.form.shape:
            case "":
                return as_kind(self.kind, data)
            case "PartialObjectMetadata":
                return self._partial(data)
            case "Table":
                obj = decode(data)
                about = {"resourceVersion": obj["metadata"].get("resourceVersion", "")}
                return self._table([data], about, now)
            case shape:
                why = f"the requested object is not a list (*{self._go_type})"
                raise statuses.Refused("NotAcceptable", f"you requested {shape}, but {why}")

    def many(self, data: Sequence[bytes], metadata: Json, now: datetime) -> bytes:
        """A list, as JSON."""
        about = msgspec.json.encode(metadata)
        match self.form.shape:
            case "":
                if self.kind.custom is not None:  # Kubernetes keeps these as maps, which show what is empty too
                    about = msgspec.json.encode({"continue": "", **metadata})
                kind = f'{{"kind":"{self.kind.list_kind}","apiVersion":"{self.kind.api_version}","metadata":'.encode()
                items = b",".join([as_item(self.kind, each) for each in data])
                return b"".join((kind, about, b',"items":[', items, b"]}"))
            case "PartialObjectMetadataList":
                kind = f'{{"kind":"PartialObjectMetadataList","apiVersion":"{self._version}","metadata":'.encode()
                items = b",".join([self._partial(each) for each in data])
                shown = b"[" + items + b"]" if data else b"null"
                return b"".join((kind, about, b',"items":', shown, b"}"))
            case "Table":
                return self._table(data, metadata, now)
            case shape:
                why = f"the requested object is a list (*{self._go_type}List)"
                raise statuses.Refused("NotAcceptable", f"you requested {shape}, but {why}")

    def event(self, data: bytes, now: datetime, *, first: bool) -> bytes:
        """One object in a watch, of which only the first table says what its columns are."""
        if self.form.shape == _TABLE and not first:
            obj = decode(data)
            about = {"resourceVersion": obj["metadata"].get("resourceVersion", "")}
            return self._table([data], about, now, columns=False)
        return self.one(data, now)

    def bookmark(self, metadata: Json, now: datetime, *, first: bool) -> bytes:
        """An object of which there is nothing but this."""
        kind = self.kind
        obj = msgspec.json.encode({"kind": kind.kind, "apiVersion": kind.api_version, "metadata": metadata})
        return self.event(obj, now, first=first)

    @property
    def changes_with_time(self) -> bool:
        """Whether the same object is shown otherwise later: tables have ages."""
        return self.form.shape == _TABLE

    @property
    def _go_type(self) -> str:
        if not self.kind.builtin:
            return "unstructured.Unstructured"
        return f"{self.kind.group.partition('.')[0] or 'core'}.{self.kind.kind}"

    @property
    def _version(self) -> str:
        return f"meta.k8s.io/{self.form.version}"

    def _partial(self, data: bytes) -> bytes:
        header = f'{{"kind":"{_PARTIAL}","apiVersion":"{self._version}","metadata":'.encode()
        metadata = bytes(_metadata(data).metadata)
        for name in _OF_WHOLE.get(self.kind.bucket, ()):
            metadata = _without_annotation(metadata, name)
        return b"".join((header, metadata, b"}"))

    def _table(self, data: Sequence[bytes], metadata: Json, now: datetime, *, columns: bool = True) -> bytes:
        table: Json = {"kind": _TABLE, "apiVersion": self._version, "metadata": metadata}
        table["columnDefinitions"] = tables.columns_of(self.kind) if columns else None
        table["rows"] = [
            {**tables.row_of(self.kind, obj, now), "object": self._included(each)}
            for obj, each in tables.in_order(self.kind, data)
        ]
        return msgspec.json.encode(table)

    def _included(self, data: bytes) -> msgspec.Raw | None:
        if self.included == "None":
            return None
        return msgspec.Raw(as_kind(self.kind, data) if self.included == "Object" else self._partial(data))


def _without_annotation(metadata: bytes, name: str) -> bytes:
    if name.encode() not in metadata:
        return metadata
    made = decode(metadata)
    if made.get("annotations", {}).pop(name, None) is not None and not made["annotations"]:
        del made["annotations"]
    return msgspec.json.encode(made)


def response(form: Form, body: bytes, status: int = 200, headers: Sequence[tuple[str, str]] = ()) -> Response:
    """An answer of which the JSON is made."""
    if form.media == YAML:
        return Response(status, to_yaml(msgspec.json.decode(body)), YAML, headers)
    if form.media == PROTOBUF:
        return Response(status, to_protobuf(body), PROTOBUF, headers)
    return Response(status, body, headers=headers)


def event(form: Form, kind: str, obj: bytes) -> bytes:
    """One event of a watch, of whose object the JSON is made."""
    if form.media == PROTOBUF:
        return frame(kind, obj)
    return b"".join((b'{"type":"', kind.encode(), b'","object":', obj, b"}\n"))


def stream_type(form: Form) -> str:
    """The content type of a watch."""
    return JSON if form.media == JSON else f"{form.media};stream=watch"
