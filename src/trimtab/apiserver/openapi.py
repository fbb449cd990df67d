"""What OpenAPI says of the kinds that are served: version 3 by group-version, under addresses that change with what is
said there, and version 2 in one document."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeAlias, cast
from urllib.parse import unquote

import msgspec

from trimtab.apiserver import openapiwire
from trimtab.apiserver.catalogue import Catalogue, Kind
from trimtab.apiserver.facts import Facts, kubernetes
from trimtab.apiserver.facts.reader import references
from trimtab.apiserver.messages import JSON, TEXT, Request, Response
from trimtab.apiserver.openapipaths import page, paths_of
from trimtab.apiserver.prose import described

Json: TypeAlias = dict[str, Any]

_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1"
_OF_ALL_GROUPS: Final = (f"{_META}.DeleteOptions", f"{_META}.WatchEvent")
_KINDS: Final = "x-kubernetes-group-version-kind"
_BEARER: Final = {
    "type": "apiKey",
    "description": "Bearer Token authentication",
    "name": "authorization",
    "in": "header",
}
_PAGES: Final = {  # what is told about the server itself, as which definition
    ".well-known/openid-configuration": "",
    "openid/v1/jwks": "",
    "version": "io.k8s.apimachinery.pkg.version.Info",
    "api": f"{_META}.APIVersions",
    "apis": f"{_META}.APIGroupList",
}
_DEFAULTS: Final = frozenset({"default"})
_VARY: Final = ("Vary", "Accept")


class Documents:
    """The documents, each made when it is first asked for after the kinds changed."""

    def __init__(self, catalogue: Catalogue, facts: Facts) -> None:
        self._catalogue = catalogue
        self._facts = facts
        self._changes = -1
        self._made: dict[str, bytes] = {}

    def index(self, request: Request) -> Response:
        """`/openapi/v3`."""
        paths = {path: {"serverRelativeURL": self._address(path)} for path in self._all()}
        body = msgspec.json.encode({"paths": paths})
        return _tagged(request, Response(200, body, TEXT), _digest(body))

    def document(self, request: Request, digest: str) -> Response:
        """`/openapi/v3/apis/apps/v1`, for ever where the address has its digest."""
        path = unquote(request.path).removeprefix("/openapi/v3/")
        if path not in self._all():
            return Response(404, content_type="")
        if not _accepts_json(request):
            return Response(406, content_type="", headers=(_VARY,))
        body = self._document(path)
        found = _digest(body)
        headers: list[tuple[str, str]] = [_VARY]
        if digest and digest != found:
            return Response(301, headers=(_VARY, ("Location", self._address(path))))
        if digest:
            headers.append(("Cache-Control", "public, immutable"))
        return _tagged(request, Response(200, body, headers=headers), found)

    def version_2(self, request: Request) -> Response:
        """`/openapi/v2`."""
        if any(asked in request.header("accept") for asked in openapiwire.ASKED_FOR):
            return self._in_version_2(request, openapiwire.MEDIA_TYPE, openapiwire.encode_openapi)
        if not _accepts_json(request):
            return Response(406, content_type="", headers=(_VARY,))
        return self._in_version_2(request, JSON, msgspec.json.encode)

    def _in_version_2(self, request: Request, media: str, encode: Callable[[Json], bytes]) -> Response:
        self._refresh()
        found = self._made.get(media)
        if found is None:
            found = self._made[media] = encode(self._version_2())
        return _tagged(request, Response(200, found, media, (_VARY,)), _digest(found))

    def _document(self, path: str) -> bytes:
        self._refresh()
        found = self._made.get(path)
        if found is None:
            found = self._made[path] = msgspec.json.encode(self._version_3(path))
        return found

    def _refresh(self) -> None:
        if self._changes != self._catalogue.changes:
            self._changes = self._catalogue.changes
            self._made.clear()

    def _address(self, path: str) -> str:
        return f"/openapi/v3/{path}?hash={_digest(self._document(path))}"

    def _group_versions(self) -> list[str]:
        found = ["api/v1"]
        for group in self._catalogue.groups():
            if group.name:
                found += [f"apis/{group.name}/{version}" for version in group.versions]
        return sorted(found)

    def _all(self) -> list[str]:
        """The documents of OpenAPI 3: beside the group-versions, a group for itself, if not of definitions alone."""
        groups = [group for group in self._catalogue.groups() if group.name]
        own = [
            each.name for each in groups if any(k.builtin for kinds in each.versions.values() for k in kinds.values())
        ]
        return sorted([*self._group_versions(), *_PAGES, *(f"apis/{name}" for name in own)])

    def _kinds(self, path: str) -> Iterable[Kind]:
        parts = path.split("/")
        group, version = ("", parts[1]) if parts[0] == "api" else (parts[1], parts[2])
        found = self._catalogue.group(group)
        return found.versions[version].values() if found is not None else ()

    def _version_3(self, path: str) -> Json:
        if path in _PAGES or (path.count("/") == 1 and path.startswith("apis/")):
            return self._page(path)
        schemas: Json = dict(self._facts.document(path)) if path in self._facts.documents() else {}
        paths: Json = {}
        kinds = list(self._kinds(path))
        for kind in kinds:
            if kind.definition is not None:
                schemas |= kind.definition.openapi_v3(kind.version)
        for name in _missing(schemas):
            schemas[name] = self._facts.definition(name)
        names = _names(schemas)
        for kind in kinds:
            paths |= paths_of(kind, names)
        if path in self._facts.documents():
            for name in _OF_ALL_GROUPS:
                if name in schemas:
                    schemas[name] = _of_group(schemas[name], path)
            return self._whole(paths, schemas)
        return {**self._whole(paths, schemas), "info": {"title": "Kubernetes CRD Swagger", "version": "v0.1.0"}}

    def _page(self, path: str) -> Json:
        """What is told about the server, or about a group."""
        name = _PAGES.get(path, f"{_META}.APIGroup")
        schemas: Json = {name: self._facts.definition(name)} if name else {}
        for other in _missing(schemas):
            schemas[other] = self._facts.definition(other)
        return self._whole(page(path, name), dict(sorted(schemas.items())))

    def _whole(self, paths: Json, schemas: Json) -> Json:
        return {
            "openapi": "3.0.0",
            "info": self._info(),
            "paths": paths,
            "components": {
                **({"schemas": described(schemas)} if schemas else {}),
                "securitySchemes": {"BearerToken": _BEARER},
            },
        }

    def _info(self) -> Json:
        version = self._facts.version
        return {"title": "Kubernetes", "version": f"{version['major']}.{version['minor']}"}

    def _version_2(self) -> Json:
        definitions: Json = {}
        paths: Json = {}
        for path in self._group_versions():
            document = self._version_3(path)
            definitions |= _as_definitions(document["components"]["schemas"])
            for kind in self._kinds(path):
                if kind.definition is not None:
                    definitions |= kind.definition.openapi_v2(kind.version)
            paths |= {where: _as_path(item) for where, item in document["paths"].items()}
        for path in self._all():
            if path not in self._group_versions():
                definitions |= _as_definitions(self._version_3(path)["components"].get("schemas", {}))
        definitions |= _as_definitions({name: self._facts.definition(name) for name in _OF_ALL_GROUPS})
        return {
            "swagger": "2.0",
            "info": self._info(),
            "paths": paths,
            "definitions": dict(sorted(definitions.items())),
            "securityDefinitions": {"BearerToken": _BEARER},
            "security": [{"BearerToken": []}],
        }


def _of_group(schema: Json, path: str) -> Json:
    """A definition that stands for kinds of all groups, with those of one group-version, and the core's."""
    *_, group, version = path.split("/")
    wanted = {("", "v1"), ("" if path.startswith("api/") else group, version)}
    return {**schema, _KINDS: [kind for kind in schema[_KINDS] if (kind["group"], kind["version"]) in wanted]}


