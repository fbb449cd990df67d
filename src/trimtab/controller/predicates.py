"""Which objects a controller is about, and which of their changes it wants to look at.

A predicate judges a change: an object as it was and as it is. It says True, False, or None where it has nothing to say.
There are two sorts. Those of a state (`annotated`, `labelled`, `matching`) judge the object as it is. Those of a change
(`generation_changed`, `label_changed`, `annotation_changed`, `changed`) judge what an update changed, and have nothing
to say of anything else: an object that appears, that vanishes, whose deletion begins, or that a resync looks at again.
`&`, `|` and `~` compose them; what nobody objects to passes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from typing import Any, TypeAlias, TypeVar

import msgspec

from trimtab.cache import Cached
from trimtab.client.options import LabelQuery
from trimtab.errors import TrimtabError
from trimtab.kube.base import Struct
from trimtab.kube.dynamic import Dynamic
from trimtab.kube.objects import Object
from trimtab.kube.selectors import Selector

Entry: TypeAlias = Cached[Any]
Verdict: TypeAlias = bool | None
K = TypeVar("K", bound="Object | Dynamic")


class Predicate(ABC):
    """Judges a change. `old` is None where the object appears; at a resync both are the same."""

    @abstractmethod
    def judge(self, old: Entry | None, new: Entry) -> Verdict:
        """True and False as it matches or not; None where it has nothing to say of this."""

    def __and__(self, other: Predicate) -> Predicate:
        return _And(self, other)

    def __or__(self, other: Predicate) -> Predicate:
        return _Or(self, other)

    def __invert__(self) -> Predicate:
        return _Not(self)

    def __bool__(self) -> bool:
        raise TrimtabError("compose predicates with & | ~, not with and, or, not: those would drop one of them")

    def wants(self, entry: Entry) -> bool:
        """Whether an object in this state is one that the controller is about."""
        return self.judge(None, entry) is not False

    def passes(self, old: Entry, new: Entry) -> bool:
        """Whether an update is to be looked at. That an object is no longer wanted is: it has been left behind."""
        if self.judge(old, new) is not False:
            return True
        return self.wants(old) and not self.wants(new)


class _And(Predicate):
    def __init__(self, one: Predicate, other: Predicate) -> None:
        self._both = one, other

    def judge(self, old: Entry | None, new: Entry) -> Verdict:
        one, other = self._both
        first = one.judge(old, new)
        if first is False:
            return False
        second = other.judge(old, new)
        return second if first or second is False else None

    def __repr__(self) -> str:
        return f"({self._both[0]!r} & {self._both[1]!r})"


class _Or(Predicate):
    def __init__(self, one: Predicate, other: Predicate) -> None:
        self._either = one, other

    def judge(self, old: Entry | None, new: Entry) -> Verdict:
        one, other = self._either
        first = one.judge(old, new)
        if first:
            return True
        second = other.judge(old, new)
        return second if second or first is False else None

    def __repr__(self) -> str:
        return f"({self._either[0]!r} | {self._either[1]!r})"


class _Not(Predicate):
    def __init__(self, inner: Predicate) -> None:
        self._inner = inner

    def judge(self, old: Entry | None, new: Entry) -> Verdict:
        verdict = self._inner.judge(old, new)
        return None if verdict is None else not verdict

    def __repr__(self) -> str:
        return f"~{self._inner!r}"


class _OfState(Predicate):
    """Judges an object as it is."""

    def __init__(self, holds: Callable[[Entry], bool], name: str) -> None:
        self._holds = holds
        self._name = name

    def judge(self, old: Entry | None, new: Entry) -> Verdict:  # noqa: ARG002  # it matters to others
        return self._holds(new)

    def __repr__(self) -> str:
        return self._name


class _OfChange(Predicate):
    """Judges whether an update changed something."""

    def __init__(self, value: Callable[[Entry], object], name: str) -> None:
        self._value = value
        self._name = name

    def judge(self, old: Entry | None, new: Entry) -> Verdict:
        if old is None or old is new or (new.deleting and not old.deleting):
            return None
        return self._value(old) != self._value(new)

    def __repr__(self) -> str:
        return self._name


class _Notes(Struct):
    annotations: dict[str, str] | None = None
    generation: int = 0


class _Metadata(Struct):
    metadata: _Notes = msgspec.field(default_factory=_Notes)


_notes = msgspec.json.Decoder(_Metadata).decode


def annotations_of(entry: Entry) -> dict[str, str]:
    """The annotations of an object; nothing else is decoded."""
    return _notes(entry.json()).metadata.annotations or {}


def annotated(key: str, value: str | None = None) -> Predicate:
    """Objects that have this annotation, with this value if one is given."""
    mark = f'"{key}"'.encode()  # as it stands in JSON: keys of annotations have nothing that is escaped

    def holds(entry: Entry) -> bool:
        data = entry.json()
        if mark not in data:
            return False
        found = (_notes(data).metadata.annotations or {}).get(key)
        return found is not None and value in (None, found)

    return _OfState(holds, f"annotated({key!r}{'' if value is None else f', {value!r}'})")


def labelled(labels: LabelQuery = None, /, **equal: str) -> Predicate:
    """Objects whose labels are selected: `labelled("app=web,tier in (a,b)")`, `labelled({"app": "web"})`."""
    selector = Selector.of(equal or labels)
    if selector is None or (labels and equal):
        raise TrimtabError('labelled() wants a selector: labelled("app=web"), or labelled(app="web")')
    return _OfState(lambda entry: selector.matches(entry.labels), f"labelled({str(selector)!r})")


def matching(function: Callable[[K], bool]) -> Predicate:
    """Objects of which a function says so: `matching(lambda pod: bool(pod.spec.node_name))`."""
    return _OfState(lambda entry: bool(function(entry.read())), f"matching({_name(function)})")


def changed(value: Callable[[K], Hashable]) -> Predicate:
    """Updates that change what a function gives: `changed(lambda pod: pod.spec.node_name)`."""
    return _OfChange(lambda entry: value(entry.read()), f"changed({_name(value)})")


def label_changed(*keys: str) -> Predicate:
    """Updates that change one of these labels; without keys, any."""
    if not keys:
        return _OfChange(lambda entry: entry.labels, "label_changed()")
    return _OfChange(lambda entry: [entry.labels.get(key) for key in keys], f"label_changed{keys!r}")


def annotation_changed(*keys: str) -> Predicate:
    """Updates that change one of these annotations; without keys, any."""
    if not keys:
        return _OfChange(annotations_of, "annotation_changed()")

    def value(entry: Entry) -> object:
        annotations = annotations_of(entry)
        return [annotations.get(key) for key in keys]

    return _OfChange(value, f"annotation_changed{keys!r}")


generation_changed: Predicate = _OfChange(lambda entry: _notes(entry.json()).metadata.generation, "generation_changed")
"""Updates of the spec. Not for kinds whose objects have no generation, such as ConfigMaps: it sees none there."""


def as_predicate(where: Predicate | Callable[[Any], bool] | None) -> Predicate | None:
    """A predicate from what people give."""
    if where is None or isinstance(where, Predicate):
        return where
    return matching(where)


def _name(function: Callable[..., Any]) -> str:
    return getattr(function, "__qualname__", repr(function))
