"""The station that knows which kinds are served: the built-in ones, from facts, and custom ones as they come and go."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from trimtab.apiserver.builtin.defaults import Default, defaults_of
from trimtab.apiserver.conversion import CONVERSIONS, RELATED, Conversion
from trimtab.apiserver.custom.definition import Definition, Version
from trimtab.apiserver.facts import Facts, ResourceFacts, Schema

VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True, slots=True)
class Subresource:
    """`status` or `scale` of a kind."""

    name: str
    kind: str
    verbs: tuple[str, ...]
    group: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """A kind in one of its versions, as it is served."""

    group: str
    version: str
    kind: str
    plural: str
    singular: str
    namespaced: bool
    verbs: tuple[str, ...] = VERBS
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: Mapping[str, Subresource] = field(default_factory=dict[str, Subresource])
    storage_version: str = ""  # the version in which its objects are stored; "" for this one
    storage_version_hash: str = ""
    list_kind: str = ""
    schema: Schema | None = None
    facts: ResourceFacts | None = None  # of a built-in kind
    conversion: Conversion | None = None  # where it is stored in another form than its own
    custom: Version | None = None  # of a custom one
    definition: Definition | None = None
    since: int = 0  # the revision of the definition: what was stored before may lack defaults
    schemas: Mapping[str, Schema] = field(default_factory=dict[str, Schema])  # of all that show the same objects
    terminating: bool = False  # the definition is about to go: nothing new may come
    complete: Default | None = None  # what fills in what was left out, of a built-in kind
    header: bytes = b""  # how the JSON of each object begins

    def __post_init__(self) -> None:
        object.__setattr__(self, "list_kind", self.list_kind or f"{self.kind}List")
        header = f'{{"kind":"{self.kind}","apiVersion":"{self.api_version}",'.encode()
        object.__setattr__(self, "header", header)

    @property
    def api_version(self) -> str:
        """`apps/v1`, or `v1` for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def bucket(self) -> str:
        """Where its objects are stored, in whatever version they are asked for."""
        if self.conversion is not None:
            return self.conversion.bucket
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def stored_group(self) -> str:
        """The group of the kind as which it is stored: faults are told of that."""
        return self.bucket.partition(".")[2]

    @property
    def builtin(self) -> bool:
        """Whether it is a kind of Kubernetes itself."""
        return self.facts is not None

    @property
    def shown_verbs(self) -> tuple[str, ...]:
        """What may be done, as discovery tells it."""
        return ("delete", "deletecollection", "get", "list", "watch") if self.terminating else self.verbs

    @property
    def warning(self) -> str:
        """What everybody is told who asks for it, or "": that it is deprecated."""
        if self.custom is not None:
            return self.custom.warning
        return self.facts.warning if self.facts is not None else ""

    def __str__(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural


@dataclass(slots=True)
class Group:
    """An API group: its versions, the preferred one first, with their kinds by plural name."""

    name: str
    versions: dict[str, dict[str, Kind]] = field(default_factory=dict[str, dict[str, Kind]])

    @property
    def custom(self) -> bool:
        """Whether all that it has is defined by definitions."""
        return not any(kind.builtin for kinds in self.versions.values() for kind in kinds.values())


class Catalogue:
    """The kinds that are served now. `changes` counts how often they changed."""

    def __init__(self, groups: Iterable[Group]) -> None:
        self.changes = 0
        self._groups = {group.name: group for group in groups}

    def find(self, group: str, version: str, plural: str) -> Kind | None:
        """The kind of this address."""
        there = self._groups.get(group)
        kinds = None if there is None else there.versions.get(version)
        return None if kinds is None else kinds.get(plural)

    def group(self, name: str) -> Group | None:
        """A group."""
        return self._groups.get(name)

    def groups(self) -> Iterator[Group]:
        """All groups, the core's first."""
        yield from self._groups.values()

    def kinds(self) -> Iterator[Kind]:
        """All kinds in all versions."""
        for group in self._groups.values():
            for kinds in group.versions.values():
                yield from kinds.values()

    def versions_of(self, kind: Kind) -> list[str]:
        """All versions in which a kind is served."""
        group = self._groups.get(kind.group)
        return [] if group is None else [name for name, kinds in group.versions.items() if kind.plural in kinds]

    def put(self, kind: Kind) -> None:
        """Serve a kind, from now on."""
        group = self._groups.setdefault(kind.group, Group(kind.group))
        group.versions.setdefault(kind.version, {})[kind.plural] = kind
        self.changes += 1

    def remove(self, kind: Kind) -> None:
        """Serve a kind no longer, and neither its version nor its group if it was the last in it."""
        group = self._groups[kind.group]
        kinds = group.versions[kind.version]
        del kinds[kind.plural]
        if not kinds:
            del group.versions[kind.version]
        if not group.versions:
            del self._groups[kind.group]
        self.changes += 1


def builtin(facts: Facts) -> Catalogue:
    """What a server of Kubernetes serves that was told nothing else."""
    groups = [Group("", {"v1": _kinds(facts, "", "v1")})]
    for told in facts.groups:
        versions = {version: _kinds(facts, told.name, version) for version in told.versions}
        groups.append(Group(told.name, {version: kinds for version, kinds in versions.items() if kinds}))
    return Catalogue(group for group in groups if group.versions)


def _kinds(facts: Facts, group: str, version: str) -> dict[str, Kind]:
    resources = facts.resources(group, version)
    return {name: _kind(facts, group, version, told) for name, told in resources.items() if told.served_by_default}


def _kind(facts: Facts, group: str, version: str, told: ResourceFacts) -> Kind:
    subresources = {
        name: Subresource(name, sub.kind, sub.verbs, sub.group or group, sub.version or version)
        for name, sub in told.subresources.items()
        if sub.served_by_default
    }
    conversion = CONVERSIONS.get(f"{group}/{version}/{told.name}")
    schema = facts.schema(group, version, told.kind)
    return Kind(
        group,
        version,
        told.kind,
        told.name,
        told.singular_name,
        told.namespaced,
        told.verbs,
        told.short_names,
        told.categories,
        subresources,
        storage_version_hash=told.storage_version_hash,
        schema=schema,
        facts=told,
        conversion=conversion,
        schemas=_related(facts, told),
        complete=defaults_of(facts, schema, f"{told.name}.{group}" if group else told.name),
    )


def _related(facts: Facts, told: ResourceFacts) -> dict[str, Schema]:
    """By API version, the schemas of all that show the same objects."""
    found: dict[str, Schema] = {}
    for api_version in RELATED.get(told.name, ()):
        group, _, version = api_version.rpartition("/")
        schema = facts.schema(group, version, told.kind)
        if schema is not None:
            found[api_version] = schema
    return found
