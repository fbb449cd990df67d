"""A clock that jumps and a server that follows a script: the client is tried without waiting and without a network."""

import asyncio
import json
import selectors
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest
from multidict import CIMultiDict

from trimtab.client.request import Request
from trimtab.client.transport import Response


class _JumpingSelector(selectors.DefaultSelector):
    """Where the loop would wait for its next timer, the time of that timer has come."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready:
            assert timeout is not None, "everybody waits, and nothing will wake them"
            self.now += max(timeout, 0)
        return ready


class JumpingLoop(asyncio.SelectorEventLoop):
    """An event loop in virtual time."""

    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now


class ScriptedServer:
    """A Transport that answers by a script and remembers what it was asked, and when.

    A step is `(status, body)` or `(status, body, headers)`, an exception to raise, or seconds to wait before the next
    step. The body of a stream is a list of chunks, exceptions and seconds. A body that is a dict is sent as JSON.
    """

    def __init__(self, *script: Any) -> None:
        self.script = list(script)
        self.requests: list[Request] = []
        self.times: list[float] = []
        self.cut = 0  # streams that were left, at their end or before it
        self.closed = False

    @property
    def paths(self) -> list[str]:
        return [request.path for request in self.requests]

    async def send(self, request: Request) -> Response:
        status, body, headers = await self._next(request)
        return Response(status, headers, body)

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator["_ScriptedStream"]:
        status, body, headers = await self._next(request)
        try:
            yield _ScriptedStream(status, headers, body if isinstance(body, list) else [body])
        finally:
            self.cut += 1

    async def close(self) -> None:
        self.closed = True

    async def _next(self, request: Request) -> tuple[int, Any, CIMultiDict[str]]:
        self.requests.append(request)
        self.times.append(asyncio.get_running_loop().time())
        assert self.script, f"nobody expected {request}"
        step = self.script.pop(0)
        while isinstance(step, int | float):
            await asyncio.sleep(step)
            step = self.script.pop(0)
        if isinstance(step, BaseException):
            raise step
        status, body, *headers = step
        if isinstance(body, dict):
            body = json.dumps(body).encode()
        return status, body, CIMultiDict(*headers)


class _ScriptedStream:
    def __init__(self, status: int, headers: CIMultiDict[str], script: list[Any]) -> None:
        self.status = status
        self.headers = headers
        self._script = list(script)

    async def read(self) -> bytes:
        while self._script:
            step = self._script.pop(0)
            if isinstance(step, int | float):
                await asyncio.sleep(step)
            elif isinstance(step, BaseException):
                raise step
            elif step:
                return step
        return b""


@pytest.fixture
def run() -> Callable[[Coroutine[Any, Any, Any]], Any]:
    """Run a coroutine to its end in virtual time."""

    def run(main: Coroutine[Any, Any, Any]) -> Any:
        with asyncio.Runner(loop_factory=JumpingLoop) as runner:
            return runner.run(main)

    return run


@pytest.fixture
def scripted() -> type[ScriptedServer]:
    """The class of servers that follow a script."""
    return ScriptedServer
