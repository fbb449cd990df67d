"""What a request is about, told from its method and path alone: who may not know, is not told what there is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from trimtab.apiserver import names, options
from trimtab.apiserver.messages import Request, User
from trimtab.apiserver.options import Query
from trimtab.apiserver.statuses import Refused, qualified
from trimtab.kube.fieldselectors import FieldSelector
from trimtab.kube.invalid import InvalidValueError

_VERBS: Final = {
    "POST": "create", "GET": "get", "HEAD": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete",
}  # fmt: skip
_OF_NAMESPACES: Final = frozenset({"status", "finalize"})


@dataclass(frozen=True, slots=True)
class Attributes:
    """Who wants to do what: to a resource, or at a path."""

    user: User
    verb: str
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""  # of what is no resource

    @property
    def what(self) -> str:
        """`pods`, or `pods/status`."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


def attributes_of(user: User, request: Request, query: Query) -> Attributes:
    """Read them from a request."""
    path = unquote(request.path, errors="replace")
    parts = [part for part in path.split("/") if part]
    shortest = {"api": 3, "apis": 4}.get(parts[0] if parts else "")
    if shortest is None or len(parts) < shortest:
        return Attributes(user, request.method.lower(), path=request.path)
    group, version, rest = ("", parts[1], parts[2:]) if parts[0] == "api" else (parts[1], parts[2], parts[3:])
    verb = _VERBS.get(request.method, "")
    if rest[0] in ("watch", "proxy") and len(rest) > 1:
        verb, rest = rest[0], rest[1:]
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 1:
        namespace = rest[1]
        if len(rest) > 2 and rest[2] not in _OF_NAMESPACES:
            rest = rest[2:]
    resource, name, subresource = (*rest[:3], "", "")[:3]
    if not name and verb in ("get", "delete", "watch"):
        name = _selected(query)
        if verb == "get":
            verb = "watch" if options.flag(query, "watch") else "list"
        elif verb == "delete":
            verb = "deletecollection"
    return Attributes(user, verb, group, version, resource, subresource, namespace, name)


def refusal(asked: Attributes, reason: str = "") -> Refused:
    """The refusal of what somebody may not do."""
    who = f'User "{asked.user.name}" cannot {asked.verb}'
    why = f": {reason}" if reason else ""
    if asked.path:
        return Refused("Forbidden", f'forbidden: {who} path "{asked.path}"{why}', empty_details=True)
    where = f'in the namespace "{asked.namespace}"' if asked.namespace else "at the cluster scope"
    named = f' "{asked.name}"' if asked.name else ""
    message = (
        f"{qualified(asked.resource, asked.group)}{named} is forbidden: "
        f'{who} resource "{asked.what}" in API group "{asked.group}" {where}{why}'
    )
    return Refused("Forbidden", message, name=asked.name, group=asked.group, kind=asked.resource)


def _selected(query: Query) -> str:
    """The one name that a field selector lets through: a right to that object alone is enough for it."""
    text = options.first(query, "fieldSelector")
    if not text:
        return ""
    try:
        name = dict(FieldSelector.parse(text).equalities).get("metadata.name", "")
    except InvalidValueError:
        return ""  # it is refused where it is used
    return "" if names.path_segment(name) else name
