"""`Manager`: a process that runs apps. It puts the parts together; `lifecycle.py` says in which order they run."""

from __future__ import annotations

import asyncio
import copy
import dataclasses
import logging
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from urllib.parse import urlsplit

from prometheus_client import CollectorRegistry

from trimtab.cache import Informers
from trimtab.cache.metrics import CacheCollector
from trimtab.client import ApiError, Client, Config, Retry, Transport, load_config
from trimtab.controller import App, ControllerCollector, Controllers, Options
from trimtab.controller.events import EventsCollector, Recorder
from trimtab.controller.metrics import Numbers
from trimtab.controller.sink import EventSink
from trimtab.errors import TrimtabError
from trimtab.manager.election import Timing
from trimtab.manager.fence import Fence
from trimtab.manager.health import Health, caches_synced, watches_alive
from trimtab.manager.leading import LeaderElector, LeadershipLost
from trimtab.manager.lifecycle import Lifecycle, Part, Phase, Stop
from trimtab.manager.metrics import LeaderCollector, answer_metrics, process_registry
from trimtab.manager.parts import Ready, lead, record_events, work
from trimtab.manager.requests import RequestCollector
from trimtab.manager.serving import Address, Answerer, Asked, HttpServer, ListenError, Said
from trimtab.queue import WorkQueue
from trimtab.queue.metrics import QueueCollector

_log = logging.getLogger("trimtab.manager")

LISTEN = Address("127.0.0.1", 8080)
GRACE = 30.0
SYNC_TIMEOUT = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderElection:
    """By which Lease one of several processes is chosen. Without a name it is that of the apps."""

    name: str = ""
    namespace: str | None = None
    timing: Timing = field(default_factory=Timing)


