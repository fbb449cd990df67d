"""One request from the client's point of view: deadline, retries, warnings, errors. Any transport will do."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from copy import copy

from trimtab.client.apierrors import ApiError, error_from_body
from trimtab.client.deadlines import Deadlines
from trimtab.client.request import Request
from trimtab.client.retry import Retry
from trimtab.client.transport import Response, Stalled, Stream, Transport, TransportError

_log = logging.getLogger("trimtab.client")
_OK = range(200, 300)
_WARNING = re.compile(r'299 \S+ "((?:[^"\\]|\\.)*)"')
_ESCAPED = re.compile(r"\\(.)")
_MOST_WARNINGS = 1000
_LARGEST_ERROR = 1 << 20


class Caller:
    """Sends requests until they succeed, fail for good, or their time is up."""

    def __init__(self, transport: Transport, *, retry: Retry | None = None, timeout: float = 60.0) -> None:
        self.transport = transport
        self.timeout = timeout
        self._retry = retry or Retry()
        self.deadlines = Deadlines()
        self._warned: set[str] = set()

    def through(self, wrap: Callable[[Transport], Transport]) -> Caller:
        """The same with something in the way of each request."""
        other = copy(self)
        other.transport = wrap(self.transport)
        return other

    async def call(self, request: Request, timeout: float | None = None) -> Response:
        """The answer, if it is a success. `timeout` is for all tries together."""
        limit = timeout or self.timeout
        attempt = 0
        try:
            with self.deadlines.within(limit) as deadline:
                while True:
                    attempt += 1
                    try:
                        return await self._once(request)
                    except (ApiError, TransportError) as error:
                        delay = self._retry.delay(request, error, attempt)
                        if delay is None or delay > deadline.left:
                            raise
                        _log.debug("%s; again in %.1f s", error, delay)
                    await asyncio.sleep(delay)
        except TimeoutError:
            raise _stalled(request, limit) from None

    async def close(self) -> None:
        """Give back what the transport holds."""
        self.deadlines.close()
        await self.transport.close()

    async def _once(self, request: Request) -> Response:
        response = await self.transport.send(request)
        if response.status in _OK:
            if "Warning" in response.headers:
                self._warn(request, response.headers)
            return response
        raise error_from_body(request, response.status, response.body, retry_after(response.headers))

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[Stream]:
        """The answer as it arrives, once it is a success. The caller decides on tries: it knows where it stopped."""
        async with AsyncExitStack() as stack:
            try:
                with self.deadlines.within(self.timeout):
                    stream = await stack.enter_async_context(self.transport.stream(request))
                    if stream.status not in _OK:
                        raise await _refusal(request, stream)
            except TimeoutError:
                raise _stalled(request, self.timeout) from None
            self._warn(request, stream.headers)
            yield stream

    def _warn(self, request: Request, headers: Mapping[str, str]) -> None:
        """Log what the server warns of, once each: `Warning: 299 - "v1 ComponentStatus is deprecated"`."""
        for text in _WARNING.findall(headers.get("Warning", "")):
            if text not in self._warned and len(self._warned) < _MOST_WARNINGS:
                self._warned.add(text)
                _log.warning("the server warns about %s: %s", request, _ESCAPED.sub(r"\1", text))


async def _refusal(request: Request, stream: Stream) -> ApiError:
    body = b""
    while len(body) <= _LARGEST_ERROR and (chunk := await stream.read()):
        body += chunk
    return error_from_body(request, stream.status, body, retry_after(stream.headers))


def _stalled(request: Request, seconds: float) -> Stalled:
    return Stalled(f"cannot {request}: no answer within {seconds:g} s")


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds, from the header; a date there is ignored, as client-go does."""
    value = headers.get("Retry-After", "")
    return float(value) if value.isdecimal() else None
