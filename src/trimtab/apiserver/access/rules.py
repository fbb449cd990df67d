"""One rule of a role: what it allows, and how it reads in messages."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from trimtab.apiserver.access.attributes import Attributes
from trimtab.apiserver.causes import quoted

Json: TypeAlias = dict[str, Any]

ALL: Final = "*"


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule as it is written."""

    verbs: tuple[str, ...]
    groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()
    _verbs: frozenset[str] = field(init=False, repr=False, compare=False)
    _groups: frozenset[str] = field(init=False, repr=False, compare=False)
    _resources: frozenset[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_verbs", frozenset(self.verbs))
        object.__setattr__(self, "_groups", frozenset(self.groups))
        object.__setattr__(self, "_resources", frozenset(self.resources))

    @classmethod
    def read(cls, rule: Json) -> Rule:
        """Read it from a role."""
        fields = ("verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs")
        return cls(*(tuple(map(str, rule.get(name) or ())) for name in fields))

    def body(self) -> Json:
        """As it stands in the answer to a review."""
        made = {"verbs": self.verbs, "apiGroups": self.groups, "resources": self.resources}
        made |= {"resourceNames": self.names, "nonResourceURLs": self.urls}
        return {name: list(values) for name, values in made.items() if values}

    def allows(self, asked: Attributes) -> bool:
        """Whether it allows that."""
        if asked.verb not in self._verbs and ALL not in self._verbs:
            return False
        if asked.path:
            return any(_url_covers(url, asked.path) for url in self.urls)
        if asked.group not in self._groups and ALL not in self._groups:
            return False
        if self.names and asked.name not in self.names:
            return False
        resources = self._resources
        if ALL in resources or asked.what in resources:
            return True
        return bool(asked.subresource) and f"*/{asked.subresource}" in resources

    def covers(self, atom: Rule) -> bool:
        """Whether it allows all that a rule of one verb and one resource or path does."""
        if not _has_all(self._verbs, atom.verbs) or not _has_all(self._groups, atom.groups):
            return False
        if self.names and not (atom.names and set(atom.names) <= set(self.names)):
            return False
        if not all(any(_url_covers(mine, url) for mine in self.urls) for url in atom.urls):
            return False
        return all(self._has_resource(each) for each in atom.resources)

    def atoms(self) -> Iterable[Rule]:
        """Rules of one verb and one resource or path, which together allow the same."""
        for group in self.groups:
            for resource in self.resources:
                for verb in self.verbs:
                    for name in self.names or ("",):
                        yield Rule((verb,), (group,), (resource,), (name,) if name else ())
        for url in self.urls:
            for verb in self.verbs:
                yield Rule((verb,), urls=(url,))

    def __str__(self) -> str:
        parts = (
            ("APIGroups", self.groups), ("Resources", self.resources), ("NonResourceURLs", self.urls),
            ("ResourceNames", self.names), ("Verbs", self.verbs),
        )  # fmt: skip
        return "{" + ", ".join(f"{name}:[{' '.join(map(quoted, values))}]" for name, values in parts if values) + "}"

    def _has_resource(self, name: str) -> bool:
        if ALL in self._resources or name in self._resources:
            return True
        _, slash, subresource = name.partition("/")
        return bool(slash) and f"*/{subresource}" in self._resources


def compact(rules: Iterable[Rule]) -> list[Rule]:
    """The same in fewer rules, as messages show them: sorted, the verbs of one resource together."""
    verbs: dict[tuple[str, str], list[str]] = {}
    rest: list[Rule] = []
    for rule in rules:
        if rule.names or len(rule.groups) != 1 or len(rule.resources) != 1:
            rest.append(rule)
        else:
            verbs.setdefault((rule.groups[0], rule.resources[0]), []).extend(rule.verbs)
    simple = [Rule(tuple(given), (group,), (resource,)) for (group, resource), given in verbs.items()]
    return sorted(rest + simple, key=str)


def _has_all(mine: frozenset[str], wanted: Iterable[str]) -> bool:
    return ALL in mine or mine.issuperset(wanted)


def _url_covers(mine: str, path: str) -> bool:
    return mine == path or (mine.endswith("*") and path.startswith(mine.rstrip("*")))