class Manager:
    """Runs apps in this process: `await Manager(app).run()`, until `stopping` is set or something fails.

    `config` is a Config or a Transport, as for a client. With `leader_election` only whoever holds the lease works, and
    all writes pass a fence. `listen` is where health and metrics are; without, LISTEN, or any port where that is
    taken; False is nowhere. `workers` is how many a controller has, by its name, or under "" for all. `clock` is what
    controllers wait by, `now` what time it is for them and in events.

    What else a process needs is added before `run`: a part (`add`), a check (`health`), a collector (`registry`), pages
    (`answerers`).
    """

    def __init__(
        self,
        apps: App | Iterable[App],
        config: Config | Transport | None = None,
        *,
        namespaces: Iterable[str] = (),
        leader_election: LeaderElection | None = None,
        listen: Address | bool | None = None,
        options: Options | None = None,
        workers: Mapping[str, int] | None = None,
        grace: float = GRACE,
        sync_timeout: float = SYNC_TIMEOUT,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] | None = None,
    ) -> None:
        given = [apps] if isinstance(apps, App) else list(apps)
        self.apps = _with_workers(_distinct(given), workers or {})
        self.registry: CollectorRegistry = process_registry()
        self.health = Health()
        self.answerers: list[Answerer] = [self._answer_probe, self._answer_metrics]
        self.elector: LeaderElector | None = None
        self.address: Address | None = None
        """Where it listens, once it does."""
        self._config = config
        self._namespaces = frozenset(namespaces)
        self._election = leader_election
        self._listen = listen
        self._options = options or Options()
        self._sync_timeout = sync_timeout
        self._clock = clock
        self._now = now or (lambda: datetime.now(UTC))
        self._lifecycle = Lifecycle(grace=grace, urgent=LeadershipLost)
        self._requests = RequestCollector()
        self._client: Client | None = None
        self._recorder: Recorder | None = None
        self._informers: Informers | None = None
        self._controllers: list[Controllers] = []
        self._queues: dict[str, WorkQueue] = {}
        self._numbers: dict[str, Numbers] = {}

    @property
    def client(self) -> Client:
        """The client of this process: its writes pass the fence. There once `run` began."""
        if self._client is None:
            raise TrimtabError("the manager does not run yet: its client is there for parts that it starts")
        return self._client

    @property
    def events(self) -> EventSink:
        """Takes events for people, from controllers and from parts. There once `run` began."""
        if self._recorder is None:
            raise TrimtabError("the manager does not run yet: its events are there for parts that it starts")
        return self._recorder

    @property
    def informers(self) -> Informers:
        """The informers that all apps share. There for what starts after the caches."""
        if self._informers is None:
            raise TrimtabError("the caches have not been started: add what needs them to a later phase")
        return self._informers

    @property
    def controllers(self) -> tuple[Controllers, ...]:
        """The apps at work, one each. There for what starts after the caches."""
        return tuple(self._controllers)

    def add(self, phase: Phase, part: Part) -> None:
        """Have something else run in this process; before `run`."""
        self._lifecycle.add(phase, part)

    async def run(self, stopping: asyncio.Event | None = None) -> None:
        """Run until `stopping` is set, then stop in good order. What failed is raised; LeadershipLost among it."""
        if self._client is not None:
            raise TrimtabError("this manager ran already: make another one to run its apps again")
        config = load_config() if self._config is None else self._config
        host = urlsplit(config.server).netloc.rpartition("@")[2] if isinstance(config, Config) else "in-process"
        plain = _client(config, lambda inner: self._requests.count(inner, host))
        recorder = self._recorder = Recorder(
            plain, now=self._now
        )  # not fenced: who stops leading has something to tell
        elector, lease_client = None, None
        if self._election is not None:
            # Connections of its own: a renewal must not wait for one behind a hundred slow requests.
            lease_client = _client(config, lambda inner: self._requests.count(inner, host), Retry(attempts=1))
            elector = self.elector = self._make_elector(lease_client, self._election, recorder)
        self._client = plain.through(lambda inner: Fence(inner, elector)) if elector is not None else plain
        self._set_up(recorder, elector)
        server = config.server if isinstance(config, Config) else "a server in this process"
        _log.info("starting %s against %s", ", ".join(app.name for app in self.apps), server)
        try:
            await self._lifecycle.run(stopping or asyncio.Event())
        finally:
            await plain.close()
            if lease_client is not None:
                await lease_client.close()
            _log.info("stopped")

    # The parts

    def _set_up(self, recorder: Recorder, elector: LeaderElector | None) -> None:
        self.health.live["watches"] = watches_alive(lambda: self._informers)
        self.health.ready["caches"] = caches_synced(lambda: self._informers)
        for collector in (
            self._requests,
            EventsCollector(recorder),
            QueueCollector(self._queues),
            ControllerCollector(self._numbers),
            *(self._options.once(make) for app in self.apps for make in app.collectors),
        ):
            self.registry.register(collector)
        add = self._lifecycle.add
        add(Phase.EVENTS, Part("events", partial(record_events, recorder)))
        if self._listen is not False:
            add(Phase.HEALTH, Part("health and metrics", self._serve))
        add(Phase.CACHES, Part("caches", partial(self._cache, recorder)))
        if elector is not None:
            self.health.ready["leader-election"] = lambda: elector.problem
            self.registry.register(LeaderCollector(elector))
            add(Phase.ELECTION, Part("leader election", partial(lead, elector)))
        for number, app in enumerate(self.apps):
            add(
                Phase.LEADING,
                Part(f"app {app.name}", partial(self._work, number), at_work=partial(self._at_work, number)),
            )

    async def _serve(self, ready: Ready, stop: Stop) -> None:
        server = HttpServer(*self.answerers)
        if isinstance(self._listen, Address):
            self.address = await server.start(self._listen)
        else:
            try:
                self.address = await server.start(LISTEN)
            except ListenError as error:  # two on one laptop; nobody asked for this very port
                _log.info("%s cannot be had (%s): taking any free port", LISTEN, error.why)
                self.address = await server.start(Address(LISTEN.host, 0))
        _log.info("health and metrics at http://%s/metrics", self.address)
        ready()
        await stop.wait()
        await server.stop()

    async def _cache(self, recorder: Recorder, ready: Ready, stop: Stop) -> None:
        try:
            await self.client.version()
        except ApiError as error:  # it answers; whether it lets us do what we need will be seen
            _log.debug("%s", error)
        async with Informers(self.client) as informers:
            self._informers = informers
            self.registry.register(CacheCollector(informers))
            for app in self.apps:
                controllers = Controllers(
                    app,
                    informers,
                    events=recorder,
                    options=self._options,
                    namespaces=self._namespaces,
                    clock=self._clock,
                    now=self._now,
                )
                self._controllers.append(controllers)
                controllers.start()
                for name, queue in controllers.queues.items():
                    label = name if name not in self._queues else f"{app.name}.{name}"
                    self._queues[label], self._numbers[label] = queue, controllers.numbers[name]
            for controllers in self._controllers:
                await controllers.synced(self._sync_timeout)
            ready()
            await stop.wait()
            for controllers in self._controllers:
                controllers.close()

    async def _work(self, number: int, ready: Ready, stop: Stop) -> None:
        await work(self._controllers[number], ready, stop)

    def _at_work(self, number: int) -> list[str]:
        return self._controllers[number].at_work

    # What it is asked

    def _answer_probe(self, asked: Asked) -> Said | None:
        answer = self.health.answer(asked.path, asked.query)
        return None if answer is None else Said(answer[0], answer[1].encode())

    def _answer_metrics(self, asked: Asked) -> Said | None:
        return answer_metrics(self.registry, asked)

    # What it is made of

    def _make_elector(self, client: Client, election: LeaderElection, events: EventSink) -> LeaderElector:
        name = election.name or "-".join(app.name for app in self.apps)[:253]
        return LeaderElector(client, name, namespace=election.namespace, timing=election.timing, events=events)


def _client(config: Config | Transport, wrap: Callable[[Transport], Transport], retry: Retry | None = None) -> Client:
    return Client(config, retry=retry).through(wrap)


def _distinct(apps: list[App]) -> list[App]:
    if not apps:
        raise TrimtabError("there is no app to run: give at least one")
    names = [app.name for app in apps]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise TrimtabError(f"two apps are called {twice}: they would take each other's fields; rename one")
    return apps


def _with_workers(apps: list[App], workers: Mapping[str, int]) -> tuple[App, ...]:
    """The apps with other numbers of workers than they declare. What was declared stays as it is."""
    known = {name for app in apps for name in app.controllers}
    unknown = [name for name in workers if name and name not in known]
    if unknown:
        raise TrimtabError(f"there is no controller {unknown[0]} to give workers to: there are {', '.join(known)}")

    def changed(app: App) -> App:
        other = copy.copy(app)
        other.controllers = {
            name: dataclasses.replace(one, workers=workers.get(name, workers.get("", one.workers)))
            for name, one in app.controllers.items()
        }
        return other

    return tuple(changed(app) for app in apps) if workers else tuple(apps)
