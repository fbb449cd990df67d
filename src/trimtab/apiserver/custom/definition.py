"""`compile_definition`: a definition becomes what the server needs for each of its versions, compiled once.

compiled = compile_definition(definition)
version = compiled.versions["v1"]
unknown = version.prune(obj)            # in place; the paths of what was not in the schema
version.default(obj)                    # in place; on write and on read
faults = version.validate(obj, old)     # old is None for a new object
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from trimtab.apiserver.causes import Cause
from trimtab.apiserver.custom.columns import PrinterColumn, printer_columns
from trimtab.apiserver.custom.defaulting import compile_defaulting
from trimtab.apiserver.custom.embedded import compile_embedded, compile_malformed, compile_resources
from trimtab.apiserver.custom.equality import UNCORRELATED, part
from trimtab.apiserver.custom.lists import compile_lists
from trimtab.apiserver.custom.pruning import compile_pruning
from trimtab.apiserver.custom.publishing import definition_name, published, published_list
from trimtab.apiserver.custom.rules import compile_validator
from trimtab.apiserver.custom.scale import Scale
from trimtab.apiserver.custom.validating import compile_validation
from trimtab.apiserver.facts import Schema

Json: TypeAlias = dict[str, Any]
Resolve: TypeAlias = Callable[[str], Json]

_BLOCKING = frozenset(
    {"FieldValueRequired", "FieldValueTooLong", "FieldValueTooMany", "FieldValueTypeInvalid", "FieldValueNotSupported"}
)
_NOT_CHECKED = (
    "Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing "
    "errors to complete validation"
)


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a kind: how its objects are pruned, defaulted and checked, and what is shown of them."""

    name: str
    served: bool
    storage: bool
    deprecated: bool
    warning: str
    """What clients are told when they use a deprecated version; "" where nothing is said."""
    openapi: Json | None
    malformed: Callable[[Any], Cause | None]
    """Finds what makes a body one that cannot be read: `A in version "v1" cannot be handled as a A: <the fault>`."""
    resources: Callable[[Any], Iterator[tuple[str, Json]]]
    """Finds the resources inside of an object, with their paths."""
    prune: Callable[[Any], list[str]]
    """Takes out, in place, what the schema does not know, and tells the paths of that."""
    default: Callable[[Any], None]
    """Fills in defaults and takes out nulls, in place."""
    columns: tuple[PrinterColumn, ...]
    selectable: Mapping[str, str]
    """The fields that can be selected by, without their leading dot, with their types."""
    has_status: bool
    scale: Scale | None
    _checks: Callable[[Any, Any], list[Cause]]
    _status: Callable[[Any, Any], list[Cause]]

    def validate(self, obj: Json, old: Json | None = None) -> list[Cause]:
        """What is wrong with an object, metadata apart; what did not change since `old` may be as it was."""
        return self._checks(obj, old)

    def validate_status(self, obj: Json, old: Json) -> list[Cause]:
        """What is wrong with an object that was written through its status."""
        return self._status(obj, old)


@dataclass(frozen=True, slots=True)
class Definition:
    """A compiled definition."""

    group: str
    scope: str
    plural: str
    singular: str
    kind: str
    list_kind: str
    short_names: tuple[str, ...]
    categories: tuple[str, ...]
    versions: Mapping[str, Version]
    storage_version: str
    conversion: Json

    def schema(self, version: str, resolve: Resolve) -> Schema:
        """The tree that patches and apply go by; `resolve` knows the metadata of all kinds."""
        return Schema(self.openapi_v3(version)[definition_name(self.group, version, self.kind)], resolve)

    def openapi_v3(self, version: str) -> dict[str, Json]:
        """The schemas of the kind and of its list, as OpenAPI 3 has them, by name."""
        return self._published(version, v2=False)

    def openapi_v2(self, version: str) -> dict[str, Json]:
        """The same for OpenAPI 2, which can say less."""
        return self._published(version, v2=True)

    @property
    def asks(self) -> bool:
        """Whether a webhook converts between the versions; else they differ in their apiVersion alone."""
        return self.conversion.get("strategy") == "Webhook"

    def _published(self, version: str, *, v2: bool) -> dict[str, Json]:
        given = (self.group, version, self.kind)
        schema = self.versions[version].openapi
        return {
            definition_name(*given): published(schema, *given, v2=v2),
            definition_name(self.group, version, self.list_kind): published_list(*given, self.list_kind, v2=v2),
        }