def _digest(body: bytes) -> str:
    return hashlib.sha512(body).hexdigest().upper()


def _tagged(request: Request, answer: Response, digest: str) -> Response:
    """The answer with its tag, or that it is what the client has already."""
    headers = [*answer.headers, ("Etag", f'"{digest}"')]
    if f'"{digest}"' in request.header("if-none-match"):
        return Response(304, content_type="", headers=headers)
    return Response(200, answer.body, answer.content_type, headers)


def _accepts_json(request: Request) -> bool:
    accept = request.header("accept")
    named = (part.partition(";")[0].strip() for part in accept.split(","))
    return not accept or any(name in (JSON, "*", "*/*", "application/*") for name in named)


def _missing(schemas: Json) -> list[str]:
    """The definitions that are referred to and not there yet, with those that they refer to."""
    found: list[str] = []
    waiting = [name for schema in schemas.values() for name in references(schema)]
    facts = kubernetes()
    while waiting:
        name = waiting.pop()
        if name not in schemas and name not in found:
            found.append(name)
            waiting += references(facts.definition(name))
    return found


def _names(schemas: Json) -> dict[tuple[str, str, str], str]:
    """The definition of each group, version and kind."""
    found: dict[tuple[str, str, str], str] = {}
    for name, schema in schemas.items():
        for kind in schema.get(_KINDS, ()):
            found[kind["group"], kind["version"], kind["kind"]] = name
    return found


