"""The station that finds out what a request is about: from its method and path to a kind, an object and a verb."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from trimtab.apiserver import statuses
from trimtab.apiserver.catalogue import Catalogue, Kind, Subresource

_OBJECT_VERBS: Final = {"GET": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_COLLECTION_VERBS: Final = {"GET": "list", "POST": "create", "DELETE": "deletecollection"}
_SUBRESOURCE_VERBS: Final = {"GET": "get", "PUT": "update", "PATCH": "patch", "POST": "create", "DELETE": "delete"}
_OF_NAMESPACES: Final = frozenset({"status", "finalize"})


@dataclass(frozen=True, slots=True)
class Target:
    """What a request is about. Without a name it is the collection; without a namespace all of them, or a kind that
    has none."""

    kind: Kind
    verb: str  # as RBAC names it
    namespace: str = ""
    name: str = ""
    subresource: Subresource | None = None

    @property
    def key(self) -> str:
        """Where the object is stored."""
        return self.key_of(self.name)

    def key_of(self, name: str) -> str:
        """Where an object of this name is stored."""
        return f"{self.namespace}/{name}" if self.kind.namespaced else name

    @property
    def prefix(self) -> str:
        """Where the objects of the collection are stored."""
        return f"{self.namespace}/" if self.namespace else ""


def route(catalogue: Catalogue, method: str, path: str, *, watching: bool) -> Target | None:
    """Find what is meant; None where the path is none of a group that is served here. Refused where nothing is there.

    `watching` says that the query asks for a watch.
    """
    parts = unquote(path, errors="replace").split("/")
    group, version, rest = ("", parts[2], parts[3:]) if parts[1] == "api" else (parts[2], parts[3], parts[4:])
    found = catalogue.group(group)
    if found is None:
        return None
    if rest and not rest[-1]:
        rest.pop()
    names = rest
    if version not in found.versions or not names:
        return _nothing_there(custom=found.custom)
    named = names[0] == "watch"  # the address of old: `/api/v1/watch/pods`
    if named:
        watching, names = True, names[1:]
    namespace, names = _namespace(names, group)
    kind = catalogue.find(group, version, names[0]) if names else None
    if len(names) > 3 and names[2] == "proxy":
        names = names[:3]  # what follows is the path behind the proxy
    if kind is None or len(names) > 3 or (kind.custom is not None and _elsewhere(kind, namespace, names[1:])):
        return _nothing_there(custom=found.custom)
    return _target(kind, method, namespace, names[1:], watching=watching and (named or len(names) == 1))


def _nothing_there(*, custom: bool) -> None:
    """Of a group of Kubernetes itself it is told that there is no such resource; of others no more than of any path."""
    if not custom:
        raise statuses.no_such_resource()


def _elsewhere(kind: Kind, namespace: str, names: list[str]) -> bool:
    """Whether its objects have no such address: in a namespace, or in none."""
    return bool(namespace if not kind.namespaced else names and not namespace)


def _namespace(names: list[str], group: str) -> tuple[str, list[str]]:
    """Whether it is in a namespace: `namespaces/a/status` is not, `namespaces/a/pods` is."""
    if len(names) < 3 or names[0] != "namespaces":
        return "", names
    if not group and names[2] in _OF_NAMESPACES:
        return "", names
    return names[1], names[2:]


def _target(kind: Kind, method: str, namespace: str, names: list[str], *, watching: bool) -> Target:
    name = names[0] if names else ""
    if namespace and not kind.namespaced:
        raise statuses.no_such_resource()
    if kind.namespaced and not namespace and name:
        raise statuses.no_such_resource()
    if len(names) > 1:
        subresource = kind.subresources.get(names[1])
        if subresource is None and kind.custom is not None:
            raise statuses.not_found(kind.plural, kind.group, name)
        if subresource is None:
            raise statuses.no_such_resource()
        verb = _SUBRESOURCE_VERBS.get(method, "")
        if verb not in subresource.verbs:
            raise statuses.method_not_allowed()
        return Target(kind, verb, namespace, name, subresource)
    if name and kind.verbs == ("create",):  # what is only asked has no names
        raise statuses.no_such_resource()
    verb = (_OBJECT_VERBS if name else _COLLECTION_VERBS).get(method, "")
    if watching and method == "GET":
        verb = "watch"
    everywhere = kind.namespaced and not namespace
    if verb not in kind.verbs or (everywhere and verb not in ("list", "watch")):
        raise statuses.method_not_allowed()
    return Target(kind, verb, namespace, name)
