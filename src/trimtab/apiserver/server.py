"""The entry: a request comes in as a value, and an answer goes out as one. Every way in ends here.

Request → who is it, and may they (access) → what is it about (routing) → in which form (negotiation) → a verb → Answer
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final, TypeAlias

import msgspec

from trimtab.apiserver import discovery, forms, options, statuses
from trimtab.apiserver.access.access import Access
from trimtab.apiserver.admission.gate import Gate
from trimtab.apiserver.calls import Admission
from trimtab.apiserver.catalogue import Catalogue, builtin
from trimtab.apiserver.customs import CustomKinds
from trimtab.apiserver.facts import Facts, kubernetes
from trimtab.apiserver.messages import JSON, TEXT, Answer, Request, Response, User
from trimtab.apiserver.negotiation import Form, discovery_form, form_of, plain_form
from trimtab.apiserver.openapi import Documents
from trimtab.apiserver.options import Query
from trimtab.apiserver.routing import Target, route
from trimtab.apiserver.statuses import Refused
from trimtab.apiserver.storage import StorageFailed, Store
from trimtab.apiserver.strategies import CLUSTER_NAMESPACES
from trimtab.apiserver.surroundings import Surroundings
from trimtab.apiserver.verbs import Verbs

Json: TypeAlias = dict[str, Any]

_log = logging.getLogger("trimtab.apiserver")
_HEALTH: Final = frozenset({"/healthz", "/livez", "/readyz"})
_PAGES: Final = frozenset({"/", "/version", "/api", "/apis"})
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"})
_REMEMBERED: Final = timedelta(minutes=5)
_AGGREGATED: Final = f"{JSON};g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
ADMIN: Final = User("kubernetes-admin", ("system:masters", "system:authenticated"))


class Server:
    """Kubernetes' API on a store. It has no sockets and no threads: whoever has a request calls `handle`."""

    def __init__(
        self,
        store: Store | None = None,
        *,
        facts: Facts | None = None,
        surroundings: Surroundings | None = None,
        admission: Admission | None = None,
        address: str = "127.0.0.1",
    ) -> None:
        self.store = store if store is not None else Store()
        self.facts = facts if facts is not None else kubernetes()
        self.surroundings = surroundings if surroundings is not None else Surroundings()
        self.catalogue: Catalogue = builtin(self.facts)
        self.access = Access(self.store, self.catalogue, self.surroundings)
        self.identities = self.access.identities
        self.address = address
        gate = admission or Gate(self.store, self.catalogue, self.access.rbac, self.surroundings)
        self._verbs = Verbs(self.store, self.surroundings, self.facts, admission=gate, reviews=self.access.reviews)
        self._noted = self.surroundings.now(), self.store.revision
        self._openapis = Documents(self.catalogue, self.facts)
        self._documents: dict[str, tuple[int, Json]] = {}
        self._make_namespaces()
        self._customs = CustomKinds(self.store, self.catalogue, self.facts, self.surroundings)

    async def handle(self, request: Request) -> Answer:
        """Answer a request, whatever it is."""
        self._age()
        try:
            return await self._handle(request)
        except Refused as refused:
            return self._refusal(request, refused)
        except RecursionError:
            return self._refusal(request, statuses.bad_request("the object is nested too deep"))
        except StorageFailed as error:
            return self._refusal(request, statuses.internal(str(error)))
        except Exception as error:  # noqa: BLE001 - a fault of ours ends one request, and never the server
            _log.exception("%s %s failed", request.method, request.path)
            return self._refusal(request, statuses.internal(f"{type(error).__name__}: {error}"))

    def _age(self) -> None:
        """Forget what is older than five minutes, and within ten of them."""
        now = self.surroundings.now()
        noted, revision = self._noted
        if now - noted >= _REMEMBERED:
            self.store.compact(revision)
            self._noted = now, self.store.revision

    def close(self) -> None:
        """Let go of the store."""
        self.store.close()

    async def _handle(self, request: Request) -> Answer:
        path = request.path
        if not path.startswith("/") or path.startswith("//"):
            return _no_page()
        query = options.parse(request.query)
        user = self.access.user_of(request, query)
        if path.startswith(("/api/", "/apis/")):
            about = path.split("/")
            enough = 4 if about[1] == "api" else 5
            if len(about) > enough or (len(about) == enough and about[-1]):
                return await self._object(request, query, user)
        return self._page(request, query)

    async def _object(self, request: Request, query: Query, user: User) -> Answer:
        if request.method not in _METHODS:
            raise statuses.method_not_allowed()
        target = route(self.catalogue, request.method, request.path, watching=options.flag(query, "watch"))
        if target is None:
            return _no_page()
        form = form_of(request.header("accept"), watching=target.verb == "watch", collection=not target.name)
        return await self._verbs.do(request, query, target, user, form)

    # What is no object

    def _page(self, request: Request, query: Query) -> Answer:
        path = request.path.rstrip("/") or "/"
        if path in _HEALTH or path.startswith(("/livez/", "/readyz/", "/healthz/")):
            return self._health(path, query)
        if path not in _PAGES and not path.startswith(("/api/", "/apis/", "/openapi/v")):
            return _no_page()
        if request.method not in ("GET", "HEAD"):
            raise statuses.method_not_allowed()
        accept = request.header("accept")
        if path == "/version":
            plain_form(accept)
            return _json(dict(self.facts.version))
        if path in ("/api", "/apis"):
            return self._roots(path, accept)
        parts = path.split("/")
        if parts[1] == "api" and len(parts) == 3:
            return self._document(accept, path, lambda: discovery.resources(self.catalogue, "", parts[2]))
        if parts[1] == "apis" and self.catalogue.group(parts[2]) is not None:
            if len(parts) == 3:
                return self._document(accept, path, lambda: discovery.group(self.catalogue, parts[2]))
            return self._document(accept, path, lambda: discovery.resources(self.catalogue, parts[2], parts[3]))
        if path.startswith("/openapi/"):
            return self._openapi(path, accept)
        if path == "/":
            return _json({"paths": self._paths()})
        return _no_page()

    def _openapi(self, path: str, accept: str) -> Answer:
        if path == "/openapi/v2":
            if "json" not in accept and "*/*" not in accept and accept:
                raise statuses.not_acceptable((JSON,))
            return Response(200, self._openapis.version_2())
        if path == "/openapi/v3":
            return Response(200, self._openapis.index())
        if path.startswith("/openapi/v3/"):
            return Response(200, self._openapis.document(path.removeprefix("/openapi/v3/")))
        return _no_page()

    def _health(self, path: str, query: Query) -> Answer:
        checks = ("ping", "log", "storage")
        name = path.rpartition("/")[2]
        if path not in _HEALTH and name not in checks:
            return _no_page()
        if path in _HEALTH and "verbose" in query:
            lines = "".join(f"[+]{check} ok\n" for check in checks)
            return Response(200, f"{lines}{name} check passed\n".encode(), TEXT)
        return Response(200, b"ok", TEXT)

    def _roots(self, path: str, accept: str) -> Answer:
        core = path == "/api"
        if discovery_form(accept):
            answer = self._document("", f"{path} aggregated", lambda: discovery.aggregated(self.catalogue, core=core))
            return Response(200, answer.body, _AGGREGATED, (("Vary", "Accept"),))
        if core:
            return self._document(accept, path, lambda: discovery.versions(self.address))
        return self._document(accept, path, lambda: discovery.groups(self.catalogue))

    def _document(self, accept: str, name: str, make: Callable[[], Json]) -> Response:
        """A document that changes with the kinds that are served, made once for each of their changes."""
        form = form_of(accept) if accept else Form()
        changes, document = self._documents.get(name, (-1, {}))
        if changes != self.catalogue.changes:
            document = make()
            self._documents[name] = self.catalogue.changes, document
        return forms.response(form, msgspec.json.encode(document))

    def _paths(self) -> list[str]:
        found = {"/api", "/api/v1", "/apis", "/apis/", "/healthz", "/livez", "/readyz", "/version"}
        for group in self.catalogue.groups():
            if group.name:
                found.add(f"/apis/{group.name}")
                found |= {f"/apis/{group.name}/{version}" for version in group.versions}
        return sorted(found)

    def _refusal(self, request: Request, refused: Refused) -> Response:
        headers = (("Retry-After", str(refused.retry_after)),) if refused.retry_after else ()
        try:
            form = form_of(request.header("accept"))
        except Refused:
            form = Form()
        return forms.response(form, msgspec.json.encode(refused.body()), refused.code, headers)

    def _make_namespaces(self) -> None:
        kind = self.catalogue.find("", "v1", "namespaces")
        for name in CLUSTER_NAMESPACES if kind is not None else ():
            if kind is not None and self.store.get("namespaces", name) is None:
                self._verbs.make(Target(kind, "create", "", name), {"metadata": {"name": name}})


def _json(value: Json) -> Response:
    return Response(200, msgspec.json.encode(value))


def _no_page() -> Response:
    return Response(404, b"404 page not found\n", TEXT)
