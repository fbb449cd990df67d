"""`trimtab dev`: a local cluster with apps in it, until Ctrl-C."""

from __future__ import annotations

import asyncio
import errno
import logging
import sys
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from logging.handlers import MemoryHandler
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from trimtab import startup
from trimtab.cli.kubeconfigs import forget, place
from trimtab.cli.reloading import changed, files_of, marks_of, reload
from trimtab.cli.telling import in_colour, tell_events
from trimtab.errors import TrimtabError

if TYPE_CHECKING:
    from trimtab.client import Client, Config, Transport
    from trimtab.controller import App, Options
    from trimtab.local.cluster import Cluster

PORT: Final = 6443
_ADMIN: Final = "kubernetes-admin"
_MASTERS: Final = ("system:masters",)
_OLD: Final = "v1 Endpoints is deprecated"  # the loop that keeps them knows, and can do nothing about it
_HELD: Final = 1000  # lines of the log before there is a cluster
_log = logging.getLogger("trimtab.dev")


@dataclass(frozen=True, slots=True)
class Given:
    """What was asked for on the command line."""

    apps: Mapping[str, App]
    words: Mapping[str, Mapping[str, Sequence[str]]]
    """What was given for the options of each app, by the names of app and option."""
    port: int | None
    data_dir: Path | None
    kubeconfig: Path | None
    nodes: int
    load: Sequence[Path]
    kubernetes: str | None
    bundled: bool
    without: Sequence[str] = ()
    """Loops that are not to run, by their names."""


def start(given: Given) -> None:
    """Run until a signal comes."""
    started = time.perf_counter()
    startup.begin()
    from trimtab.client.program import run

    held = _hold_logs()
    try:
        run(_dev(given, started, held))
    finally:
        _show_logs(held)


async def _dev(given: Given, started: float, held: MemoryHandler) -> None:
    from trimtab.cli.manifests import read_manifests
    from trimtab.manager import stop_on_signals

    objects = [obj for path in given.load for obj in read_manifests(path)]
    stopping = asyncio.Event()
    with stop_on_signals(stopping):
        async with AsyncExitStack() as stack:
            opened = await stack.enter_async_context(_real(given) if given.kubernetes else _local(given))
            _greet(opened, given, time.perf_counter() - started)
            startup.begun()
            _show_logs(held)
            if given.load:
                await _load(opened.client, objects)
            apps = Apps(opened, given)
            tasks = [
                asyncio.create_task(apps.run()),
                asyncio.create_task(tell_events(opened.client, _say, colour=in_colour(sys.stdout))),
                asyncio.create_task(opened.failed()),
            ]
            stopped = asyncio.create_task(stopping.wait())
            try:
                done, _ = await asyncio.wait({stopped, *tasks}, return_when=asyncio.FIRST_COMPLETED)
                for task in done - {stopped}:
                    await task
            finally:
                for task in (stopped, *tasks):
                    task.cancel()
                await asyncio.gather(stopped, *tasks, return_exceptions=True)
                await apps.stop()
    _say("stopped")


def _hold_logs() -> MemoryHandler:
    """Keep what is logged, until it can be shown: to set that up takes long."""
    held = MemoryHandler(_HELD, flushLevel=logging.CRITICAL + 1)
    root = logging.getLogger()
    root.addHandler(held)
    root.setLevel(logging.INFO)
    for name in ("trimtab.manager", "trimtab.client"):  # its own beginning and end is no news here
        logging.getLogger(name).setLevel("WARNING")
    logging.getLogger("trimtab.client").addFilter(lambda record: _OLD not in record.getMessage())
    return held


def _show_logs(held: MemoryHandler) -> None:
    """Show what is logged from here on, and what was so far."""
    from trimtab.manager import configure_logs

    root = logging.getLogger()
    if held in root.handlers:
        configure_logs("console", "info")
        held.setTarget(root.handlers[0])
        held.close()


# The cluster


@dataclass(slots=True)
class Opened:
    """A cluster that answers."""

    what: str
    url: str
    kubeconfig: Path
    kept: str
    client: Client
    way: Callable[[], Config | Transport]
    """How apps reach it."""
    failed: Callable[[], Any]
    """Ends when the cluster cannot go on."""


