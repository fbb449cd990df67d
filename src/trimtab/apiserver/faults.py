"""The seam for faults: what a network and a busy server may do to a request or a watch, done on purpose as a plan says.

    seam = Seam(server, plan)          # anything that handles requests, and it is one itself
    LocalTransport(seam)

A plan is asked at two points of each request and before each piece of a watch, and answers with what is to happen. It
decides; nothing here is random, and time passes by the clock that is given.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol, TypeAlias

import msgspec

from trimtab.apiserver.messages import Answer, Request, Response, Source, Streaming, Torn
from trimtab.apiserver.statuses import Refused

Sleep: TypeAlias = Callable[[float], Awaitable[None]]
Point: TypeAlias = Literal["arrived", "answered", "told"]


@dataclass(frozen=True, slots=True)
class Moment:
    """Where a request is: it `arrived` and nothing has happened yet; it is `answered`, and what it wanted has happened,
    but nobody has heard of it; or a piece of a watch is about to be `told`."""

    point: Point
    request: Request
    number: int  # which request it is, or which piece of its watch, counted from 0
    answer: Response | None = None  # where it is answered


@dataclass(frozen=True, slots=True)
class Delay:
    """Go on after so many seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Break:
    """The connection breaks: before anything happened, or after it."""


@dataclass(frozen=True, slots=True)
class Refuse:
    """Answer with this instead; in a watch, tell of it and end."""

    refused: Refused


@dataclass(frozen=True, slots=True)
class Race:
    """Another client's request comes first."""

    request: Request


@dataclass(frozen=True, slots=True)
class Show:
    """Read as of an older revision, as from a server that lags behind."""

    revision: int


@dataclass(frozen=True, slots=True)
class Tear:
    """Tell only so many bytes of this piece, and break."""

    bytes: int


@dataclass(frozen=True, slots=True)
class Stall:
    """Tell nothing any more, with the connection open."""


Act: TypeAlias = Delay | Break | Refuse | Race | Show | Tear | Stall


class Plan(Protocol):
    """Says what is to happen."""

    def at(self, moment: Moment) -> Sequence[Act]:
        """What is to happen now, in order; () for nothing."""
        ...


class Handler(Protocol):
    """Answers requests: a server, or a seam before it."""

    async def handle(self, request: Request) -> Answer:
        """Answer a request. Raises Torn where the connection is to break."""
        ...


class Seam:
    """A handler that does what a plan says."""

    def __init__(self, inner: Handler, plan: Plan, *, sleep: Sleep = asyncio.sleep) -> None:
        self._inner = inner
        self._plan = plan
        self._sleep = sleep
        self._requests = 0

    async def handle(self, request: Request) -> Answer:
        """Answer a request, as far as the plan lets it."""
        number, self._requests = self._requests, self._requests + 1
        for act in self._plan.at(Moment("arrived", request, number)):
            match act:
                case Delay(seconds):
                    await self._sleep(seconds)
                case Refuse(refused):
                    return _refusal(refused)
                case Race(other):
                    await self._inner.handle(other)
                case Show(revision):
                    request = replace(request, as_of=revision)
                case Stall():
                    await asyncio.get_running_loop().create_future()
                case Break() | Tear():
                    raise Torn
        answer = await self._inner.handle(request)
        if isinstance(answer, Streaming):
            return replace(answer, source=_Planned(answer.source, request, self._plan, self._sleep))
        return await self._answered(request, number, answer)

    async def _answered(self, request: Request, number: int, answer: Response) -> Response:
        for act in self._plan.at(Moment("answered", request, number, answer)):
            match act:
                case Delay(seconds):
                    await self._sleep(seconds)
                case Refuse(refused):
                    return _refusal(refused)
                case Race(other):
                    await self._inner.handle(other)
                case Stall():
                    await asyncio.get_running_loop().create_future()
                case Break() | Tear():
                    raise Torn
                case Show():
                    pass  # what is answered has been read
        return answer


class _Planned:
    """A watch to which things happen."""

    def __init__(self, inner: Source, request: Request, plan: Plan, sleep: Sleep) -> None:
        self._inner = inner
        self._request = request
        self._plan = plan
        self._sleep = sleep
        self._number = 0
        self._torn = self._ended = False
        self._closed: asyncio.Future[None] | None = None

    async def read(self) -> bytes:
        if self._torn:
            raise Torn
        piece = b"" if self._ended else await self._inner.read()
        if not piece:
            return b""
        number, self._number = self._number, self._number + 1
        for act in self._plan.at(Moment("told", self._request, number)):
            match act:
                case Delay(seconds):
                    await self._sleep(seconds)
                case Refuse(refused):
                    self._ended = True
                    return msgspec.json.encode({"type": "ERROR", "object": refused.body()}) + b"\n"
                case Tear(size):
                    self._torn = True
                    if size:
                        return piece[:size]
                    raise Torn
                case Stall():
                    await self._until_closed()
                    return b""
                case Break():
                    raise Torn
                case Race() | Show():
                    pass  # a watch is past what could be raced or shown
        return piece

    def close(self) -> None:
        self._inner.close()
        if self._closed is not None and not self._closed.done():
            self._closed.set_result(None)

    async def _until_closed(self) -> None:
        self._closed = asyncio.get_running_loop().create_future()
        await self._closed


def _refusal(refused: Refused) -> Response:
    headers = (("Retry-After", str(refused.retry_after)),) if refused.retry_after else ()
    return Response(refused.code, msgspec.json.encode(refused.body()), headers=headers)
