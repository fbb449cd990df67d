"""What OpenAPI 3 says of the addresses of a kind: which there are, and what may be done there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

from trimtab.apiserver.catalogue import Kind, Subresource
from trimtab.apiserver.messages import JSON, PROTOBUF, YAML

Json: TypeAlias = dict[str, Any]
Names: TypeAlias = Mapping[tuple[str, str, str], str]
"""The definition of each group, version and kind."""

_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1"
_KIND: Final = "x-kubernetes-group-version-kind"
_METHODS: Final = {
    "get": "get", "list": "get", "create": "post", "update": "put", "patch": "patch", "delete": "delete",
    "deletecollection": "delete", "watch": "get", "watchlist": "get",
}  # fmt: skip
_ACTIONS: Final = {"create": "post", "update": "put"}
_WORDS: Final = {"get": "read", "update": "replace", "deletecollection": "delete", "watchlist": "watch"}
_CODES: Final = {"create": ("201", "202"), "update": ("201",), "patch": ("201",), "delete": ("202",)}
_SAID: Final = {"200": "OK", "201": "Created", "202": "Accepted"}
_PATCHES: Final = (
    "application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json",
    "application/strategic-merge-patch+json",
)  # fmt: skip
_SELECTING: Final = {"continue": "string", "fieldSelector": "string", "labelSelector": "string", "limit": "integer"}
_VERSIONS: Final = {"resourceVersion": "string", "resourceVersionMatch": "string", "sendInitialEvents": "boolean"}
_LAST: Final = {"shardSelector": "string", "timeoutSeconds": "integer"}
_LISTING: Final = {
    "allowWatchBookmarks": "boolean", **_SELECTING, **_VERSIONS, **_LAST, "watch": "boolean",
}  # fmt: skip
_WRITING: Final = {"dryRun": "string", "fieldManager": "string", "fieldValidation": "string"}
_DELETING: Final = {
    "dryRun": "string", "gracePeriodSeconds": "integer", "ignoreStoreReadErrorWithClusterBreakingPotential": "boolean",
    "orphanDependents": "boolean", "propagationPolicy": "string",
}  # fmt: skip
_PARAMETERS: Final[Mapping[str, Mapping[str, str]]] = {
    "list": _LISTING, "watch": _LISTING, "watchlist": _LISTING, "create": _WRITING, "update": _WRITING,
    "patch": {**_WRITING, "force": "boolean"}, "delete": _DELETING,
    "deletecollection": {**_SELECTING, **_DELETING, **_VERSIONS, **_LAST},
}  # fmt: skip
_OF_SUBRESOURCES: Final = ("get", "create", "update", "patch", "delete")
_CONNECTED: Final = frozenset({"attach", "exec", "portforward", "proxy"})
_PAGES: Final[Mapping[str, tuple[str, str, Sequence[str]]]] = {
    "api": ("core", "getCoreAPIVersions", (JSON, PROTOBUF, YAML)),
    "apis": ("apis", "getAPIVersions", (JSON, PROTOBUF, YAML)),
    "version": ("version", "getCodeVersion", (JSON,)),
    "openid/v1/jwks": ("openid", "getServiceAccountIssuerOpenIDKeyset", ("application/jwk-set+json",)),
    ".well-known/openid-configuration": ("WellKnown", "getServiceAccountIssuerOpenIDConfiguration", (JSON,)),
}


def paths_of(kind: Kind, names: Names) -> Json:
    """The paths of a kind."""
    return _Paths(kind, names).all()


class _Paths:
    def __init__(self, kind: Kind, names: Names) -> None:
        self._kind = kind
        self._names = names
        titled = _titled(kind.group or "core")
        self._of = titled + kind.version[:1].upper() + kind.version[1:]
        self._tag = f"{_lowered(titled)}_{kind.version}"
        self._media = (JSON, PROTOBUF, YAML) if kind.custom is None else (JSON, YAML)
        self._scope = "Namespaced" if kind.namespaced else ""

    def all(self) -> Json:
        kind = self._kind
        root = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
        scope = "/namespaces/{namespace}" if kind.namespaced else ""
        own, plural = f"{self._scope}{kind.kind}", kind.plural
        made: Json = {f"{root}/": self._group_version()}
        self._add(made, f"{root}{scope}/{plural}", own, ("list", "create", "deletecollection"))
        self._add(made, f"{root}{scope}/{plural}/{{name}}", own, ("get", "update", "patch", "delete"))
        if kind.namespaced:
            everywhere = f"{kind.kind}ListForAllNamespaces"
            self._add(made, f"{root}/{plural}", everywhere.replace("List", "", 1), ("list",))
            self._add(made, f"{root}/watch/{plural}", everywhere, ("watchlist",))
        self._add(made, f"{root}/watch{scope}/{plural}", f"{own}List", ("watchlist",))
        self._add(made, f"{root}/watch{scope}/{plural}/{{name}}", own, ("watch",))
        for name, sub in kind.subresources.items():
            title = f"{own}{name[:1].upper()}{name[1:]}"
            at = f"{root}{scope}/{plural}/{{name}}/{name}"
            make = self._connected if name in _CONNECTED else self._operation
            operations = {_METHODS[verb]: make(verb, title, sub) for verb in _OF_SUBRESOURCES if verb in sub.verbs}
            if operations:
                made[at] = _hoisted(at, operations)
        return made

    def _add(self, made: Json, path: str, title: str, verbs: Sequence[str]) -> None:
        there = [verb for verb in verbs if verb.removesuffix("list") in self._kind.verbs or verb in self._kind.verbs]
        operations = {_METHODS[verb]: self._operation(verb, title) for verb in there}
        if operations:
            made[path] = _hoisted(path, operations)

    def _operation(self, verb: str, title: str, sub: Subresource | None = None) -> Json:
        kind = self._kind
        gvk = (kind.group, kind.version, kind.kind) if sub is None else (sub.group, sub.version, sub.kind)
        body = _schema(self._names.get(gvk, ""))
        collection = "Collection" if verb == "deletecollection" else ""
        made: Json = {
            "tags": [self._tag],
            "operationId": f"{_WORDS.get(verb, verb)}{self._of}{collection}{title}",
            "parameters": [_parameter(*each) for each in sorted(_PARAMETERS.get(verb, {}).items())],
        }
        if verb in ("create", "update"):
            made["requestBody"] = {"content": {"*/*": {"schema": body}}, "required": True}
        elif verb == "patch":
            media = _PATCHES if kind.custom is None else _PATCHES[:3]
            content = {each: {"schema": _schema(f"{_META}.Patch")} for each in media}
            made["requestBody"] = {"content": content, "required": True}
        elif verb in ("delete", "deletecollection"):
            made["requestBody"] = {"content": {"*/*": {"schema": _schema(f"{_META}.DeleteOptions")}}}
        said = {code: self._answer(code, self._answered(verb, body), verb) for code in ("200", *_CODES.get(verb, ()))}
        made["responses"] = {**said, "401": {"description": "Unauthorized"}}
        made["x-kubernetes-action"] = _ACTIONS.get(verb, verb)
        made[_KIND] = dict(zip(("group", "version", "kind"), gvk, strict=True))
        return made

    def _connected(self, verb: str, title: str, sub: Subresource) -> Json:
        """What becomes a connection of its own."""
        method = _METHODS[verb]
        text = {"*/*": {"schema": _schema("")}}
        return {
            "tags": [self._tag],
            "operationId": f"connect{self._of}{method[:1].upper()}{method[1:]}{title}",
            "parameters": [],
            "responses": {"200": {"description": "OK", "content": text}, "401": {"description": "Unauthorized"}},
            "x-kubernetes-action": "connect",
            _KIND: {"group": sub.group, "version": sub.version, "kind": sub.kind},
        }

    def _answered(self, verb: str, body: Json) -> Json:
        kind = self._kind
        match verb:
            case "list":
                return _schema(self._names.get((kind.group, kind.version, kind.list_kind), ""))
            case "watch" | "watchlist":
                return _schema(f"{_META}.WatchEvent")
            case "deletecollection":
                return _schema(f"{_META}.Status")
            case "delete":
                strategy = None if kind.facts is None else kind.facts.strategy
                return body if strategy is not None and strategy.returned else _schema(f"{_META}.Status")
            case _:
                return body

    def _answer(self, code: str, schema: Json, verb: str) -> Json:
        media = list(self._media)
        if verb in ("list", "watch", "watchlist"):
            media += [f"{each};stream=watch" for each in media if each != YAML]
        return {"description": _SAID[code], "content": {each: {"schema": schema} for each in sorted(media)}}

    def _group_version(self) -> Json:
        schema = _schema(f"{_META}.APIResourceList")
        about = {"tags": [self._tag], "operationId": f"get{self._of}APIResources"}
        said = {"200": self._answer("200", schema, "get"), "401": {"description": "Unauthorized"}}
        return {"get": {**about, "responses": said}}


def page(path: str, definition: str) -> Json:
    """The path of what is told about the server itself, or about a group."""
    tag, said, media = _PAGES.get(path, ("", "", (JSON, PROTOBUF, YAML)))
    if path.startswith("apis/"):
        tag = _lowered(_titled(path.removeprefix("apis/")))
        said = f"get{_titled(path.removeprefix('apis/'))}APIGroup"
    content = {each: {"schema": _schema(definition)} for each in media}
    answers = {"200": {"description": "OK", "content": content}, "401": {"description": "Unauthorized"}}
    return {f"/{path}/": {"get": {"tags": [tag], "operationId": said, "responses": answers}}}


def _titled(group: str) -> str:
    return "".join(word[:1].upper() + word[1:] for word in group.removesuffix(".k8s.io").split("."))


def _lowered(word: str) -> str:
    return word[:1].lower() + word[1:]


def _hoisted(path: str, operations: Json) -> Json:
    """The operations of a path, where what all of them take is said once."""
    given = [operation["parameters"] for operation in operations.values()]
    common = [each for each in given[0] if all(each in other for other in given[1:])]
    for operation in operations.values():
        operation["parameters"] = [each for each in operation["parameters"] if each not in common]
        if not operation["parameters"]:
            del operation["parameters"]
    text = {"type": "string", "uniqueItems": True}
    common += [
        {"name": name, "in": "path", "required": True, "schema": text}
        for name in ("name", "namespace")
        if f"{{{name}}}" in path
    ]
    common.append(_parameter("pretty", "string"))
    return {**operations, "parameters": sorted(common, key=lambda each: each["name"])}


def _parameter(name: str, kind: str) -> Json:
    return {"name": name, "in": "query", "schema": {"type": kind, "uniqueItems": True}}


def _schema(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"} if name else {"type": "string"}
