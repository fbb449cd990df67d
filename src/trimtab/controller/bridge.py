"""From the threads of plain functions to the loop, on which everything else happens."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor, Future
from threading import get_ident, local
from typing import Any, Final, TypeVar

from trimtab.errors import TrimtabError

T = TypeVar("T")
_LOOK: Final = 1.0  # seconds after which a thread looks whether the loop that it waits for is still there


class _Call:
    """One function in a thread."""

    __slots__ = ("given_up",)

    def __init__(self) -> None:
        self.given_up = False  # it has taken too long


class Bridge:
    """Knows the loop and its thread. The cache, the queue and the client are used in that thread alone."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.thread = get_ident()
        self._in_thread = local()  # the call that a thread runs
        self._closed = False

    async def run(self, executor: Executor, function: Callable[..., T], *args: Any) -> T:
        """Run a plain function in a thread.

        A thread cannot be stopped. Where this is cancelled, whatever the function asks of its context raises from then
        on, and its end is waited for: nobody else may work on its key before that.
        """
        call = _Call()

        def work() -> T:
            self._in_thread.call = call
            return function(*args)

        begun = executor.submit(contextvars.copy_context().run, work)
        future = asyncio.wrap_future(begun)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            if not begun.cancel():
                call.given_up = True
                while not future.done() and not self._closed:
                    await asyncio.wait([future])
                if future.done():
                    future.exception()  # nobody wants it any more
            raise

    def close(self) -> None:
        """Wait for no thread any more."""
        self._closed = True

    def call(self, function: Callable[[], T]) -> T:
        """Have the loop call a function, and wait for what it returns."""
        self._check()
        future: Future[T] = Future()

        def run() -> None:
            try:
                future.set_result(function())
            except BaseException as error:  # noqa: BLE001  # it is the caller's, in the other thread
                future.set_exception(error)

        self._loop.call_soon_threadsafe(run)
        return self._result(future)

    def wait(self, awaitable: Awaitable[T]) -> T:
        """Have the loop run something, and wait for its result."""
        try:
            self._check()
        except BaseException:
            if asyncio.iscoroutine(awaitable):
                awaitable.close()  # it will not be awaited, and that is said already
            raise

        async def run() -> T:
            return await awaitable

        return self._result(asyncio.run_coroutine_threadsafe(run(), self._loop))

    def _check(self) -> None:
        if get_ident() == self.thread:
            raise TrimtabError("ctx.wait is for plain functions, which run in threads: here, await")
        call: _Call | None = getattr(self._in_thread, "call", None)
        if call is not None and call.given_up:
            raise TimeoutError("this reconcile took too long and was given up: nothing more is read or written for it")

    def _result(self, future: Future[T]) -> T:
        while True:
            try:
                return future.result(_LOOK)
            except TimeoutError:
                if future.done():
                    return future.result()
                if self._loop.is_closed():
                    raise TrimtabError("the process ends: nothing can be read or written any more") from None
