"""Nobody grants what they do not hold: roles and bindings are looked at before they are written.

Who may `escalate` roles, or `bind` a role, is let through; so is who may do all.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver import causes, statuses
from trimtab.apiserver.access.attributes import Attributes
from trimtab.apiserver.access.rbac import MASTERS, Rbac
from trimtab.apiserver.access.rules import Rule, compact
from trimtab.apiserver.calls import Call
from trimtab.apiserver.messages import User

Json: TypeAlias = dict[str, Any]

GROUP: Final = "rbac.authorization.k8s.io"
_ROLES: Final = frozenset({"roles", "clusterroles"})


def check_escalation(rbac: Rbac, call: Call, new: Json, old: Json | None) -> None:
    """Refuse a role or binding that gives more than its writer has."""
    user, kind = call.user, call.target.kind
    if kind.group != GROUP or MASTERS in user.groups:
        return
    if kind.plural in _ROLES:
        watched = ("rules", "aggregationRule")
        if old is None or any(new.get(name) != old.get(name) for name in watched):
            _check_role(rbac, call, new, old)
        return
    if old is None or any(new.get(name) != old.get(name) for name in ("subjects", "roleRef")):
        _check_binding(rbac, call, new)


def _check_role(rbac: Rbac, call: Call, role: Json, old: Json | None) -> None:
    asked = Attributes(
        call.user, "escalate", GROUP, "v1", call.target.kind.plural, "", call.target.namespace, call.target.name
    )
    if rbac.decide(asked).allowed:
        return
    rules = [Rule.read(rule) for rule in role.get("rules") or ()]
    if role.get("aggregationRule") and (old is None or role["aggregationRule"] != old.get("aggregationRule")):
        rules += [Rule(("*",), ("*",), ("*",)), Rule(("*",), urls=("*",))]  # it may gather anything, sooner or later
    _check(rbac, call, rules, role["metadata"].get("name", ""))


def _check_binding(rbac: Rbac, call: Call, binding: Json) -> None:
    ref = cast("Json", binding.get("roleRef") or {})
    kind, name, namespace = ref.get("kind", ""), ref.get("name", ""), call.target.namespace
    plural = "roles" if kind == "Role" else "clusterroles"
    asked = Attributes(call.user, "bind", GROUP, "v1", plural, "", namespace, name)
    if rbac.decide(asked).allowed:
        return
    rules = rbac.role(kind, namespace, name)
    target = call.target.kind
    if rules is None:
        raise statuses.not_found(target.plural, target.group, name)
    _check(rbac, call, list(rules), binding["metadata"].get("name", ""))


def _check(rbac: Rbac, call: Call, wanted: list[Rule], name: str) -> None:
    held = rbac.rules(call.user, call.target.namespace)
    missing = [atom for rule in wanted for atom in rule.atoms() if not any(mine.covers(atom) for mine in held)]
    if not missing:
        return
    kind = call.target.kind
    lines = "\n".join(map(str, compact(missing)))
    why = f"{_shown(call.user)} is attempting to grant RBAC permissions not currently held:\n{lines}"
    raise statuses.forbidden(kind.plural, kind.group, name, why)


def _shown(user: User) -> str:
    groups = " ".join(map(causes.quoted, user.groups))
    return f"user {causes.quoted(user.name)} (groups=[{groups}])"
