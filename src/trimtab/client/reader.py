"""`Reader`: what can be asked of an API server without changing anything there."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from copy import copy
from math import ceil
from random import Random
from types import TracebackType
from typing import Self

from trimtab.client.answers import decode_answer, not_understood
from trimtab.client.apierrors import UNREADABLE, Gone, NoSuchResource
from trimtab.client.caller import Caller
from trimtab.client.config.loading import load_config
from trimtab.client.config.model import Config
from trimtab.client.discovery import Discovery
from trimtab.client.http import HttpTransport
from trimtab.client.listing import PAGE_SIZE, ObjectList, decode_page
from trimtab.client.logs import LogLines
from trimtab.client.options import FieldQuery, LabelQuery, selection
from trimtab.client.request import JSON, Request, Target, read
from trimtab.client.retry import Retry
from trimtab.client.streams import ChunkReader, LineReader
from trimtab.client.transport import Response, Stream, Transport
from trimtab.client.watching import Watch
from trimtab.errors import TrimtabError
from trimtab.kube.autoscaling.v1 import Scale
from trimtab.kube.base import Struct
from trimtab.kube.core.v1 import Pod
from trimtab.kube.dynamic import Dynamic
from trimtab.kube.kinds import Resource, ResourceClass
from trimtab.kube.objects import Object
from trimtab.kube.partial import PARTIAL, MetadataOnly
from trimtab.kube.wire import K

_BETWEEN_BOOKMARKS = 75.0  # seconds: they come each minute, by a timer that is spread by a quarter
_GRACE = 15.0  # seconds after the time at which the server should have ended a watch


class Version(Struct):
    """What a server says of itself."""

    git_version: str = ""
    major: str = ""
    minor: str = ""
    platform: str = ""


class Reader:
    """Reads from one API server. `Client` is one that also writes.

    `get` takes `namespace` from the client where it is not given; lists and watches without one span all namespaces.
    What fails raises an ApiError, named as the server names its reason, or a TransportError. Nothing is cached here.
    """

    def __init__(
        self,
        config: Config | Transport | None = None,
        *,
        namespace: str | None = None,
        field_manager: str = "trimtab",
        timeout: float = 60.0,
        retry: Retry | None = None,
        random: Callable[[], float] | None = None,
    ) -> None:
        if config is None:
            config = load_config()
        if not isinstance(config, Config) and not hasattr(config, "send"):
            raise TrimtabError(f"a client takes a Config or a Transport, not {config!r}: Client(load_config(...))")
        transport = HttpTransport(config) if isinstance(config, Config) else config
        default = config.namespace if isinstance(config, Config) else None
        self.namespace = namespace or default or "default"
        self.field_manager = field_manager
        self._random = random or Random().random  # noqa: S311  # spreads load, keeps no secret
        self._caller = Caller(transport, retry=retry or Retry(random=self._random), timeout=timeout)
        self.discovery = Discovery(self._caller)

    def through(self, wrap: Callable[[Transport], Transport]) -> Self:
        """The same client with something in the way of its requests, such as a guard. Only one of the two is closed."""
        other = copy(self)
        other._caller = self._caller.through(wrap)  # noqa: SLF001  # its own class
        return other

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._caller.close()

    async def get(self, kind: type[K], name: str, *, namespace: str | None = None, resource_version: str = "") -> K:
        """One object, as it is now; with resource_version "0" the server may answer from its cache."""
        target = await self._object(kind, name, namespace)
        request = read("get", target, {"resourceVersion": resource_version}, accept=_form(kind))
        return decode_answer(kind, request, await self._call(request))

    async def list(
        self,
        kind: type[K],
        *,
        namespace: str | None = None,
        labels: LabelQuery = None,
        fields: FieldQuery = None,
        resource_version: str = "",
        resource_version_match: str = "",
        page_size: int = PAGE_SIZE,
        timeout: float | None = None,
    ) -> ObjectList[K]:
        """All objects of a kind that match, as of one resource version. `page_size` 0 asks for all at once."""
        pages = self.pages(
            kind,
            namespace=namespace,
            labels=labels,
            fields=fields,
            resource_version=resource_version,
            resource_version_match=resource_version_match,
            page_size=page_size,
            timeout=timeout,
        )
        found: ObjectList[K] | None = None
        try:
            async for page in pages:
                if found is None:
                    found = page
                else:
                    found += page
                    found.continue_, found.remaining = page.continue_, page.remaining
        except Gone:
            if found is None or resource_version_match:
                raise
            # The server forgot the version that the first pages are of, so they do not fit what would follow.
            return await self.list(
                kind, namespace=namespace, labels=labels, fields=fields, page_size=0, timeout=timeout
            )
        assert found is not None
        return found

    async def pages(
        self,
        kind: type[K],
        *,
        namespace: str | None = None,
        labels: LabelQuery = None,
        fields: FieldQuery = None,
        resource_version: str = "",
        resource_version_match: str = "",
        page_size: int = PAGE_SIZE,
        timeout: float | None = None,
    ) -> AsyncGenerator[ObjectList[K]]:
        """The same, a page at a time, each decoded when it arrives; `timeout` is for one page.

        Expired on a later page: begin again.
        """
        target = await self._collection(kind, namespace)
        query = {
            **selection(labels, fields),
            "resourceVersion": resource_version,
            "resourceVersionMatch": resource_version_match,
            "limit": page_size or None,
        }
        while True:
            request = read("list", target, query, accept=_form(kind, "List"))
            response = await self._call(request, timeout)
            try:
                page = decode_page(kind, response.body)
            except UNREADABLE as error:
                raise not_understood(request, error) from error
            yield page
            if not page.continue_:
                return
            # The token holds the version; the server refuses to be told it twice.
            query |= {"continue": page.continue_, "resourceVersion": None, "resourceVersionMatch": None}

    @asynccontextmanager
    async def open_list(
        self,
        kind: type[Object | Dynamic],
        *,
        namespace: str | None = None,
        labels: LabelQuery = None,
        fields: FieldQuery = None,
        resource_version: str = "",
        limit: int = 0,
        token: str = "",
    ) -> AsyncGenerator[ChunkReader]:
        """One page of a list as bytes that go on arriving, for readers that need not hold it whole."""
        query = {
            **selection(labels, fields),
            "resourceVersion": resource_version if not token else None,  # the token holds it
            "limit": limit or None,
            "continue": token,
        }
        request = read("list", await self._collection(kind, namespace), query, accept=_form(kind, "List"))
        async with self._stream(request) as stream:
            yield ChunkReader(stream, request, self._caller.deadlines, silence=self._caller.timeout)

    @asynccontextmanager
    async def watch(
        self,
        kind: type[K],
        *,
        namespace: str | None = None,
        labels: LabelQuery = None,
        fields: FieldQuery = None,
        resource_version: str = "",
        initial_events: bool = False,
        timeout: float | None = None,
        silence: float | None = None,
    ) -> AsyncGenerator[Watch[K]]:
        """The changes since a resource version: `async with client.watch(Pod) as events: async for e in events`.

        Without a resource version it begins with an ADDED for each object there is; `initial_events` asks the server to
        mark the end of those. The server ends a watch after `timeout` seconds (5 to 10 minutes). A stream that is
        silent for longer than that is taken for dead, and one that has shown that its server sends bookmarks, each
        minute, already after 75 seconds; `silence` sets another limit for both.
        """
        target = await self._collection(kind, namespace)
        seconds = ceil(timeout or 300 * (1 + self._random()))  # so that not all watches end at once
        query = {
            **selection(labels, fields),
            "watch": True,
            "allowWatchBookmarks": True,
            "resourceVersion": resource_version,
            "sendInitialEvents": initial_events or None,
            "resourceVersionMatch": "NotOlderThan" if initial_events else None,
            "timeoutSeconds": seconds,
        }
        request = read("watch", target, query, accept=_form(kind))
        async with self._stream(request) as stream:
            if "html" in stream.headers.get("Content-Type", ""):
                raise not_understood(request, "it sent a page of HTML")
            limit = silence or seconds + _GRACE
            lines = LineReader(stream, request, self._caller.deadlines, silence=limit)
            yield Watch(
                kind, target.resource, request, lines, resource_version, silence or min(_BETWEEN_BOOKMARKS, limit)
            )

    async def get_scale(self, kind: type[Object | Dynamic], name: str, *, namespace: str | None = None) -> Scale:
        """The number of replicas that is wanted, the number there is, and the selector that counts them."""
        request = read("get", await self._object(kind, name, namespace, "scale"))
        return decode_answer(Scale, request, await self._call(request))

    @asynccontextmanager
    async def logs(
        self,
        name: str,
        *,
        namespace: str | None = None,
        container: str = "",
        follow: bool = False,
        previous: bool = False,
        tail: int | None = None,
        since: int | None = None,
        timestamps: bool = False,
        limit_bytes: int | None = None,
    ) -> AsyncGenerator[LogLines]:
        """The lines of a container's log; with `follow`, as they are written. `since` is in seconds."""
        query = {
            "container": container,
            "follow": follow or None,
            "previous": previous or None,
            "tailLines": tail,
            "sinceSeconds": since,
            "timestamps": timestamps or None,
            "limitBytes": limit_bytes,
        }
        request = read("get", await self._object(Pod, name, namespace, "log"), query)
        silence = None if follow else self._caller.timeout
        async with self._caller.stream(request) as stream:
            yield LogLines(LineReader(stream, request, self._caller.deadlines, silence=silence, ragged=True))

    async def version(self) -> Version:
        """The server's version. NotKubernetes where something else answers."""
        request = Request("get", "GET", "/version", "/version", idempotent=True)
        version = decode_answer(Version, request, await self._call(request))
        if not version.git_version:
            raise not_understood(request, "it gives no version")
        return version

    # Inner parts

    @asynccontextmanager
    async def _stream(self, request: Request) -> AsyncGenerator[Stream]:
        try:
            async with self._caller.stream(request) as stream:
                yield stream
        except NoSuchResource:
            self._forget(request)
            raise

    def _forget(self, request: Request) -> None:
        """Its definition may have been made anew, with another plural or scope."""
        if isinstance(request.what, Target):
            self.discovery.forget(request.what.resource.api_version, request.what.resource.kind)

    async def _call(self, request: Request, timeout: float | None = None) -> Response:
        try:
            return await self._caller.call(request, timeout)
        except NoSuchResource:
            self._forget(request)
            raise

    async def _resource(self, kind: type[Object | Dynamic]) -> Resource:
        # A slip that type checkers find, and that would end in the depths of this library for who has none.
        if not isinstance(kind, type) or not issubclass(kind, ResourceClass):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TrimtabError(f"{kind!r} is no kind: give a class such as Pod, or dynamic('v1', 'Pod')")
        resource = kind.resource
        if not resource.plural and issubclass(kind, Dynamic | MetadataOnly):
            return (await self.discovery.find(resource.api_version, resource.kind)).resource
        return resource

    async def _object(
        self, kind: type[Object | Dynamic], name: str, namespace: str | None, subresource: str = ""
    ) -> Target:
        resource = await self._resource(kind)
        if not name:
            raise TrimtabError(f"a {resource.kind} is asked for without a name")
        return Target(resource, (namespace or self.namespace) if resource.namespaced else "", name, subresource)

    async def _collection(self, kind: type[Object | Dynamic], namespace: str | None) -> Target:
        resource = await self._resource(kind)
        return Target(resource, (namespace or "") if resource.namespaced else "")


def _form(kind: type[Object | Dynamic], suffix: str = "") -> str:
    """What to accept: an object whole, or its metadata alone."""
    if not issubclass(kind, MetadataOnly):
        return JSON
    return f"{JSON};as={PARTIAL.kind}{suffix};g={PARTIAL.group};v={PARTIAL.version}"
