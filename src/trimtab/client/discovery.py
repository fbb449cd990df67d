"""What kinds a server has, and where: its discovery documents, read when needed, and again when a kind is unknown."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass

from trimtab.client.answers import decode_answer
from trimtab.client.apierrors import ApiError, NotFound
from trimtab.client.caller import Caller
from trimtab.client.request import Request, segment
from trimtab.errors import TrimtabError
from trimtab.kube.base import Struct
from trimtab.kube.kinds import Resource
from trimtab.kube.meta.v1 import APIResourceList

_log = logging.getLogger("trimtab.client")
# Whichever the server has: v2 came with Kubernetes 1.30, v2beta1 with 1.26, and the last one lists groups only. The two
# aggregated forms have the same fields.
_DOCUMENTS = (
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,"
    "application/json"
)


class UnknownKind(TrimtabError):
    """The server has no such kind: its CustomResourceDefinition is missing, or the version is another."""


@dataclass(frozen=True, slots=True)
class ServedResource:
    """A kind as the server serves it."""

    resource: Resource
    verbs: tuple[str, ...] = ()
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    singular: str = ""


class Discovery:
    """The kinds of one server."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._known: dict[tuple[str, str], ServedResource] = {}

    async def find(self, api_version: str, kind: str) -> ServedResource:
        """The kind, asked for anew when it is not known yet: its definition may be a second old."""
        found = self._known.get((api_version, kind))
        if found is None:
            # One group-version's own document: it is small, and it has a new kind before the aggregated one does.
            for served in await self._group_version(api_version):
                self._known[api_version, served.resource.kind] = served
            found = self._known.get((api_version, kind))
        if found is None:
            raise UnknownKind(
                f"the server has no kind {kind} in {api_version}: is its CustomResourceDefinition installed?"
            )
        return found

    def forget(self, api_version: str, kind: str) -> None:
        """Ask for this kind anew when it is next wanted: its definition may have been replaced by another."""
        self._known.pop((api_version, kind), None)

    async def all(self) -> list[ServedResource]:
        """Every kind in every version that the server has now, preferred versions first.

        What stands behind an APIService and does not answer is left out, with a warning in the log.
        """
        found: list[ServedResource] = []
        for path in ("/api", "/apis"):
            request = Request("get", "GET", path, path, accept=_DOCUMENTS, idempotent=True)
            document = decode_answer(_Document, request, await self._caller.call(request))
            if document.kind == "APIGroupDiscoveryList":
                found += document.served()
            else:
                for api_version in document.api_versions():
                    try:
                        found += await self._group_version(api_version)
                    except ApiError as error:
                        _log.warning("%s; going on without the kinds of %s", error, api_version)
        self._known = {(s.resource.api_version, s.resource.kind): s for s in found}
        return found

    async def _group_version(self, api_version: str) -> list[ServedResource]:
        group, _, version = api_version.rpartition("/")
        path = f"/apis/{segment(group, 'group')}" if group else "/api"
        path = f"{path}/{segment(version, 'version')}"
        request = Request("get", "GET", path, path, idempotent=True)
        try:
            response = await self._caller.call(request)
        except NotFound:
            return []
        listed = decode_answer(APIResourceList, request, response).resources
        subresources: dict[str, list[str]] = {}
        for r in listed:
            plural, _, subresource = r.name.partition("/")
            if subresource:
                subresources.setdefault(plural, []).append(subresource)
        return [
            ServedResource(
                Resource(group, version, r.kind, r.name, r.namespaced, tuple(subresources.get(r.name, ()))),
                tuple(r.verbs),
                tuple(r.short_names),
                tuple(r.categories),
                r.singular_name,
            )
            for r in listed
            if "/" not in r.name
        ]


class _Kind(Struct):
    group: str = ""
    version: str = ""
    kind: str = ""


class _Subresource(Struct):
    subresource: str = ""


class _Resource(Struct):
    resource: str = ""
    response_kind: _Kind | None = None
    scope: str = ""
    singular_resource: str = ""
    verbs: list[str] = []
    short_names: list[str] = []
    categories: list[str] = []
    subresources: list[_Subresource] = []


class _Version(Struct):
    version: str = ""  # aggregated
    group_version: str = ""  # of the old list of groups
    resources: list[_Resource] = []


class _Group(Struct):
    metadata: dict[str, object] = {}
    versions: list[_Version] = []

    def served(self) -> Iterator[ServedResource]:
        group = str(self.metadata.get("name") or "")
        for v in self.versions:
            for r in v.resources:
                kind = r.response_kind.kind if r.response_kind else ""
                subresources = tuple(s.subresource for s in r.subresources)
                yield ServedResource(
                    Resource(group, v.version, kind, r.resource, r.scope == "Namespaced", subresources),
                    tuple(r.verbs),
                    tuple(r.short_names),
                    tuple(r.categories),
                    r.singular_resource,
                )


class _Document(Struct):
    """Whichever of the three documents came: APIGroupDiscoveryList, APIVersions or APIGroupList."""

    kind: str = ""
    items: list[_Group] = []
    versions: list[str] = []
    groups: list[_Group] = []

    def served(self) -> Iterator[ServedResource]:
        for group in self.items:
            yield from group.served()

    def api_versions(self) -> Iterator[str]:
        yield from self.versions
        for group in self.groups:
            yield from (v.group_version for v in group.versions)
