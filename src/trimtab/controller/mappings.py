"""From an object of another kind to the keys of the objects that it concerns: `watches={Secret: mapping}`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from trimtab.cache import Cached, Informer, NotSynced
from trimtab.errors import TrimtabError
from trimtab.kube.kinds import Resource, ResourceClass

if TYPE_CHECKING:
    from trimtab.kube.dynamic import Dynamic
    from trimtab.kube.objects import Object

KeyMapping: TypeAlias = "Callable[[Any], Iterable[Any] | Any] | FromEntry | NamedBy"
"""What a watch of another kind does with an object of it: a function that is given the object and returns the keys
(`"namespace/name"`) or the objects that are to be looked at; or one of the mappings below."""


@dataclass(frozen=True, slots=True)
class FromEntry:
    """A mapping that is given the cache's entry: keys, labels and owners are at hand, and nothing is decoded."""

    function: Callable[[Cached[Any]], Any]


@dataclass(frozen=True, slots=True)
class NamedBy:
    """A mapping to those who name the object: see `named_by`."""

    names: Callable[[Any], Iterable[str]]


def from_entry(function: Callable[[Cached[Any]], Any]) -> FromEntry:
    """A mapping by what the cache has at hand: `from_entry(lambda e: [f"{e.namespace}/{e.labels['app']}"])`."""
    return FromEntry(function)


def named_by(names: Callable[[Any], Iterable[str]]) -> NamedBy:
    """A mapping to the objects that name this one: `watches={Secret: named_by(lambda site: [site.spec.secret])}`.

    The function is asked which names an object of the controller's own kind refers to: in its own namespace, or
    anywhere as `"namespace/name"`. What refers to what is kept in an index.
    """
    return NamedBy(names)


def keys_of(value: Any, to: Resource) -> list[str]:
    """The keys in what a mapping function returned."""
    if value is None:
        return []
    if isinstance(value, str | Cached | ResourceClass):
        value = [value]
    return [_key(each, to) for each in value]


def _key(value: Any, to: Resource) -> str:
    if isinstance(value, Cached):
        return value.key
    if isinstance(value, ResourceClass):
        meta = cast("Object | Dynamic", value).metadata
        return f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name
    if not isinstance(value, str):
        raise TrimtabError(f'a mapping returned {value!r}: return keys ("namespace/name") or objects')
    if to.namespaced and to.plural and "/" not in value:
        raise TrimtabError(f"a mapping returned {value!r}, but a {to.kind} lives in a namespace: return namespace/name")
    return value


def namers(mapping: NamedBy, informer: Informer[Any], index: str) -> Callable[[Cached[Any]], list[str]]:
    """Index who names what among an informer's objects, and give the function that finds those who name an object."""
    informer.add_index(index, lambda entry: filter(None, mapping.names(entry.read())))

    def find(named: Cached[Any]) -> list[str]:
        lister = informer.lister
        try:
            found = lister.entries(index=(index, named.key))
            if named.namespace:
                found += lister.entries(index=(index, named.name), namespace=named.namespace)
        except NotSynced:
            return []  # who names it is not known yet, and is looked at when it appears
        return [each.key for each in found]

    return find