@asynccontextmanager
async def _local(given: Given) -> AsyncGenerator[Opened]:
    """The one in this process."""
    from trimtab.apiserver.keys import Keys
    from trimtab.local.cluster import Cluster
    from trimtab.local.loops.root_ca import CERTIFICATE

    folder = given.data_dir
    keys = Keys.make() if folder is None else _in_folder(folder)
    options = {CERTIFICATE: keys.authority.certificate.decode()}
    cluster = Cluster(nodes=given.nodes, data_dir=folder, options=options, loops=_loops(given.without))
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(_listening(cluster, keys, given.port))
        kubeconfig = place(given.kubeconfig, url)
        await stack.enter_async_context(cluster)
        _write(keys.write_kubeconfig, kubeconfig, url, _ADMIN, _MASTERS)
        if folder is None:  # it leads nowhere when this ends
            stack.callback(forget, kubeconfig, url)
        kept = "nothing is kept" if folder is None else f"all is kept in {folder}"
        what = f"Kubernetes {cluster.server.facts.version['gitVersion'].removeprefix('v')}, simulated"
        yield Opened(what, url, kubeconfig, kept, cluster.client, cluster.transport, cluster.failed)


def _loops(without: Sequence[str]) -> list[str]:
    from trimtab.local.loops import LOOPS

    for name in without:
        if name not in LOOPS:
            raise TrimtabError(f"there is no loop {name!r} to go without: there are {', '.join(LOOPS)}")
    return [name for name in LOOPS if name not in without]


def _in_folder(folder: Path) -> Any:
    from trimtab.apiserver.keys import Keys

    try:
        return Keys.in_folder(folder)
    except OSError as error:
        raise TrimtabError(f"cannot keep data in {folder}: {error.strerror}") from error


@asynccontextmanager
async def _listening(cluster: Cluster, keys: Any, port: int | None) -> AsyncGenerator[str]:
    """Serve the cluster on loopback: on this port, or where none was asked for on any if the usual one is taken."""
    from trimtab.apiserver.program import serving

    stack = AsyncExitStack()
    try:
        secure, _ = await stack.enter_async_context(serving(cluster.server, keys, PORT if port is None else port))
    except OSError as error:
        if port is not None or error.errno != errno.EADDRINUSE:
            why = "it is taken" if error.errno == errno.EADDRINUSE else error.strerror
            raise TrimtabError(f"cannot listen on port {port if port is not None else PORT}: {why}") from error
        secure, _ = await stack.enter_async_context(serving(cluster.server, keys, 0))
    async with stack:
        yield secure.url


@asynccontextmanager
async def _real(given: Given) -> AsyncGenerator[Opened]:
    """A real control plane with kwok's nodes."""
    from trimtab.client import Client, load_config
    from trimtab.testing.control_plane import WITH_NODES, ControlPlane

    version = None if given.kubernetes == "real" else given.kubernetes
    wanted = ",".join(("*", *(f"-{name}" for name in given.without)))
    flags = {"kube-controller-manager": [f"--controllers={wanted}"]} if given.without else {}
    plane = ControlPlane(version, components=WITH_NODES, nodes=given.nodes, flags=flags, announce=_say)
    await asyncio.to_thread(plane.start)
    kubeconfig: Path | None = None
    try:
        kubeconfig = place(given.kubeconfig, plane.url)
        _write(Path.write_bytes, kubeconfig, plane.kubeconfig().read_bytes())
        config = load_config(kubeconfig)
        async with Client(config) as client:
            what = f"Kubernetes {plane.version}, real, with kwok's nodes"
            yield Opened(what, plane.url, kubeconfig, "nothing is kept", client, lambda: config, asyncio.Event().wait)
    finally:
        if kubeconfig is not None:
            forget(kubeconfig, plane.url)
        await asyncio.to_thread(plane.stop)


def _write(write: Callable[..., Any], path: Path, *more: Any) -> None:
    try:
        write(path, *more)
    except OSError as error:
        raise TrimtabError(f"cannot write the kubeconfig {path}: {error.strerror}") from error