def _as_path(item: Json) -> Json:
    """The operations of a path as OpenAPI 2 writes them."""
    made = {method: _as_operation(operation) for method, operation in item.items() if method != "parameters"}
    common = [_as_parameter(each) for each in item.get("parameters", ())]
    return {**made, **({"parameters": common} if common else {})}


def _as_operation(operation: Json) -> Json:
    made = {name: value for name, value in operation.items() if name not in ("parameters", "requestBody", "responses")}
    given = [_as_parameter(each) for each in operation.get("parameters", ())]
    body = operation.get("requestBody")
    if body is not None:
        content = body["content"]
        schema = _as_version_2(next(iter(content.values()))["schema"], frozenset())
        required = {"required": True} if body.get("required") else {}
        given.insert(0, {"name": "body", "in": "body", **required, "schema": schema})
        made["consumes"] = list(content)
    if given:
        made["parameters"] = given
    answers: Json = {}
    for code, answer in operation["responses"].items():
        answers[code] = {"description": answer["description"]}
        for media in answer.get("content", {}).values():
            answers[code]["schema"] = _as_version_2(media["schema"], frozenset())
    produced = operation["responses"]["200"].get("content", {})
    return {**made, "produces": list(produced), "schemes": ["https"], "responses": answers}


def _as_parameter(parameter: Json) -> Json:
    return {**{name: value for name, value in parameter.items() if name != "schema"}, **parameter["schema"]}


def _as_definitions(schemas: Json) -> Json:
    """Definitions as OpenAPI 2 writes them: those of Kubernetes have no defaults there, and one type if any."""
    made: Json = {}
    for name, schema in schemas.items():
        own = name.startswith("io.k8s.")
        made[name] = _as_version_2(schema, _DEFAULTS if own else frozenset())
        if own and "oneOf" in schema:
            made[name].setdefault("type", "string")
    return made


def _as_version_2(schema: Any, without: frozenset[str]) -> Any:
    """The same schema as OpenAPI 2 writes it: other references, and no lists of one."""
    if isinstance(schema, list):
        return [_as_version_2(each, without) for each in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    made: Json = {}
    for key, value in cast("Json", schema).items():
        if key == "properties":  # whose keys are names, though they may look like words of a schema
            made[key] = {name: _as_version_2(each, without) for name, each in cast("Json", value).items()}
        elif key == "$ref":
            made[key] = value.replace("#/components/schemas/", "#/definitions/")
        elif key == "allOf" and len(value) == 1:
            made |= _as_version_2(value[0], without)
        elif key not in ("nullable", "oneOf", "anyOf", "not") and key not in without:
            made[key] = _as_version_2(value, without)
    return made
