"""What is asked of an API server, as plain values: no I/O, and no HTTP library."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias
from urllib.parse import quote, quote_plus

from trimtab.errors import TrimtabError
from trimtab.kube.kinds import Resource

JSON = "application/json"

_is_plain: Final = re.compile(r"[A-Za-z0-9_.~-]*").fullmatch  # nearly all there is: it needs no encoding
_is_plain_in_query: Final = re.compile(r"[A-Za-z0-9_.~/:-]*").fullmatch


@dataclass(frozen=True, slots=True)
class Target:
    """The object, or the collection, that a request is about."""

    resource: Resource
    namespace: str = ""  # empty: all of them, or a kind that has none
    name: str = ""  # empty: the collection
    subresource: str = ""

    @property
    def path(self) -> str:
        """Where it is on the server."""
        r = self.resource
        if not r.plural:
            raise TrimtabError(f"{r.kind} of {r.api_version} has no address of its own: it is sent to a subresource")
        parts = ["/apis/" + r.api_version if r.group else "/api/" + r.version]
        if self.namespace and r.namespaced:
            parts += ["namespaces", segment(self.namespace, "namespace")]
        parts.append(r.plural)
        if self.name:
            parts.append(segment(self.name, "name"))
        if self.subresource:
            parts.append(segment(self.subresource, "subresource"))
        return "/".join(parts)

    def __str__(self) -> str:
        """As people say it: `pods default/web`, `pods/eviction default/web`, `deployments.apps in shop`."""
        what = f"{self.resource}/{self.subresource}" if self.subresource else str(self.resource)
        if self.name:
            return f"{what} {self.namespace}/{self.name}" if self.namespace else f"{what} {self.name}"
        return f"{what} in {self.namespace}" if self.namespace else what


@dataclass(frozen=True, slots=True)
class Request:
    """One request. `idempotent` says that sending it twice does no more than sending it once."""

    verb: str  # as RBAC names it: get, list, watch, create, update, patch, delete, deletecollection
    method: str
    path: str
    what: Target | str
    body: bytes | None = field(default=None, repr=False)  # it may be a Secret
    content_type: str = ""
    accept: str = JSON
    idempotent: bool = False
    retry_429: bool = True  # False: an answer 429 is the caller's to judge, as for evictions
    before_sending: Callable[[], None] | None = field(default=None, repr=False, compare=False)
    """Called when a connection is ready to take it; what it raises goes to the caller, and nothing is sent."""

    def __str__(self) -> str:
        """For errors: `get pods default/web`."""
        return f"{self.verb} {self.what}"


Query: TypeAlias = Mapping[str, str | int | bool | None]


def read(verb: str, target: Target, query: Query | None = None, *, accept: str = JSON) -> Request:
    """A request that changes nothing."""
    return Request(verb, "GET", target.path + query_string(query or {}), target, accept=accept, idempotent=True)


def write(
    verb: str,
    method: str,
    target: Target,
    body: bytes | None,
    query: Query | None = None,
    *,
    content_type: str = JSON,
    idempotent: bool = False,
    retry_429: bool = True,
) -> Request:
    """A request that changes something, or may."""
    path = target.path + query_string(query or {})
    return Request(verb, method, path, target, body, content_type, idempotent=idempotent, retry_429=retry_429)


def query_string(query: Query) -> str:
    """`?a=b&c=true`, without what is None or empty; values are encoded."""
    given = [
        f"{_encoded(name)}={_encoded(str(value).lower() if isinstance(value, bool) else str(value))}"
        for name, value in query.items()
        if value is not None and value != ""
    ]
    return "?" + "&".join(given) if given else ""


def _encoded(text: str) -> str:
    return text if _is_plain_in_query(text) else quote_plus(text)


def segment(value: str, what: str) -> str:
    """A name as a part of a path. The rules are the API server's: what could leave its place is refused."""
    if _is_plain(value) and value not in (".", ".."):
        return value
    if value in (".", "..") or "/" in value or "%" in value or not value.isprintable():
        raise TrimtabError(
            f"{value!r} is no {what}: it may not be '.' or '..' nor have '/', '%' or control characters in it"
        )
    return quote(value, safe=":@!$&'()*+,;=-._~")
