"""From an object of another kind to the keys of the objects that it concerns: `watches={Secret: mapping}`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from trimtab.cache import Cached, Informer, NotSynced
from trimtab.errors import TrimtabError
from trimtab.kube.invalid import InvalidValueError
from trimtab.kube.kinds import Resource, ResourceClass
from trimtab.kube.meta.v1 import LabelSelector
from trimtab.kube.selectors import Selector

if TYPE_CHECKING:
    from trimtab.kube.dynamic import Dynamic
    from trimtab.kube.objects import Object

KeyMapping: TypeAlias = "Callable[[Any], Iterable[Any] | Any] | FromEntry | NamedBy | SelectedBy | Everyone"
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


@dataclass(frozen=True, slots=True)
class Everyone:
    """A mapping to all objects of the controller's own kind: see `everyone`."""


@dataclass(frozen=True, slots=True)
class SelectedBy:
    """A mapping to those who select the object by its labels: see `selected_by`."""

    selector: Callable[[Any], LabelSelector | Mapping[str, str] | None]
    orphans: bool


def from_entry(function: Callable[[Cached[Any]], Any]) -> FromEntry:
    """A mapping by what the cache has at hand: `from_entry(lambda e: [f"{e.namespace}/{e.labels['app']}"])`."""
    return FromEntry(function)


def named_by(names: Callable[[Any], Iterable[str]]) -> NamedBy:
    """A mapping to the objects that name this one: `watches={Secret: named_by(lambda site: [site.spec.secret])}`.

    The function is asked which names an object of the controller's own kind refers to: in its own namespace, or
    anywhere as `"namespace/name"`. What refers to what is kept in an index.
    """
    return NamedBy(names)


def selected_by(
    selector: Callable[[Any], LabelSelector | Mapping[str, str] | None], *, orphans: bool = False
) -> SelectedBy:
    """A mapping to the objects that select this one by its labels, in its namespace.

    `watches={Pod: selected_by(lambda service: service.spec.selector)}`. The function gives the selector of an object of
    the controller's own kind; none, or an empty mapping, selects nothing. With `orphans`, what a controller owns
    already concerns nobody here: that is for who may adopt.
    """
    return SelectedBy(selector, orphans)


def everyone() -> Everyone:
    """A mapping to all objects of the controller's own kind: `watches={Node: everyone()}`.

    For kinds that change seldom: each change has all of them looked at.
    """
    return Everyone()


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


def selectors(mapping: SelectedBy, informer: Informer[Any], index: str) -> Callable[[Cached[Any]], list[str]]:
    """Index who selects what among an informer's objects, and give the function that finds those who select an object.

    A selector is found by one of the labels that it wants, so that few are asked. Those that want none with a certain
    value are all asked.
    """

    def selector_of(entry: Cached[Any]) -> Selector | None:
        chosen = mapping.selector(entry.read())
        try:
            if isinstance(chosen, LabelSelector):
                return Selector.from_struct(chosen)
            return Selector.from_mapping(chosen) if chosen else None
        except InvalidValueError:  # the server refuses those; what is there all the same selects nothing
            return None

    def places(entry: Cached[Any]) -> Iterable[str]:
        selector = selector_of(entry)
        if selector is not None and not selector.is_nothing:
            key, value = next(iter(selector.equalities), ("", ""))
            yield f"{entry.namespace}/{key}={value}"

    informer.add_index(index, places)

    def find(selected: Cached[Any]) -> list[str]:
        if mapping.orphans and selected.controller is not None:
            return []
        lister, found = informer.lister, list[str]()
        try:
            for key, value in (("", ""), *selected.labels.items()):
                for entry in lister.entries(index=(index, f"{selected.namespace}/{key}={value}")):
                    selector = selector_of(entry)
                    if selector is not None and selector.matches(selected.labels):
                        found.append(entry.key)
        except NotSynced:
            return []  # who selects it is not known yet, and is looked at when it appears
        return found

    return find


def all_of(informer: Informer[Any]) -> Callable[[Cached[Any]], list[str]]:
    """Give the function that finds all of an informer's objects."""

    def find(_: Cached[Any]) -> list[str]:
        try:
            return [entry.key for entry in informer.lister.entries()]
        except NotSynced:
            return []  # each is looked at when it appears

    return find