def compile_definition(definition: Json) -> Definition:
    """Compile a definition that was checked (`definitions.check_definition`) and defaulted."""
    spec = part(definition, "spec")
    accepted, wanted = part(part(definition, "status"), "acceptedNames"), part(spec, "names")
    names = accepted if accepted.get("plural") else wanted
    versions: list[Json] = spec.get("versions") or []
    keep_all = bool(spec.get("preserveUnknownFields"))
    return Definition(
        group=spec["group"],
        scope=spec["scope"],
        plural=names["plural"],
        singular=names.get("singular") or "",
        kind=names["kind"],
        list_kind=names.get("listKind") or f"{names['kind']}List",
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        versions={v["name"]: _version(v, spec["group"], names["kind"], keep_all=keep_all) for v in versions},
        storage_version=next(v["name"] for v in versions if v.get("storage")),
        conversion=part(spec, "conversion"),
    )


def _version(version: Json, group: str, kind: str, *, keep_all: bool) -> Version:
    schema = cast("Json | None", part(version, "schema").get("openAPIV3Schema"))
    known: Json = schema if schema is not None else {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    subresources = part(version, "subresources")
    scale = Scale.of(part(subresources, "scale"))
    deprecated = bool(version.get("deprecated"))
    warning = version.get("deprecationWarning") or f"{group}/{version['name']} {kind} is deprecated"
    return Version(
        name=version["name"],
        served=bool(version.get("served")),
        storage=bool(version.get("storage")),
        deprecated=deprecated,
        warning=warning if deprecated else "",
        openapi=schema,
        malformed=compile_malformed(known),
        resources=compile_resources(known),
        prune=(lambda _obj: []) if keep_all else compile_pruning(known, root=True),
        default=compile_defaulting(known),
        columns=printer_columns(version),
        selectable=_selectable(version, known),
        has_status="status" in subresources,
        scale=scale,
        _checks=_checks(known, scale),
        _status=_checks(known, scale, status_only=True),
    )


def _selectable(version: Json, schema: Json) -> dict[str, str]:
    found: dict[str, str] = {}
    for each in version.get("selectableFields") or ():
        path = str(each["jsonPath"]).removeprefix(".")
        node = schema
        for name in path.split("."):
            node = part(part(node, "properties"), name)
        found[path] = node.get("type", "string")
    return found


def _checks(  # noqa: C901 - the closures in it are counted too
    schema: Json, scale: Scale | None, *, status_only: bool = False
) -> Callable[[Any, Any], list[Cause]]:
    """The checks in the order of the server; rules are run only if nothing keeps them from making sense."""
    looked_at = part(part(schema, "properties"), "status") if status_only else schema
    values = compile_validation(looked_at)
    embedded, lists = compile_embedded(schema), compile_lists(schema)
    rules = compile_validator(schema, root=True)

    def of_values(obj: Json, old: Json | None) -> list[Cause]:
        if not status_only:
            return values(obj, UNCORRELATED if old is None else old)
        if "status" not in obj:
            return []
        before = (old or {}).get("status", UNCORRELATED)
        return [_below_status(cause) for cause in values(obj["status"], before)]

    def run(obj: Json, old: Json | None) -> list[Cause]:
        faults = of_values(obj, old)
        if scale is not None:
            faults += scale.check(obj, status_only=status_only)
        if embedded is not None:
            for name, value in obj.items():
                if name != "metadata":
                    embedded({name: value}, "", faults)
        if lists is not None:
            before: list[Cause] = []
            if old is not None:
                lists(old, "", before)
            if not before:
                lists(obj, "", faults)
        if rules is not None:
            if any(cause.reason in _BLOCKING for cause in faults):
                faults.append(Cause("FieldValueInvalid", _NOT_CHECKED, "<nil>"))
            else:
                faults += rules(obj, old)
        return faults

    return run


def _below_status(cause: Cause) -> Cause:
    where = "status" if cause.field in ("", "<nil>") else f"status.{cause.field}"
    return Cause(cause.reason, cause.message, where)
