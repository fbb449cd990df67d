"""Who makes a policy look at objects has to be allowed to read them: else it would tell them what they may not see."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver import causes, statuses
from trimtab.apiserver.access.attributes import Attributes
from trimtab.apiserver.access.rbac import MASTERS, Rbac
from trimtab.apiserver.calls import Call
from trimtab.apiserver.catalogue import Catalogue
from trimtab.apiserver.messages import User
from trimtab.apiserver.objects import decode
from trimtab.apiserver.storage import Store

Json: TypeAlias = dict[str, Any]

_GROUP: Final = "admissionregistration.k8s.io"
_POLICIES: Final = frozenset({"validatingadmissionpolicies", "mutatingadmissionpolicies"})
_BINDINGS: Final = {
    "validatingadmissionpolicybindings": "validatingadmissionpolicies",
    "mutatingadmissionpolicybindings": "mutatingadmissionpolicies",
}


class ParamAccess:
    """Looks at policies and bindings as they are written."""

    def __init__(self, store: Store, catalogue: Catalogue, rbac: Rbac) -> None:
        self._store = store
        self._catalogue = catalogue
        self._rbac = rbac

    def check(self, call: Call, new: Json, old: Json | None) -> None:
        """Refuse one whose writer may not read its parameters."""
        kind, user = call.target.kind, call.user
        if kind.group != _GROUP or MASTERS in user.groups or call.target.subresource is not None:
            return
        spec, before = cast("Json", new.get("spec") or {}), cast("Json", (old or {}).get("spec") or {})
        if kind.plural in _POLICIES:
            field, why = "spec.paramKind", self._policy(user, spec, before)
        elif kind.plural in _BINDINGS:
            field, why = "spec.paramRef", self._binding(user, spec, before, _BINDINGS[kind.plural])
        else:
            return
        if why:
            name = new["metadata"].get("name", "")
            raise statuses.invalid(kind.kind, kind.group, name, [causes.forbidden(field, why)])

    def _policy(self, user: User, spec: Json, before: Json) -> str:
        param = cast("Json | None", spec.get("paramKind"))
        if param is None or param == before.get("paramKind"):
            return ""
        group, version, resource, _ = self._resource(param)
        if self._rbac.decide(Attributes(user, "get", group, version, resource, "", "*", "*")).allowed:
            return ""
        shown = f"(kind={param.get('kind', '')}, apiVersion={param.get('apiVersion', '')})"
        return f'user {_go(user)} must have "get" permission on all objects of the referenced paramKind {shown}'

    def _binding(self, user: User, spec: Json, before: Json, policies: str) -> str:
        ref = cast("Json | None", spec.get("paramRef"))
        if ref is None or (ref == before.get("paramRef") and spec.get("policyName") == before.get("policyName")):
            return ""
        name = spec.get("policyName", "")
        record = self._store.get(f"{policies}.{_GROUP}", name)
        param: Json | None = None
        if record is not None:
            param = cast("Json", decode(record.data).get("spec") or {}).get("paramKind")
        group, version, resource, known = self._resource(param) if param is not None else ("*", "*", "*", True)
        verb = "get" if ref.get("name") else "list"
        asked = Attributes(user, verb, group, version, resource, "", ref.get("namespace") or "", ref.get("name") or "")
        if self._rbac.decide(asked).allowed:
            return ""
        lacks = f'and user {_go(user)} does not have "{verb}" permission for all groups, versions and resources'
        if record is None:
            return f"unable to get policy {name} to determine minimum required permissions {lacks}"
        if not known:
            shown = (
                f"&ParamKind{{APIVersion:{(param or {}).get('apiVersion', '')},Kind:{(param or {}).get('kind', '')},}}"
            )
            return f"unable to resolve paramKind {shown} to determine minimum required permissions {lacks}"
        who, what = _go(user), verb
        if policies == "mutatingadmissionpolicies":
            who, what = what, who  # Kubernetes takes one for the other there
        return f'user {who} does not have "{what}" permission on the object referenced by paramRef'

    def _resource(self, param: Json) -> tuple[str, str, str, bool]:
        """Group, version and resource of a kind, and whether there is such a kind; else all resources are meant."""
        group, _, version = cast("str", param.get("apiVersion") or "").rpartition("/")
        kinds = (kind for kind in self._catalogue.kinds() if (kind.group, kind.version) == (group, version))
        found = next((kind.plural for kind in kinds if kind.kind == param.get("kind")), None)
        return group, version, found or "*", found is not None


def _go(user: User) -> str:
    """A user as Go writes one."""
    groups = " ".join(user.groups)
    return f"&{{{user.name} {user.uid} [{groups}] {_go_map(user.extra)}}}"


def _go_map(extra: Mapping[str, Any]) -> str:
    inside = " ".join(f"{key}:[{' '.join(values)}]" for key, values in sorted(extra.items()))
    return f"map[{inside}]"
