"""The reader of `kubernetes.jsonl`: every line is found at once and read when somebody asks for it.

Each line is `[what, name, value]`:

| what | name | value |
| --- | --- | --- |
| `about` | | which Kubernetes told it |
| `groups` | | the API groups as `/apis` orders them, each with its versions, the preferred one first |
| `kinds` | | the definition of each `apps/v1/Deployment` |
| `document` | `apis/apps/v1` | the definitions in the group-version's OpenAPI that no other of it refers to |
| `resource` | `apps/v1/deployments` | what discovery says, with subresources, and what was found by asking |
| `defaults` | `io.k8s.api.apps.v1.DeploymentStrategy` | what its structs get for what they leave out, found by trying |
| `schema` | `io.k8s.api.apps.v1.Deployment` | a definition |
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from importlib.resources import files
from typing import Any, Literal, TypeVar, cast

import msgspec

from trimtab.apiserver.facts.schema import Schema

_T = TypeVar("_T")
Json = dict[str, Any]

_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"

_Line = msgspec.json.Decoder(tuple[str, str, msgspec.Raw])


class Column(msgspec.Struct, frozen=True, array_like=True):
    """A column of a kind's table."""

    name: str
    type: str
    format: str
    priority: int


class Group(msgspec.Struct, frozen=True):
    """An API group."""

    name: str
    versions: tuple[str, ...]
    """The preferred one comes first."""


class SubresourceFacts(msgspec.Struct, frozen=True, rename="camel"):
    """What discovery says of `deployments/scale`."""

    name: str
    kind: str
    verbs: tuple[str, ...]
    namespaced: bool
    group: str = ""
    """The group of its kind, where that is not the resource's own."""
    version: str = ""
    definition: str = msgspec.field(default="", name="schema")
    served_by_default: bool = msgspec.field(default=False, name="default")


class StrategyFacts(msgspec.Struct, frozen=True, rename="camel"):
    """How a resource's objects are written, found out by writing one."""

    generation: bool = False
    """The server counts what is wanted of an object."""
    counted: frozenset[str] = frozenset()
    """What of the metadata is counted too: `labels`, `annotations`."""
    upserts: bool = False
    """PUT creates where there is nothing."""
    unconditional: bool = False
    """PUT may leave out the resource version."""
    returned: bool = False
    """A deletion is answered with the object."""
    orphans: bool = False
    """A deletion that says nothing of dependents leaves them there."""
    names: Literal["", "label1035", "label", "subdomain", "path"] = ""
    """What a name may be; "" for a rule of its own."""
    status: Mapping[str, str] = {}
    """What a new object's status says."""
    status_keeps: frozenset[str] = frozenset()
    """What of the metadata does not change with the status."""


class ResourceFacts(msgspec.Struct, frozen=True, rename="camel"):
    """What is known of a resource."""

    name: str
    """`deployments`."""
    kind: str
    verbs: tuple[str, ...]
    namespaced: bool
    singular_name: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    storage_version_hash: str = ""
    subresources: Mapping[str, SubresourceFacts] = {}
    columns: tuple[Column, ...] = ()
    """Of its table; none where it cannot be listed."""
    field_labels: frozenset[str] = frozenset()
    """What field selectors may name."""
    unknown_field_label: str = ""
    """How a selector is refused that names anything else; `{}` stands for what it named."""
    warning: str = ""
    """What everybody is told who asks for it: that it is deprecated."""
    definition: str = msgspec.field(default="", name="schema")
    served_by_default: bool = msgspec.field(default=False, name="default")
    """A server that was told nothing serves it; the others are alpha and beta."""
    strategy: StrategyFacts | None = None
    """None where its objects are not kept."""


class Defaults(msgspec.Struct, frozen=True):
    """What the structs of a definition get for fields that they leave out, as far as trials could tell."""

    always: Mapping[str, Any] = {}
    """Whatever else is there."""
    when: tuple[tuple[str, str, tuple[tuple[Any, Any], ...]], ...] = ()
    """A field, the field beside it that decides, and the default for each of that one's values (null where it is not
    set); for other values there is none. `(kind)` is the kind of the object that it is in, `(field)` the name under
    which the struct is held."""


