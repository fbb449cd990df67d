"""The loop: one worker, one key, and the user's function."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from trimtab.cache import Cached, Lister
from trimtab.client import ApiError, TransportError
from trimtab.controller.context import Context, Surroundings
from trimtab.controller.deadline import Deadline
from trimtab.controller.declaration import DeclarationError, Finalizer
from trimtab.controller.finalizers import Step, hold, next_step, release
from trimtab.controller.metrics import Numbers
from trimtab.controller.results import Requeue, Result, Terminal
from trimtab.errors import TrimtabError, one_line
from trimtab.queue import AsyncWorkQueue, Cause, Item, What, WorkQueue

_PANICS: Final = (ArithmeticError, AssertionError, AttributeError, LookupError, NameError, TypeError, RecursionError)
"""What only a mistake in the program raises: Go would panic."""


_GATHER_TIMES: Final = 4.0  # so a fifth of the time is spent on looking, at the most
_LONGEST_GATHER: Final = 2.0


class ReconcileTimeout(TrimtabError):
    """A reconcile took longer than its controller allows."""


class Interrupted(TrimtabError):
    """Something that a reconcile waited for was cancelled, and not the reconcile itself."""


class Reconciler:
    """Works on the keys of one controller. `work` is one worker: several may run."""

    def __init__(
        self,
        around: Surroundings,
        queue: WorkQueue,
        lister: Lister[Any],
        read: Callable[[Cached[Any], type[Any]], Any],
        numbers: Numbers,
        clock: Callable[[], float],
    ) -> None:
        self._around = around
        self._controller = around.controller
        self._queue = queue
        self._waiting = AsyncWorkQueue(queue)
        self._lister = lister
        self._read = read
        self._numbers = numbers
        self._clock = clock
        self._threads: ThreadPoolExecutor | None = None
        self._slow: dict[str, float] = {}  # how long the last look took, where that was long
        self.working: dict[str, bool] = {}
        """The keys at work, and whether a plain function works on them, in a thread."""
        self._is_async = _is_async(self._controller.function)
        self._kind = self._controller.kind.resource.kind

    async def work(self) -> None:
        """Take one key after the other, until the queue is shut down and empty."""
        queue, numbers, clock = self._queue, self._numbers, self._clock
        while (item := await self._waiting.get()) is not None:
            started = clock()
            numbers.active += 1
            self.working[item.key] = False
            try:
                await self._attempt(item)
            finally:
                del self.working[item.key]
                numbers.active -= 1
                took = clock() - started
                numbers.took(took)
                if self._controller.gather:
                    self._note_slow(item.key, took)
                queue.done(item.key)

    def gather(self, key: str) -> float:
        """How long what concerns a key waits for more of the same: longer where the last look at it took long.

        So whoever owns thousands, which all change, does not spend its time on looking at them again and again.
        """
        least = self._controller.gather
        return least if not self._slow else max(least, min(_GATHER_TIMES * self._slow.get(key, 0.0), _LONGEST_GATHER))

    def _note_slow(self, key: str, took: float) -> None:
        if took * _GATHER_TIMES > self._controller.gather:
            self._slow[key] = took
        else:
            self._slow.pop(key, None)

    def close(self) -> None:
        """Let go of the threads, without waiting for what runs in them."""
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)

    async def _attempt(self, item: Item) -> None:
        timeout = self._controller.timeout
        ctx = Context(self._around, item)
        ctx.enter()
        deadline: asyncio.Timeout | None = None
        watch: Deadline | None = None
        try:
            if timeout is None:
                answer = await self._reconcile(ctx)
            else:
                watch = self._watch(ctx, timeout)
                async with asyncio.timeout(timeout) as deadline:
                    answer = await self._reconcile(ctx)
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            interrupted = Interrupted(f"{self._controller.name} {item.key}: what it waited for was cancelled")
            interrupted.__cause__ = error
            self._failed(ctx, item, interrupted)
        except Exception as error:  # noqa: BLE001  # a user's function: it may raise anything
            if deadline is not None and deadline.expired() and isinstance(error, TimeoutError):
                late = ReconcileTimeout(f"{self._controller.name} {item.key} took longer than {timeout:g} s")
                late.__cause__ = error
                self._failed(ctx, item, late)
            else:
                self._failed(ctx, item, error)
        else:
            self._settle(ctx, item, answer)
        finally:
            if watch is not None:
                watch.end(timed_out=deadline is not None and deadline.expired())

    def _watch(self, ctx: Context, timeout: float) -> Deadline:
        """Count that a reconcile takes too long when it does, and tell of one that does not end then."""

        def passed() -> None:
            self._numbers.timeouts += 1

        def goes_on() -> None:
            why = "its thread cannot be stopped" if self.working[ctx.key] else "it ignores that it was cancelled"
            text = (
                f"takes longer than {timeout:g} s, and goes on: {why}; nobody else works on this object before it ends"
            )
            ctx.log.warning(text)

        return Deadline(timeout, lambda: self.working[ctx.key], passed, goes_on)

    # What is to be done with a key

    async def _reconcile(self, ctx: Context) -> Result | None:
        entry = self._entry(ctx.key)
        if entry is None:
            return await self._gone(ctx)
        controller, finalizer = self._controller, self._controller.finalizer
        ctx.obj = obj = self._read(entry, controller.kind)
        if controller.where is None and finalizer is None:
            return await self._call(controller.function, obj, ctx)
        step = next_step(
            wanted=controller.where is None or controller.where.wants(entry),
            deleting=entry.deleting,
            held=None if finalizer is None else finalizer.name in obj.metadata.finalizers,
        )
        match step:
            case Step.FORGET:
                return await self._gone(ctx)
            case Step.LEAVE:
                return None
            case Step.CLEAN_UP:
                assert finalizer is not None
                return await self._clean_up(ctx, obj, finalizer)
            case Step.HOLD:
                assert finalizer is not None
                if not await hold(self._around.writer, obj, finalizer.name):
                    return Requeue()  # it is on its way out, or gone: the cache will know soon
                entry = self._entry(ctx.key)
                if entry is None:
                    return await self._gone(ctx)
                ctx.obj = obj = self._read(entry, controller.kind)
            case Step.RECONCILE:
                pass
        return await self._call(controller.function, obj, ctx)

    async def _gone(self, ctx: Context) -> Result | None:
        self._slow.pop(ctx.key, None)
        gone = self._controller.gone
        return None if gone is None else await self._call(gone, ctx.key, ctx)

    async def _clean_up(self, ctx: Context, obj: Any, finalizer: Finalizer[Any]) -> Result | None:
        try:
            answer = await self._call(finalizer.cleanup, obj, ctx)
        except Exception as error:
            ctx.event("Warning", "CleanupFailed", _why(finalizer, error), action="CleanUp")
            raise
        if answer is not None:
            if isinstance(answer, Terminal):
                ctx.event("Warning", "CleanupFailed", _why(finalizer, answer), action="CleanUp")
            return answer
        if not await release(self._around.writer, obj, finalizer.name):
            return Requeue()
        ctx.log.info("cleaned up, and took the finalizer off", finalizer=finalizer.name)
        return None

    async def _call(self, function: Callable[..., Any], what: Any, ctx: Context) -> Any:
        if self._is_async if function is self._controller.function else _is_async(function):
            return await function(what, ctx)
        if self._threads is None:
            self._threads = ThreadPoolExecutor(self._controller.workers, f"trimtab-{self._controller.name}")
        self.working[ctx.key] = True
        answer = await self._around.bridge.run(self._threads, function, what, ctx)
        self.working[ctx.key] = False
        return await answer if inspect.isawaitable(answer) else answer

    def _entry(self, key: str) -> Cached[Any] | None:
        namespace, _, name = key.rpartition("/")
        return self._lister.entry(name, namespace=namespace or None)

    # What came of it

    def _settle(self, ctx: Context, item: Item, answer: object) -> None:
        queue, results, key = self._queue, self._numbers.results, item.key
        if answer is None:
            queue.forget(key)
            results["success"] += 1
        elif isinstance(answer, Requeue):
            if answer.after is None:
                results["requeue"] += 1
                queue.add_rate_limited(key, self._cause(item, "requeue"), priority=item.priority)
            else:
                results["requeue_after"] += 1
                queue.forget(key)
                queue.add_after(key, answer.after, self._cause(item, "requeue"), priority=item.priority)
        elif isinstance(answer, Terminal):
            self._failed(ctx, item, answer)
        else:
            text = (
                f"{self._controller.name} returned {one_line(repr(answer))}: return None, requeue(...) or terminal(...)"
            )
            self._failed(ctx, item, DeclarationError(text))

    def _failed(self, ctx: Context, item: Item, error: BaseException) -> None:
        self._numbers.results["error"] += 1
        retries = self._queue.retries(item.key)
        said: dict[str, Any] = {"error": str(error)}
        if unforeseen := _unforeseen(error):
            said["exc_info"] = unforeseen
        if isinstance(error, Terminal | DeclarationError):
            self._numbers.terminal += 1
            self._queue.forget(item.key)
            what = "a change" if isinstance(error, Terminal) else "a change of the program"
            text = f"failed for good: only {what} will help"
            ctx.log.error(text, **said)
        else:
            self._numbers.panics += isinstance(error, _PANICS)
            self._queue.add_rate_limited(item.key, self._cause(item, "retry"), priority=item.priority)
            ctx.log.error("failed, and is tried again", retries=retries, causes=str(item.causes), **said)
        if unforeseen is None:
            ctx.log.debug("where it failed", exc_info=error)

    def _cause(self, item: Item, what: What) -> Cause:
        return Cause(self._kind, item.key, "", (what,))


def _is_async(function: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004  # of objects that are called


def _unforeseen(error: BaseException) -> BaseException | None:
    """What of a failure needs a traceback: not what was said on purpose, nor what the server or the network did.

    Those say which request it was, and while a server is away, every key fails so. What is declared or answered
    wrongly says how it should be.
    """
    if isinstance(error, Terminal):
        return None if error.__cause__ is None else _unforeseen(error.__cause__)
    return None if isinstance(error, ApiError | TransportError | DeclarationError) else error


def _why(finalizer: Finalizer[Any], error: BaseException) -> str:
    return f"{finalizer.name} stays on, because cleaning up failed: {one_line(str(error) or type(error).__name__)}"
