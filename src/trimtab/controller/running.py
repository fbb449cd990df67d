"""`Controllers`: an app at work. It opens what is declared, waits until that was read, and runs the workers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from random import Random
from typing import Any

from trimtab.cache import Cached, Informer, Informers, NotSynced, Registration
from trimtab.controller.app import App
from trimtab.controller.bridge import Bridge
from trimtab.controller.context import Surroundings
from trimtab.controller.declaration import Controller
from trimtab.controller.mappings import SelectedBy
from trimtab.controller.metrics import Numbers
from trimtab.controller.options import Options
from trimtab.controller.reach import Reach
from trimtab.controller.reconciling import Reconciler
from trimtab.controller.routes import Gather, Mapped, Primary, mapped_keys, owner_keys
from trimtab.controller.sink import EventSink, NoEvents
from trimtab.controller.writes import Writer
from trimtab.errors import TrimtabError
from trimtab.queue import WorkQueue

SYNC_TIMEOUT = 120.0
"""Seconds that a controller waits for the first state of what it reads."""


def _wall() -> datetime:
    return datetime.now(UTC)


class Controllers:
    """The controllers of an app over given informers: `start`, `await synced()`, `await run()`, `stop`.

    `start` opens the informers and follows them, so that keys gather in the queues; `run` works on them, and may begin
    much later, when this process leads. It knows nothing of processes: no signals, no HTTP, no leases.
    """

    def __init__(
        self,
        app: App,
        informers: Informers,
        *,
        events: EventSink | None = None,
        options: Options | None = None,
        namespaces: Iterable[str] = (),
        clock: Callable[[], float] = time.monotonic,
        random: Callable[[], float] | None = None,
        now: Callable[[], datetime] = _wall,
    ) -> None:
        self.app = app
        self.numbers: dict[str, Numbers] = {}
        """What each controller counts, by its name, for `ControllerCollector`."""
        self.queues: dict[str, WorkQueue] = {}
        """The queue of each controller, by its name."""
        self._informers = informers
        self._events = events or NoEvents()
        self._options = options or Options()
        self._namespaces = frozenset(namespaces)
        self._clock = clock
        self._now = now
        self._random = random or Random().random  # noqa: S311  # names reconciles, keeps no secret
        self._of_kind: dict[type[Any], Informer[Any]] = {}
        self._registrations: list[tuple[Controller, Informer[Any], Registration[Any]]] = []
        self._reconcilers: list[tuple[Controller, Reconciler]] = []
        self._bridge: Bridge | None = None
        self._workers: set[asyncio.Task[None]] = set()
        self._syncing: asyncio.Task[None] | None = None
        self._stopping: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Open the informers and follow them."""
        if self._bridge is not None:
            raise TrimtabError(f"app {self.app.name} was started already: make another Controllers to run it twice")
        if not self.app.controllers:
            raise TrimtabError(f"app {self.app.name} has no controllers: declare one with @app.controller(Kind)")
        self._bridge = Bridge()
        for controller in self.app.controllers.values():
            for kind in controller.seen:
                self._open(kind)
        for controller in self.app.controllers.values():
            self._set_up(controller, self._bridge)

    async def synced(self, timeout: float = SYNC_TIMEOUT) -> None:
        """Wait until all that is read was read, and all controllers were told of it. NotSynced says what is missing."""
        try:
            async with asyncio.timeout(timeout):
                for _, _, registration in self._registrations:
                    await registration.synced()
                for informer in self._of_kind.values():
                    await informer.synced()
        except TimeoutError:
            raise NotSynced(self._missing(timeout)) from None

    async def run(self) -> None:
        """Wait for `synced`, then work, until `stop`. What a worker cannot handle ends this and is raised."""
        if not await self._ready():
            return
        self._workers = {
            asyncio.create_task(reconciler.work(), name=f"trimtab: {controller.name} {number}")
            for controller, reconciler in self._reconcilers
            for number in range(controller.workers)
        }
        workers = set(self._workers)
        try:
            done, _ = await asyncio.wait(workers, return_when=asyncio.FIRST_EXCEPTION)
            failed = [worker for worker in done if not worker.cancelled() and worker.exception()]
        finally:
            await self._end(workers)
        if failed:
            raise failed[0].exception() or AssertionError

    def stop(self, drain: float = 0.0) -> None:
        """Take in nothing more, and end within so many seconds: what is queued is worked on until then, no longer.

        Without, what is being worked on is cancelled at once.
        """
        for queue in self.queues.values():
            queue.shut_down(drain=drain)
        if self._syncing is not None:
            self._syncing.cancel()  # nothing was begun that could be finished
        if self._stopping is None:
            self._stopping = asyncio.get_running_loop().call_later(drain, self._cancel)
        elif not drain:
            self._cancel()

    def close(self) -> None:
        """Follow the informers no longer."""
        for _, _, registration in self._registrations:
            registration.remove()
        for informer in self._of_kind.values():
            informer.close()
        self._registrations.clear()
        self._of_kind.clear()

    @property
    def at_work(self) -> list[str]:
        """What workers have in hand: a controller's name and a key each."""
        return [f"{controller.name} {key}" for controller, one in self._reconcilers for key in one.working]

    # Inner parts

    def _open(self, kind: type[Any]) -> None:
        if kind not in self._of_kind:
            namespaces = self._namespaces if kind.resource.namespaced else ()
            self._of_kind[kind] = self._informers.informer(kind, namespaces=namespaces)

    def _set_up(self, controller: Controller, bridge: Bridge) -> None:
        queue = WorkQueue(clock=self._clock, limiter=controller.limiter())
        reach = Reach(controller, self._of_kind)
        writer = Writer(self._informers, reach, controller.field_manager)
        around = Surroundings(
            controller, reach, writer, self._events, self._options, bridge, self._random, self._now, queue.retries
        )
        numbers = Numbers(controller.workers)
        primary = self._of_kind[controller.kind]
        reconciler = Reconciler(around, queue, primary.lister, self._informers.hot.read, numbers, self._clock)
        self.queues[controller.name] = queue
        self.numbers[controller.name] = numbers
        self._reconcilers.append((controller, reconciler))
        self._follow(controller, queue, writer, reconciler.gather if controller.gather else None)

    def _follow(self, controller: Controller, queue: WorkQueue, writer: Writer, gather: Gather | None) -> None:
        def forget(entry: Cached[Any]) -> None:
            writer.applied.forget(entry.kind, entry.namespace, entry.name)

        primary = self._of_kind[controller.kind]
        route = Primary(controller, queue, forget, gather)
        registration = route.follow(primary, name=controller.name, resync=controller.resync)
        self._registrations.append((controller, primary, registration))
        keys_of = {kind: owner_keys(controller.kind.resource) for kind in controller.owns}
        mapped = [*keys_of.items(), *((kind, mapped_keys(controller, kind, primary)) for kind in controller.watches)]
        for kind, keys in mapped:
            informer = self._of_kind[kind]
            by_labels = keys is keys_of.get(kind) or isinstance(controller.watches.get(kind), SelectedBy)
            registration = Mapped(kind, keys, queue, forget, gather, by_labels=by_labels).follow(
                informer, name=f"{controller.name} {kind.resource.kind}"
            )
            self._registrations.append((controller, informer, registration))

    def _missing(self, timeout: float) -> str:
        problems = dict.fromkeys(
            f"{watched.scope} ({watched.pulse.problem or 'the server has not sent all of it yet'})"
            for informer in self._of_kind.values()
            for watched in informer.watches
            if not watched.synced.is_set()
        )
        slow = dict.fromkeys(
            f"controller {controller.name} was not told of all {informer.kind.resource.kind}s"
            for controller, informer, registration in self._registrations
            if informer.has_synced and not registration.has_synced
        )
        return f"app {self.app.name} cannot begin: not read within {timeout:g} s: {'; '.join([*problems, *slow])}"

    def _cancel(self) -> None:
        if self._bridge is not None:
            self._bridge.close()
        for worker in self._workers:
            worker.cancel()

    async def _ready(self) -> bool:
        """Wait for `synced`; False where `stop` came first."""
        self._syncing = asyncio.create_task(self.synced())
        try:
            if self._stopping is not None:
                self._syncing.cancel()
            await self._syncing
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if self._stopping is None or (task is not None and task.cancelling()):
                raise
            return False
        finally:
            self._syncing.cancel()
        return True

    async def _end(self, workers: set[asyncio.Task[None]]) -> None:
        if self._stopping is not None:
            self._stopping.cancel()
        self._cancel()
        await asyncio.gather(*workers, return_exceptions=True)
        for _, reconciler in self._reconcilers:
            reconciler.close()
