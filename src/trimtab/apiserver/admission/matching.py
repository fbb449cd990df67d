"""Which writes are meant by the rules and selectors of a webhook or a policy."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver.access.rbac import selector_of
from trimtab.apiserver.admission.requests import Write
from trimtab.kube.selectors import Selector

Json: TypeAlias = dict[str, Any]

EXEMPT: Final = frozenset(
    f"{plural}.admissionregistration.k8s.io"
    for plural in (
        "mutatingwebhookconfigurations", "validatingwebhookconfigurations", "validatingadmissionpolicies",
        "validatingadmissionpolicybindings", "mutatingadmissionpolicies", "mutatingadmissionpolicybindings",
    )
)  # fmt: skip
"""The kinds that nobody may hold back: who could, would lock everybody out."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Operations on resources."""

    operations: frozenset[str]
    groups: frozenset[str]
    versions: frozenset[str]
    resources: tuple[tuple[str, str], ...]  # with their subresources
    scope: str
    names: frozenset[str]

    @classmethod
    def read(cls, rule: Json) -> Rule:
        """Read it from a configuration."""
        split = (str(each).partition("/") for each in rule.get("resources") or ())
        return cls(
            frozenset(rule.get("operations") or ()),
            frozenset(rule.get("apiGroups") or ()),
            frozenset(rule.get("apiVersions") or ()),
            tuple((resource, subresource) for resource, _, subresource in split),
            rule.get("scope") or "*",
            frozenset(rule.get("resourceNames") or ()),
        )

    def matches(self, write: Write, version: str) -> bool:
        """Whether a write is meant, of an object in that version of its kind."""
        kind, subresource = write.kind, write.subresource
        if self.names and write.name not in self.names:
            return False
        return (
            _has(self.operations, write.operation)
            and _has(self.groups, kind.group)
            and _has(self.versions, version)
            and self._in_scope(write)
            and any(resource in ("*", kind.plural) and sub in ("*", subresource) for resource, sub in self.resources)
        )

    def _in_scope(self, write: Write) -> bool:
        return self.scope == "*" or (self.scope == "Namespaced") == write.kind.namespaced


@dataclass(frozen=True, slots=True)
class Match:
    """All that has to be true of a write."""

    rules: tuple[Rule, ...]
    excluded: tuple[Rule, ...]
    equivalent: bool  # a rule for another version of the kind means it too
    namespaces: Selector
    objects: Selector

    @classmethod
    def read(cls, given: Json, rules: str = "rules") -> Match:
        """Read it from a webhook, or from what a policy matches; `rules` is the name of its field."""
        return cls(
            tuple(map(Rule.read, given.get(rules) or ())),
            tuple(map(Rule.read, given.get("excludeResourceRules") or ())),
            given.get("matchPolicy") != "Exact",
            selector_of(given.get("namespaceSelector") or {}),
            selector_of(given.get("objectSelector") or {}),
        )

    def version(self, write: Write, versions: Iterable[str]) -> str:
        """The version in which a write is meant, the one of the request if it is; "" where it is not meant.

        `versions` are all in which its kind is served.
        """
        if not self._in_namespace(write) or not self._selected(write):
            return ""
        known = [write.kind.version, *(each for each in versions if each != write.kind.version)]
        if not self.equivalent:
            known = known[:1]
        if any(rule.matches(write, version) for rule in self.excluded for version in known):
            return ""
        for version in known:
            if any(rule.matches(write, version) for rule in self.rules):
                return version
        return ""

    def _in_namespace(self, write: Write) -> bool:
        if self.namespaces.is_everything or (not write.kind.namespaced and write.kind.bucket != "namespaces"):
            return True
        return self.namespaces.matches(_labels(write.namespace))

    def _selected(self, write: Write) -> bool:
        if self.objects.is_everything:
            return True
        return any(self.objects.matches(_labels(obj)) for obj in (write.new, write.old) if obj is not None)


def _has(given: frozenset[str], value: str) -> bool:
    return "*" in given or value in given


def _labels(obj: Json | None) -> dict[str, str]:
    return cast("Json", (obj or {}).get("metadata") or {}).get("labels") or {}