class Facts:
    """All that is known, out of the lines of a file."""

    def __init__(self, lines: bytes) -> None:
        self._lines: dict[tuple[str, str], msgspec.Raw] = {}
        for line in lines.splitlines():
            what, name, value = _Line.decode(line)
            self._lines[what, name] = value
        self._definitions: dict[str, Json] = {}
        self._schemas: dict[str, Schema] = {}
        self._defaults: dict[str, Defaults] = {}
        self._resources: dict[tuple[str, str], dict[str, ResourceFacts]] = {}

    @cached_property
    def version(self) -> Mapping[str, str]:
        """What `/version` says, but for the platform."""
        told = self._read("about", "", dict[str, str])
        return {name: text for name, text in told.items() if name != "generated"}

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """The API groups but for the core's, in the order of `/apis`."""
        return self._read("groups", "", tuple[Group, ...])

    @cached_property
    def _kinds(self) -> Mapping[str, str]:
        return self._read("kinds", "", dict[str, str])

    def resources(self, group: str, version: str) -> Mapping[str, ResourceFacts]:
        """The resources of a group-version by their plural names; none where there is no such group-version."""
        found = self._resources.get((group, version))
        if found is None:
            prefix = f"{group}/{version}/" if group else f"{version}/"
            found = {
                name.removeprefix(prefix): msgspec.json.decode(line, type=ResourceFacts)
                for (what, name), line in self._lines.items()
                if what == "resource" and name.startswith(prefix) and name.count("/") == prefix.count("/")
            }
            self._resources[group, version] = found
        return found

    def of_kind(self, group: str, version: str, kind: str) -> ResourceFacts | None:
        """The resource whose objects are of that kind."""
        return next((facts for facts in self.resources(group, version).values() if facts.kind == kind), None)

    def schema(self, group: str, version: str, kind: str) -> Schema | None:
        """The schema of a kind, whether or not it has a resource of its own."""
        definition = self._kinds.get(f"{group}/{version}/{kind}" if group else f"{version}/{kind}")
        return self.named(definition) if definition else None

    def named(self, definition: str) -> Schema:
        """The schema of a definition by its name in OpenAPI; KeyError where there is none."""
        found = self._schemas.get(definition)
        if found is None:
            self.definition(definition)
            found = self._schemas[definition] = Schema({"$ref": f"#/{definition}"}, self.definition)
        return found

    def custom(self, schema: Json) -> Schema:
        """A custom resource's schema, with the fields that every object has."""
        declared: Json = schema.get("properties") or {}
        properties: Json = {
            **declared,
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"$ref": f"#/{_META}"},
        }
        whole: Json = {**schema, "properties": properties}
        if not declared and "additionalProperties" not in schema:
            whole.setdefault("x-kubernetes-preserve-unknown-fields", True)
        return Schema(whole, self.definition)

    def definition(self, name: str) -> Json:
        """What OpenAPI says of a definition; KeyError where there is none. Leave it as it is: others read it too."""
        found = self._definitions.get(name)
        if found is None:
            found = self._definitions[name] = self._read("schema", name, dict[str, Any])
        return found

    def defaults(self, definition: str) -> Defaults:
        """The defaults of a definition's fields; without any, where there are none or the definition is not known.

        They are those of Go's functions, which OpenAPI does not tell. What is copied from another field, or allotted,
        is not among them.
        """
        found = self._defaults.get(definition)
        if found is None:
            known = ("defaults", definition) in self._lines
            found = self._read("defaults", definition, Defaults) if known else Defaults()
            self._defaults[definition] = found
        return found

    def documents(self) -> tuple[str, ...]:
        """The group-versions by path: `api/v1`, `apis/apps/v1`."""
        return tuple(name for what, name in self._lines if what == "document")

    def document(self, path: str) -> dict[str, Json]:
        """The definitions in the OpenAPI of a group-version; KeyError where there is none."""
        found: dict[str, Json] = {}
        waiting: list[str] = self._read("document", path, list[str])
        while waiting:
            name = waiting.pop()
            if name not in found:
                found[name] = self.definition(name)
                waiting += references(found[name])
        return dict(sorted(found.items()))

    def _read(self, what: str, name: str, of: type[_T]) -> _T:
        return msgspec.json.decode(self._lines[what, name], type=of)


def references(schema: Any) -> Iterator[str]:
    """The names of the definitions that a schema refers to."""
    if isinstance(schema, dict):
        for key, part in cast("Json", schema).items():
            if key == "$ref" and isinstance(part, str):
                yield part.rpartition("/")[2]
            else:
                yield from references(part)
    elif isinstance(schema, list):
        for part in cast("list[Any]", schema):
            yield from references(part)


@cache
def kubernetes() -> Facts:
    """What is known of the built-in kinds."""
    return Facts(files("trimtab.apiserver.facts").joinpath("kubernetes.jsonl").read_bytes())
