"""The life of a process: in which order its parts start, and in which they stop.

    start   events → health → webhooks → caches → others → election → what needs leadership
    stop    what needs leadership → others → caches → webhooks → health → election (release) → events (flush)

A phase starts when all parts of the one before are ready; so caches are warm before leadership is waited for, and a
standby takes over fast. Stopping has a time for it all together: what is not done by then is cut. What releases the
lease and flushes the events comes after, and has seconds of its own.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, TypeAlias

_log = logging.getLogger("trimtab.manager")

_FIRST: Final = asyncio.FIRST_COMPLETED
_CUT_SECONDS: Final = 1.0  # for what was cancelled to end, and for what comes after it to stop
_SAY_SECONDS: Final = 1.0  # after which it is said what is waited for
_MOST_NAMES: Final = 5
LAST_SECONDS: Final = 5.0
"""For releasing the lease, and then for flushing the events."""


class Phase(Enum):
    """When a part starts. They start in this order."""

    EVENTS = "events"
    HEALTH = "health"
    WEBHOOKS = "webhooks"
    CACHES = "caches"
    OTHERS = "others"
    ELECTION = "election"
    LEADING = "leading"


_STOP: Final = (
    *(Phase.LEADING, Phase.OTHERS, Phase.CACHES, Phase.WEBHOOKS, Phase.HEALTH),
    *(Phase.ELECTION, Phase.EVENTS),
)
_AFTERWARDS: Final = (Phase.ELECTION, Phase.EVENTS)


@dataclass(slots=True)
class Stop:
    """What a part learns of being stopped."""

    asked: asyncio.Event = field(default_factory=asyncio.Event)
    seconds: float = 0.0
    """How long it may take; what takes longer is cancelled."""
    clean: bool = True
    """Whether all that had to stop before did so by itself."""

    async def wait(self) -> float:
        """Until it is asked to stop; then within these seconds."""
        await self.asked.wait()
        return self.seconds


Run: TypeAlias = Callable[[Callable[[], None], Stop], Awaitable[None]]
"""Runs until `stop` is asked for, and calls `ready` when what depends on it may start."""


@dataclass(slots=True, eq=False)
class Part:
    """Something that runs in a process. Where it ends or fails before it is asked to stop, the process stops."""

    name: str
    run: Run
    may_end: bool = False
    """Whether it may end before the process does."""
    at_work: Callable[[], Collection[str]] = tuple
    """What it has in hand, for people: what is waited for when it is to stop."""


@dataclass(slots=True, eq=False)
class _Running:
    part: Part
    task: asyncio.Task[None]
    ready: asyncio.Future[None]
    stop: Stop


class Lifecycle:
    """Starts parts phase by phase, waits for `stopping` or a failure, and stops them in reverse."""

    def __init__(self, *, grace: float = 30.0, urgent: type[Exception] | tuple[type[Exception], ...] = ()) -> None:
        self._parts: dict[Phase, list[Part]] = {phase: [] for phase in Phase}
        self._running: dict[Phase, list[_Running]] = {phase: [] for phase in Phase}
        self._grace = grace
        self._urgent = urgent  # failures after which what needs leadership may not go on for a moment

    def add(self, phase: Phase, part: Part) -> None:
        """Have it run; before `run` is called."""
        self._parts[phase].append(part)

    async def run(self, stopping: asyncio.Event) -> None:
        """Until `stopping` is set. A part that failed is raised, once the others were stopped."""
        failure: BaseException | None = None
        asked = asyncio.create_task(stopping.wait(), name="trimtab: stopping")
        try:
            failure = await self._live(asked)
        finally:
            asked.cancel()
            await self._stop()
        failure = failure or self._failure()
        if failure is not None:
            raise failure

    async def _live(self, asked: asyncio.Task[bool]) -> BaseException | None:
        """What ended it all: None where somebody asked for it."""
        for phase in Phase:
            starting = self._running[phase] = [_start(part) for part in self._parts[phase]]
            while not all(one.ready.done() for one in starting):
                await asyncio.wait({asked, *(one.ready for one in starting), *self._tasks()}, return_when=_FIRST)
                failure = self._failure()
                if failure is not None or asked.done():
                    return failure
        while not asked.done():
            if (failure := self._failure()) is not None:
                return failure
            await asyncio.wait({asked, *self._tasks()}, return_when=_FIRST)
        return None

    def _tasks(self, *phases: Phase) -> set[asyncio.Task[None]]:
        """Of the parts that run."""
        running = (one for phase in phases or Phase for one in self._running[phase])
        return {one.task for one in running if not one.task.done()}

    def _failure(self) -> BaseException | None:
        """What failed; of several, what is urgent."""
        found: list[BaseException] = []
        for one in (one for running in self._running.values() for one in running if one.task.done()):
            error = None if one.task.cancelled() else one.task.exception()
            if error is not None:
                found.append(error)
            elif not (one.part.may_end or one.stop.asked.is_set()):
                found.append(RuntimeError(f"{one.part.name} ended by itself"))
        return min(found, key=lambda error: not isinstance(error, self._urgent), default=None)

    async def _stop(self) -> None:
        now = asyncio.get_running_loop().time
        deadline, clean = now() + self._grace, True
        for phase in _STOP:
            least = 0.0 if phase is Phase.LEADING else LAST_SECONDS if phase in _AFTERWARDS else _CUT_SECONDS
            seconds = least if phase in _AFTERWARDS else max(least, deadline - now())
            for one in self._running[phase]:
                one.stop.seconds, one.stop.clean = seconds, clean
                one.stop.asked.set()
            late = await self._ended(phase, now() + seconds)
            if isinstance(self._failure(), self._urgent):
                deadline = now()
            if late:
                clean = False
                _log.warning("%s is cut: there is no more time to stop", self._described(late))
                for task in late:
                    task.cancel()
                _, left = await asyncio.wait(late, timeout=_CUT_SECONDS)
                if left:
                    _log.error("%s is abandoned: it goes on although it was cancelled", self._described(left))

    async def _ended(self, phase: Phase, deadline: float) -> set[asyncio.Task[None]]:
        """Wait for the parts of a phase; which of them still run. The loss of the lease is no time to wait."""
        now = asyncio.get_running_loop().time
        say: float | None = now() + _SAY_SECONDS
        election: set[asyncio.Task[None]] = set() if phase in _AFTERWARDS else self._tasks(Phase.ELECTION)
        while late := self._tasks(phase):
            if now() >= deadline or (phase is Phase.LEADING and isinstance(self._failure(), self._urgent)):
                return late
            if say is not None and now() >= say:
                say = None
                _log.info("waiting for %s, for %.0f s at most", self._described(late), deadline - now())
            until = deadline if say is None else min(say, deadline)
            await asyncio.wait(late | election, timeout=until - now(), return_when=_FIRST)
            election = {task for task in election if not task.done()}
        return set()

    def _described(self, tasks: set[asyncio.Task[None]]) -> str:
        """The parts that these tasks are, and what they have in hand."""
        parts = (one.part for running in self._running.values() for one in running if one.task in tasks)
        return ", ".join(sorted(_with_work(part) for part in parts))


def _with_work(part: Part) -> str:
    names = sorted(part.at_work())
    more = [f"{len(names) - _MOST_NAMES} more"] if len(names) > _MOST_NAMES else []
    return f"{part.name} ({', '.join([*names[:_MOST_NAMES], *more])})" if names else part.name


def _start(part: Part) -> _Running:
    ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    stop = Stop()

    def is_ready() -> None:
        if not ready.done():
            ready.set_result(None)

    async def run() -> None:
        try:
            await part.run(is_ready, stop)
        finally:
            is_ready()

    return _Running(part, asyncio.create_task(run(), name=part.name), ready, stop)