async def _load(client: Client, objects: list[dict[str, Any]]) -> None:
    from trimtab.cli.manifests import apply_manifests

    count = await apply_manifests(client, objects)
    _say(f"loaded {count} object{'s' if count != 1 else ''}")


# The apps


class Apps:
    """The apps at work. They begin anew when a file of theirs changes."""

    def __init__(self, opened: Opened, given: Given) -> None:
        self._opened = opened
        self._given = given
        self._apps = dict(given.apps)
        self._stopping = asyncio.Event()
        self._running: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Run them, and load them anew when their files change, until cancelled."""
        self._begin()
        words = list(self._apps)
        marks = marks_of(files_of(words))
        while marks:
            await changed(marks)
            before = marks_of(files_of(words))  # what changes while it is read has changed
            await self._reload(words)
            marks = {**marks_of(files_of(words)), **before}
        await asyncio.Event().wait()  # there is nothing that could change

    async def stop(self) -> None:
        """Let them finish what they have in hand."""
        if self._running is not None:
            self._stopping.set()
            await asyncio.wait({self._running})
            self._running = None

    async def _reload(self, words: list[str]) -> None:
        try:
            fresh = {word: reload(word) for word in words}
        except TrimtabError as error:
            _say(_red(f"{error}; what ran before goes on"))
            return
        await self.stop()
        self._apps = fresh
        _say(f"{', '.join(app.name for app in fresh.values())} changed, and begins anew")
        self._begin()

    def _begin(self) -> None:
        apps = list(self._apps.values())
        if self._given.bundled:
            apps += _bundled({app.name for app in apps})
        if apps:
            self._stopping = asyncio.Event()
            self._running = asyncio.create_task(self._work(apps), name="trimtab: apps")

    async def _work(self, apps: list[App]) -> None:
        """Run the apps; that one cannot go on is told, and a change of its file may mend it."""
        from trimtab.manager import Manager

        try:
            manager = Manager(apps, self._opened.way(), options=_options(apps, self._given.words), grace=2.0)
            await manager.run(self._stopping)
        except TrimtabError as error:
            _say(_red(f"error: {error}"))
        except Exception:  # noqa: BLE001 - of an app; the cluster goes on
            _log.exception("the apps cannot go on")


def _bundled(names: set[str]) -> list[App]:
    """Those that come with Trimtab, and that no loop of the cluster is."""
    from trimtab.cli.apps import bundled, load_app
    from trimtab.local.loops import LOOPS

    loops = {module.rpartition(".")[2].replace("_", "-") for module in LOOPS.values()}
    return [load_app(name) for name in bundled() if name not in names | loops]


def _options(apps: list[App], words: Mapping[str, Mapping[str, Sequence[str]]]) -> Options:
    """What was given for options of apps, also where those were loaded anew since."""
    from trimtab.controller import Options

    return Options(
        {
            app.options[name]: app.options[name].read(given)
            for app in apps
            for name, given in words.get(app.name, {}).items()
            if name in app.options
        }
    )


# What is said


def _greet(opened: Opened, given: Given, seconds: float) -> None:
    colour = in_colour(sys.stdout)
    nodes = f"{given.nodes} node{'s' if given.nodes != 1 else ''}"
    head = f"{opened.what}: ready in {seconds:.2f} s, {nodes}, {opened.kept}"
    path = opened.kubeconfig
    shown = path if path.is_absolute() else f"$PWD/{path}"
    apps = ", ".join(app.name for app in given.apps.values())
    _say(click.style(head, bold=True) if colour else head)
    _say(f"  reach it    export KUBECONFIG={shown}")
    _say("              kubectl get nodes")
    _say(f"  server      {opened.url}")
    if apps:
        _say(f"  runs        {apps}; they begin anew when their files change")
    if given.bundled:
        also = ", ".join(app.name for app in _bundled({app.name for app in given.apps.values()}))
        _say(f"  comes with  {also}; --no-bundled leaves them out")
    _say("  Ctrl-C ends it")


def _red(text: str) -> str:
    return click.style(text, fg="red") if in_colour(sys.stdout) else text


def _say(text: str) -> None:
    click.echo(text)
    sys.stdout.flush()
