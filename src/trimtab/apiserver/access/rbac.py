"""RBAC: who may do what, by the roles and bindings that are stored.

Each object is compiled when it has changed, and what holds for a user is kept until any of them changes: a decision
costs a few microseconds, and nothing for those who may do all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver.access.attributes import Attributes
from trimtab.apiserver.access.rules import Rule
from trimtab.apiserver.messages import User
from trimtab.apiserver.objects import decode
from trimtab.apiserver.storage import Record, Store
from trimtab.kube.invalid import InvalidValueError
from trimtab.kube.selectors import Requirement, Selector

Json: TypeAlias = dict[str, Any]

MASTERS: Final = "system:masters"
"""The group whose members may do everything, whatever the roles say."""

_GROUP: Final = "rbac.authorization.k8s.io"
_ROLES: Final = f"roles.{_GROUP}"
_BINDINGS: Final = f"rolebindings.{_GROUP}"
_CLUSTER_ROLES: Final = f"clusterroles.{_GROUP}"
_CLUSTER_BINDINGS: Final = f"clusterrolebindings.{_GROUP}"
_MOST_KEPT: Final = 1000  # users in namespaces, of whom it is kept what holds for them
_OPERATORS: Final = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether somebody may, and why; `error` is what could not be found out on the way."""

    allowed: bool
    reason: str = ""
    error: str = ""


ALLOWED: Final = Decision(allowed=True)


@dataclass(frozen=True, slots=True)
class _Role:
    rules: tuple[Rule, ...]
    labels: dict[str, str]
    selectors: tuple[Selector, ...]  # of the roles whose rules it gathers


@dataclass(frozen=True, slots=True)
class _Binding:
    name: str
    namespace: str
    role_kind: str
    role: str
    subjects: tuple[tuple[str, str, str], ...]  # kind, name, and the one with its namespace as a user is named


@dataclass(frozen=True, slots=True)
class Grant:
    """What a binding gives to a user."""

    rules: tuple[Rule, ...]
    reason: str
    error: str = ""


class _Compiled:
    """The objects of a bucket, each compiled once for each of its versions."""

    def __init__(self, store: Store, bucket: str, compile_: Callable[[str, Json], Any]) -> None:
        self._store = store
        self._name = bucket
        self._bucket = store.bucket(bucket)
        self._compile = compile_
        self._known: dict[str, tuple[int, Any]] = {}
        self._changed = -1

    def renew(self) -> bool:
        """Compile what has changed; tell whether anything had."""
        if self._bucket.changed == self._changed:
            return False
        self._changed = self._bucket.changed
        known = self._known
        self._known = {record.key: self._entry(record, known) for record in self._store.scan(self._name)}
        return True

    def named(self) -> Iterator[tuple[str, Any]]:
        """All of them by key."""
        for key, (_, value) in self._known.items():
            yield key, value

    def get(self, key: str) -> Any:
        """The one of this key, or None."""
        found = self._known.get(key)
        return None if found is None else found[1]

    def _entry(self, record: Record, known: dict[str, tuple[int, Any]]) -> tuple[int, Any]:
        there = known.get(record.key)
        if there is not None and there[0] == record.revision:
            return there
        return record.revision, self._compile(record.key, decode(record.data))


