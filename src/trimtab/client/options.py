"""What verbs can be asked to do besides their plain work, and how that is sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias, TypedDict

from trimtab.client.request import Query
from trimtab.errors import TrimtabError
from trimtab.kube.fieldselectors import FieldSelector
from trimtab.kube.meta.v1 import DeleteOptions as DeleteBody
from trimtab.kube.meta.v1 import Preconditions
from trimtab.kube.selectors import Selector
from trimtab.kube.wire import encode

LabelQuery: TypeAlias = Selector | Mapping[str, str] | str | None
"""Labels to select by: a Selector, pairs that must all be there, or kubectl's syntax (`app=web,tier in (a,b)`)."""

FieldQuery: TypeAlias = FieldSelector | Mapping[str, str] | str | None
"""Fields to select by: a FieldSelector, pairs, or kubectl's syntax (`spec.nodeName=n1`)."""


class WriteOptions(TypedDict, total=False):
    """Options of create, replace, patch, apply and modify."""

    dry_run: bool
    """The server does everything but store the result."""
    field_validation: Literal["Strict", "Warn", "Ignore"]
    """What it does about unknown and repeated fields; Warn by default, and the warnings are logged."""
    field_manager: str
    """Who writes, in managedFields; the client's own by default."""


class DeleteOptions(TypedDict, total=False):
    """Options of delete, delete_all and evict."""

    propagation: Literal["Background", "Foreground", "Orphan"]
    """What becomes of what the object owns; the kind decides by default (Background for most)."""
    grace_period_seconds: int
    """How long it may take to end; 0 is at once."""
    uid: str
    """Delete only the object with this uid; else Conflict."""
    resource_version: str
    """Delete only what is still at this version; else Conflict."""
    dry_run: bool
    """The server does everything but delete."""


def write_query(options: WriteOptions, field_manager: str) -> dict[str, str | bool | None]:
    """The query of a write."""
    return {
        "fieldManager": options.get("field_manager") or field_manager,
        "dryRun": "All" if options.get("dry_run") else None,
        "fieldValidation": options.get("field_validation"),
    }


def delete_body(options: DeleteOptions) -> bytes | None:
    """The body of a delete; None where nothing special is asked."""
    uid, version = options.get("uid"), options.get("resource_version")
    body = DeleteBody(
        propagation_policy=options.get("propagation"),
        grace_period_seconds=options.get("grace_period_seconds"),
        preconditions=Preconditions(uid=uid or None, resource_version=version or None) if uid or version else None,
        dry_run=["All"] if options.get("dry_run") else [],
    )
    encoded = encode(body)
    return None if encoded == b"{}" else encoded


def selection(labels: LabelQuery, fields: FieldQuery) -> Query:
    """The query that selects objects."""
    return {"labelSelector": _labels_text(labels), "fieldSelector": _fields_text(fields)}


def _labels_text(labels: LabelQuery) -> str | None:
    """The label selector as it is sent."""
    selector = Selector.of(labels)  # checked here: the server would say what is wrong, and not with which selector
    if selector is not None and selector.is_nothing:
        raise TrimtabError("a selector that selects nothing cannot be sent: the server would take it for everything")
    return str(selector) if selector is not None else None


def _fields_text(fields: FieldQuery) -> str | None:
    """The field selector as it is sent."""
    if isinstance(fields, Mapping):
        fields = FieldSelector.from_mapping(fields)
    if isinstance(fields, str) and fields:
        fields = FieldSelector.parse(fields)
    return str(fields) if fields else None
