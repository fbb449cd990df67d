"""The entry: a request comes in as a value, and an answer goes out as one. Every way in ends here.

Request → who is it, and may they (access) → what is it about (routing) → in which form (negotiation) → a verb → Answer
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final, TypeAlias

import msgspec

from trimtab.apiserver import forms, options, statuses, warned
from trimtab.apiserver.access.access import Access
from trimtab.apiserver.admission.conversions import Conversions
from trimtab.apiserver.admission.gate import Gate
from trimtab.apiserver.calls import Admission
from trimtab.apiserver.catalogue import Catalogue, builtin
from trimtab.apiserver.customs import CustomKinds
from trimtab.apiserver.facts import Facts, kubernetes
from trimtab.apiserver.messages import JSON, Answer, Request, Response, User, with_warning
from trimtab.apiserver.negotiation import error_form, form_of, wants_lines
from trimtab.apiserver.options import Query
from trimtab.apiserver.pages import Pages, no_page
from trimtab.apiserver.plugins.chain import Plugins
from trimtab.apiserver.plugins.plugin import Means
from trimtab.apiserver.protobuf.encoding import known
from trimtab.apiserver.routing import Target, route
from trimtab.apiserver.standing import make_standing
from trimtab.apiserver.statuses import Refused
from trimtab.apiserver.storage import StorageFailed, Store
from trimtab.apiserver.strategies import CLUSTER_NAMESPACES
from trimtab.apiserver.subresources.nodes import Nodes
from trimtab.apiserver.surroundings import Surroundings
from trimtab.apiserver.verbs import Verbs
from trimtab.apiserver.versions import Versions

Json: TypeAlias = dict[str, Any]

_log = logging.getLogger("trimtab.apiserver")
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"})
_REMEMBERED: Final = timedelta(minutes=5)
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
        nodes: Nodes | None = None,
        plugins_on: Iterable[str] = (),
        plugins_off: Iterable[str] = (),
        address: str = "127.0.0.1",
    ) -> None:
        self.store = store if store is not None else Store()
        self.facts = facts if facts is not None else kubernetes()
        self.surroundings = surroundings if surroundings is not None else Surroundings()
        self.catalogue: Catalogue = builtin(self.facts)
        self.access = Access(self.store, self.catalogue, self.surroundings)
        self.identities = self.access.identities
        self.address = address
        means = Means(self.store, self.catalogue, self.surroundings, self.access.rbac)
        plugins = Plugins(means, on=plugins_on, off=plugins_off)
        gate = admission or Gate(self.store, self.catalogue, self.access.rbac, self.surroundings, plugins)
        self._verbs = Verbs(
            self.store,
            self.surroundings,
            self.facts,
            self.catalogue,
            admission=gate,
            reviews=self.access.reviews,
            nodes=nodes,
            versions=Versions(Conversions(self.store, self.surroundings)),
        )
        self._noted = self.surroundings.now(), self.store.revision
        self._pages = Pages(self.catalogue, self.facts, self.access.tokens, lambda: self.address)
        self._make_namespaces()
        make_standing(self.store, self.catalogue, self.surroundings)
        self._customs = CustomKinds(self.store, self.catalogue, self.facts, self.surroundings)

    async def handle(self, request: Request) -> Answer:
        """Answer a request, whatever it is."""
        self._age()
        answer = await self._answer(request)
        if isinstance(answer, Response) and answer.content_type == JSON and wants_lines(request):
            return replace(answer, body=msgspec.json.format(answer.body, indent=2))
        return answer

    async def _answer(self, request: Request) -> Answer:
        try:
            return await self._handle(request)
        except Refused as refused:
            return self._refusal(request, refused)
        except RecursionError:
            return self._refusal(request, statuses.bad_request("the object is nested too deep"))
        except StorageFailed as error:
            return self._refusal(request, statuses.unavailable(str(error)))
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
            return no_page()
        query = options.parse(request.query)
        user = self.access.user_of(request, query)
        if path.startswith(("/api/", "/apis/")):
            about = path.split("/")
            enough = 4 if about[1] == "api" else 5
            if len(about) > enough or (len(about) == enough and about[-1]):
                return await self._object(request, query, user)
        return self._pages.page(request, query)

    async def _object(self, request: Request, query: Query, user: User) -> Answer:
        if request.method not in _METHODS:
            raise statuses.method_not_allowed()
        target = route(self.catalogue, request.method, request.path, watching=options.flag(query, "watch"))
        if target is None:
            return no_page()
        form = form_of(
            request.header("accept"),
            watching=target.verb == "watch",
            collection=not target.name,
            custom=target.kind.custom is not None,
            protobuf=known(target.kind.schema),
            tables="get" in target.kind.verbs,
        )
        if not target.kind.warning:
            return await self._verbs.do(request, query, target, user, form)
        try:
            answer = await self._verbs.do(request, query, target, user, form)
        except Refused as refused:
            answer = self._refusal(request, refused)
        return with_warning(answer, target.kind.warning)

    def _refusal(self, request: Request, refused: Refused) -> Response:
        headers = warned.headers(refused.warnings)
        if refused.retry_after:
            headers.append(("Retry-After", str(refused.retry_after)))
        form = error_form(request.header("accept"))
        return forms.response(form, msgspec.json.encode(refused.body()), refused.code, headers)

    def _make_namespaces(self) -> None:
        kind = self.catalogue.find("", "v1", "namespaces")
        for name in CLUSTER_NAMESPACES if kind is not None else ():
            if kind is not None and self.store.get("namespaces", name) is None:
                self._verbs.make(Target(kind, "create", "", name), {"metadata": {"name": name}})
