"""The station of all that is no object: health, versions, discovery, OpenAPI, the keys of tokens."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import msgspec

from trimtab.apiserver import discovery, forms, options, statuses
from trimtab.apiserver.access.tokens import ISSUER, Tokens
from trimtab.apiserver.catalogue import Catalogue
from trimtab.apiserver.facts import Facts
from trimtab.apiserver.messages import JSON, TEXT, Request, Response
from trimtab.apiserver.negotiation import Form, discovery_form, plain_form, routed_form
from trimtab.apiserver.openapi import Documents
from trimtab.apiserver.options import Query

Json: TypeAlias = dict[str, Any]

_HEALTH: Final = frozenset({"/healthz", "/livez", "/readyz"})
_CHECKS: Final = ("ping", "log", "storage")
_AGGREGATED: Final = ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_MACHINES: Final = {"x86_64": "amd64", "aarch64": "arm64"}
_CONFIGURATION: Final = "/.well-known/openid-configuration"
_KEYS: Final = "/openid/v1/jwks"
_FOR_AN_HOUR: Final = (("Cache-Control", "public, max-age=3600"),)
_FOR_ALL: Final = ("Cache-Control", "public")


class Pages:
    """Answers what is asked about the server itself."""

    def __init__(self, catalogue: Catalogue, facts: Facts, tokens: Tokens, address: Callable[[], str]) -> None:
        self._catalogue = catalogue
        self._facts = facts
        self._tokens = tokens
        self._address = address
        self._openapis = Documents(catalogue, facts)
        self._documents: dict[str, tuple[int, bytes, str]] = {}

    def page(self, request: Request, query: Query) -> Response:
        """What stands under this path, or that nothing does."""
        path = request.path.rstrip("/") or "/"
        if path in _HEALTH or path.startswith(tuple(f"{root}/" for root in _HEALTH)):
            return _health(path, query)
        if path == "/version":
            return self._version(request)
        if path in ("/api", "/apis"):
            return self._root(request, path)
        if path.startswith(("/api/", "/apis/")):
            return self._group(request, path)
        if path == "/openapi/v2":
            return self._openapis.version_2(request)
        if path == "/openapi/v3":
            return self._openapis.index(request)
        if path.startswith("/openapi/v3/"):
            return self._openapis.document(request, options.first(query, "hash"))
        if path == _CONFIGURATION:
            return self._configuration(request)
        if path == _KEYS:
            _check_method(request)
            body = msgspec.json.encode({"keys": [self._tokens.public_key()]})
            return Response(200, body, "application/jwk-set+json", _FOR_AN_HOUR)
        if path == "/":
            return Response(200, msgspec.json.format(msgspec.json.encode({"paths": self._paths()}), indent=2))
        return no_page()

    def _version(self, request: Request) -> Response:
        _check_method(request)
        routed_form(request.header("accept"), (JSON,))
        machine = _MACHINES.get(platform.machine().lower(), platform.machine().lower())
        told = {**self._facts.version, "platform": f"{platform.system().lower()}/{machine}"}
        return Response(200, msgspec.json.format(msgspec.json.encode(told), indent=2))

    def _root(self, request: Request, path: str) -> Response:
        core, accept = path == "/api", request.header("accept")
        if core:  # whereas any method does for the other
            _check_method(request)
            routed_form(accept)
        form, at_once = discovery_form(accept)
        if not at_once:
            made = discovery.versions(self._address()) if core else None
            return self._document(form, path, lambda: made or discovery.groups(self._catalogue))
        body, tag = self._made(f"{path} at once", lambda: discovery.aggregated(self._catalogue, core=core))
        headers = (("Vary", "Accept"), ("Etag", tag), _FOR_ALL)
        if request.header("if-none-match") == tag:
            return Response(304, content_type="", headers=headers)
        answer = forms.response(form, body)
        return Response(200, answer.body, answer.content_type + _AGGREGATED, headers)

    def _group(self, request: Request, path: str) -> Response:
        accept, parts = request.header("accept"), path.split("/")
        core = parts[1] == "api"
        group = self._catalogue.group("" if core else parts[2])
        if group is None:
            return no_page()
        if not core and len(parts) == 3:
            return self._document(plain_form(accept), path, lambda: discovery.group(group))
        version = parts[-1]
        if version not in group.versions:
            raise statuses.no_such_resource()
        _check_method(request)
        if any(kind.builtin for kind in group.versions[version].values()):
            routed_form(accept)
        form = plain_form(accept)
        return self._document(form, path, lambda: discovery.resources(group, version))

    def _document(self, form: Form, name: str, make: Callable[[], Json]) -> Response:
        return forms.response(form, self._made(name, make)[0])

    def _made(self, name: str, make: Callable[[], Json]) -> tuple[bytes, str]:
        """A document that changes with the kinds that are served, made once for each of their changes, and its tag."""
        changes, body, tag = self._documents.get(name, (-1, b"", ""))
        if changes != self._catalogue.changes:
            body = msgspec.json.encode(make())
            tag = f'"{hashlib.sha512(body).hexdigest().upper()}"'
            self._documents[name] = self._catalogue.changes, body, tag
        return body, tag

    def _configuration(self, request: Request) -> Response:
        """Where those who check tokens by themselves find the keys."""
        _check_method(request)
        about = {
            "issuer": ISSUER,
            "jwks_uri": f"https://{request.header('host') or self._address()}{_KEYS}",
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["ES256"],
        }
        return Response(200, msgspec.json.encode(about), headers=_FOR_AN_HOUR)

    def _paths(self) -> list[str]:
        found = {_CONFIGURATION, _KEYS, "/api", "/api/v1", "/apis", "/apis/", "/openapi/v2", "/openapi/v3"}
        found |= {"/openapi/v3/", "/version", *_HEALTH, *(f"{root}/{check}" for root in _HEALTH for check in _CHECKS)}
        for group in self._catalogue.groups():
            if group.name:
                found.add(f"/apis/{group.name}")
                found |= {f"/apis/{group.name}/{version}" for version in group.versions}
        return sorted(found)


def _health(path: str, query: Query) -> Response:
    name = path.rpartition("/")[2]
    if path not in _HEALTH and name not in _CHECKS:
        return no_page()
    if path in _HEALTH and "verbose" in query:
        lines = "".join(f"[+]{check} ok\n" for check in _CHECKS)
        return Response(200, f"{lines}{name} check passed\n".encode(), TEXT)
    return Response(200, b"ok", TEXT)


def _check_method(request: Request) -> None:
    if request.method not in ("GET", "HEAD"):
        raise statuses.method_not_allowed()


def no_page() -> Response:
    """That there is nothing under a path."""
    return Response(404, b"404 page not found\n", TEXT)