class Rbac:
    """Decides."""

    def __init__(self, store: Store) -> None:
        self._roles = _Compiled(store, _ROLES, _role)
        self._cluster_roles = _Compiled(store, _CLUSTER_ROLES, _role)
        self._bindings = _Compiled(store, _BINDINGS, _binding)
        self._cluster_bindings = _Compiled(store, _CLUSTER_BINDINGS, _binding)
        self._all = (self._roles, self._cluster_roles, self._bindings, self._cluster_bindings)
        self._grants: dict[tuple[str, tuple[str, ...], str], list[Grant]] = {}

    def decide(self, asked: Attributes) -> Decision:
        """Whether somebody may do that."""
        if MASTERS in asked.user.groups:
            return ALLOWED
        errors: list[str] = []
        for grant in self.grants(asked.user, asked.namespace):
            if grant.error:
                errors.append(grant.error)
            elif any(rule.allows(asked) for rule in grant.rules):
                return Decision(allowed=True, reason=f"RBAC: allowed by {grant.reason}")
        if not errors:
            return Decision(allowed=False)
        error = errors[0] if len(errors) == 1 else f"[{', '.join(dict.fromkeys(errors))}]"
        return Decision(allowed=False, reason=f"RBAC: {error}", error=error)

    def grants(self, user: User, namespace: str) -> list[Grant]:
        """What every binding gives to a user in a namespace, or in the whole cluster where that is ""."""
        for each in self._all:
            if each.renew():
                self._grants.clear()
        key = (user.name, user.groups, namespace)
        found = self._grants.get(key)
        if found is None:
            if len(self._grants) >= _MOST_KEPT:
                self._grants.clear()
            found = self._grants[key] = list(self._find(user, namespace))
        return found

    def rules(self, user: User, namespace: str) -> list[Rule]:
        """All rules that hold for a user there."""
        return [rule for grant in self.grants(user, namespace) for rule in grant.rules]

    def role(self, kind: str, namespace: str, name: str) -> tuple[Rule, ...] | None:
        """The rules of a role; None where there is no such role."""
        for each in self._all:
            each.renew()
        return self._rules(kind, namespace, name)

    def gathered(self, role: Json) -> tuple[Rule, ...]:
        """The rules that a cluster role gathers from others, by its aggregation rule."""
        for each in self._all:
            each.renew()
        return self._gather(_role("", role))

    def _find(self, user: User, namespace: str) -> Iterator[Grant]:
        for _, binding in self._cluster_bindings.named():
            yield from self._grant(binding, user, "")
        if namespace:
            prefix = f"{namespace}/"
            for key, binding in self._bindings.named():
                if key.startswith(prefix):
                    yield from self._grant(binding, user, namespace)

    def _grant(self, binding: _Binding, user: User, namespace: str) -> Iterator[Grant]:
        for kind, name, account in binding.subjects:
            if not _is_meant(user, kind, name, account):
                continue
            rules = self._rules(binding.role_kind, namespace, binding.role)
            if rules is None:
                missing = f'{binding.role_kind.lower()}.{_GROUP} "{binding.role}" not found'
                yield Grant((), "", missing)
                return
            which = "RoleBinding" if namespace else "ClusterRoleBinding"
            where = f"{binding.name}/{namespace}" if namespace else binding.name
            shown = f"{name}/{account.split(':')[2]}" if kind == "ServiceAccount" else name
            yield Grant(rules, f'{which} "{where}" of {binding.role_kind} "{binding.role}" to {kind} "{shown}"')
            return

    def _rules(self, kind: str, namespace: str, name: str) -> tuple[Rule, ...] | None:
        if kind == "ClusterRole":
            found = cast("_Role | None", self._cluster_roles.get(name))
            return None if found is None else found.rules + self._gather(found)
        found = cast("_Role | None", self._roles.get(f"{namespace}/{name}"))
        return None if found is None else found.rules

    def _gather(self, role: _Role) -> tuple[Rule, ...]:
        """A gathered role may gather itself, as `edit` does for `admin`: each is looked at once."""
        found: dict[Rule, None] = {}
        seen: set[str] = set()
        waiting = [role]
        while waiting:
            selectors = waiting.pop().selectors
            for name, other in self._cluster_roles.named() if selectors else ():
                if name not in seen and any(selector.matches(other.labels) for selector in selectors):
                    seen.add(name)
                    found.update(dict.fromkeys(other.rules))
                    waiting.append(other)
        return tuple(found)


def account_name(namespace: str, name: str) -> str:
    """The user that a service account is."""
    return f"system:serviceaccount:{namespace}:{name}"


def _is_meant(user: User, kind: str, name: str, account: str) -> bool:
    if kind == "Group":
        return name in user.groups
    return user.name == (account if kind == "ServiceAccount" else name)


def _role(_key: str, obj: Json) -> _Role:
    aggregation = cast("Json", obj.get("aggregationRule") or {})
    selectors = tuple(map(selector_of, aggregation.get("clusterRoleSelectors") or ()))
    rules = tuple(Rule.read(rule) for rule in obj.get("rules") or ())
    return _Role(rules, obj["metadata"].get("labels") or {}, selectors)


def _binding(key: str, obj: Json) -> _Binding:
    namespace, _, name = key.rpartition("/")
    subjects: list[tuple[str, str, str]] = []
    for each in obj.get("subjects") or ():
        home = each.get("namespace") or namespace
        subjects.append((each.get("kind", ""), each.get("name", ""), account_name(home, each.get("name", ""))))
    role = cast("Json", obj.get("roleRef") or {})
    return _Binding(name, namespace, role.get("kind", ""), role.get("name", ""), tuple(subjects))


def selector_of(given: Json | None) -> Selector:
    """A selector as it stands in an object: an empty one selects everything, one that is not there or wrong nothing."""
    if given is None:
        return Selector.nothing()
    try:
        labels = cast("dict[str, str]", given.get("matchLabels") or {})
        found = [Requirement(key, "=", (value,)) for key, value in labels.items()]
        for each in given.get("matchExpressions") or ():
            values = tuple(each.get("values") or ())
            found.append(Requirement(each["key"], cast("Any", _OPERATORS[each["operator"]]), values))
    except (InvalidValueError, KeyError, AttributeError, TypeError):
        return Selector.nothing()
    return Selector(tuple(found))
