"""A Transport that lets the cache know of what is written through it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Final

import msgspec

from trimtab.cache.watched import Watched
from trimtab.client import Request, Response, Stream, Target, Transport
from trimtab.client.apierrors import UNREADABLE
from trimtab.kube.base import Struct

_WRITES: Final = frozenset({"create", "update", "patch", "delete"})
_OK: Final = range(200, 300)


class _Details(Struct):
    uid: str = ""


class _Answer(Struct):
    kind: str = ""
    details: _Details = msgspec.field(default_factory=_Details)


class Tracking:
    """Tells the watches of a kind what the server answered to a write of one of its objects.

    Evictions and the deletion of a whole collection are answered without the objects, so the watch alone shows them.
    """

    def __init__(self, inner: Transport, watches_of: Callable[[str, str], list[Watched[Any]]]) -> None:
        self._inner = inner
        self._watches_of = watches_of

    async def send(self, request: Request) -> Response:
        """Send, and wait for the whole answer; a write is in the cache when this returns."""
        target = request.what
        if request.verb not in _WRITES or not isinstance(target, Target) or _is_dry(request):
            return await self._inner.send(request)
        resource = target.resource
        watches = [
            watched
            for watched in self._watches_of(resource.api_version, resource.kind)
            if watched.scope.namespace in ("", target.namespace)
        ]
        key = f"{target.namespace}/{target.name}" if target.namespace else target.name
        if request.verb == "create":
            before = dict.fromkeys(watches, frozenset[str]())
        else:  # taking the last finalizer off deletes too
            before = {watched: watched.overlay.begin(key) for watched in watches}
        try:
            response = await self._inner.send(request)
            if watches and response.status in _OK:
                _tell(before, key, target, request.verb, response.body)
        finally:
            if request.verb != "create":
                for watched in watches:
                    watched.overlay.end()
        return response

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        """Send, and hand out the answer as it arrives."""
        return self._inner.stream(request)

    async def close(self) -> None:
        """Give back what it holds."""
        await self._inner.close()


def _tell(watches: dict[Watched[Any], frozenset[str]], key: str, target: Target, verb: str, body: bytes) -> None:
    try:
        answer = _decode(body)
    except UNREADABLE:
        return  # the caller is told that this is no answer of an API server
    if answer.kind == target.resource.kind:
        for watched, before in watches.items():
            watched.wrote(body, deleted=verb == "delete", before=before)
    elif answer.kind == "Status" and verb == "delete" and answer.details.uid:
        for watched, before in watches.items():
            watched.overlay.deleted(key, answer.details.uid, before)


def _is_dry(request: Request) -> bool:
    return "dryRun=" in request.path or (request.verb == "delete" and b'"dryRun"' in (request.body or b""))


_decode = msgspec.json.Decoder(_Answer).decode
