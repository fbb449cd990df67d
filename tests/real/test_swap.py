"""Kubernetes' own controller manager and scheduler take over from our loops, on the API server inside: all goes on.

What our loops made is theirs from then on: no Pod is made anew, no revision is told twice, and what follows is what
would have come of it without them.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path

from tests.scenarios.observing import Observed
from tests.scenarios.playing import play
from tests.scenarios.reading import scenarios
from tests.scenarios.servers import NODES, REAL, locally
from tests.scenarios.watching import watched

from trimtab.apiserver.keys import Keys
from trimtab.apiserver.program import serving
from trimtab.apiserver.server import Server
from trimtab.client import Client
from trimtab.controller import App
from trimtab.local import LocalTransport
from trimtab.local.loops import load_loops
from trimtab.local.nodes.kubelet import add_nodes
from trimtab.local.nodes.kubelet import app as kubelet
from trimtab.local.scheduling.scheduler import app as scheduler
from trimtab.manager import Manager, Phase
from trimtab.testing import binaries, processes
from trimtab.testing.components import Files, command
from trimtab.testing.loopback import LocalServer, free_ports

THEIRS = {"kube-controller-manager": "/healthz", "kube-scheduler": "/readyz"}
LEFT_OUT = ("terminatingReplicas", "fewest ready since")  # 1.34 does not count the one; the other is a matter of speed
SCRIPT = """
== a Deployment, a StatefulSet and a Job change hands
unseen  event
create deploy web {spec: {replicas: 3}}
wait deploy web availableReplicas=3
image deploy web nginx:2
wait deploy web updatedReplicas=3 replicas=3 availableReplicas=3 terminatingReplicas=0
create sts db {spec: {replicas: 3}}
wait sts db availableReplicas=3
image sts db nginx:2
wait sts db updatedReplicas=3 currentReplicas=3 availableReplicas=3
create job work {spec: {completions: 4, parallelism: 2, completionMode: Indexed,
  template: {metadata: {annotations: {trimtab.dev/complete: never}}}}}
wait job work active=2 ready=2
annotate app=work#0 trimtab.dev/complete=0s
wait job work succeeded=1 active=2 ready=2
swap
settle
scale deploy web 5
wait deploy web availableReplicas=5
undo deploy web 1
wait deploy web updatedReplicas=5 replicas=5 availableReplicas=5 terminatingReplicas=0
scale sts db 4
wait sts db availableReplicas=4
image sts db nginx:3
wait sts db updatedReplicas=4 currentReplicas=4 availableReplicas=4
scale sts db 1
wait pods app=db 1
annotate app=work trimtab.dev/complete=0s
wait job work active=1 ready=1
annotate app=work trimtab.dev/complete=0s
wait job work Complete
delete deploy web Foreground
wait deploy web gone
"""


@asynccontextmanager
async def at_work(apps: Iterable[App], server: Server, *, loops: bool = False) -> AsyncIterator[None]:
    """Apps on a server, as long as this is entered; with our loops, if they are wanted."""
    found = load_loops([] if not loops else None)
    manager = Manager([*apps, *found.apps], LocalTransport(server), listen=False, grace=2.0)
    for part in found.parts:
        manager.add(Phase.LEADING, part(manager))
    stopping = asyncio.Event()
    running = asyncio.create_task(manager.run(stopping))
    try:
        yield
    finally:
        stopping.set()
        await running


def start_theirs(folder: Path, url: str, keys: Keys, group: processes.ProcessGroup) -> None:
    """Start the real ones, and wait until they are ready."""
    files = Files.write(folder, url, keys.authority, {})
    tls = ssl.create_default_context(cafile=files.authority)
    ports = dict(zip(THEIRS, free_ports(len(THEIRS)), strict=True))
    programs = binaries.ensure(THEIRS)

    def is_ready(component: str) -> bool:
        try:
            return LocalServer(ports[component], tls).request("GET", THEIRS[component], timeout=5).status == 200
        except OSError:
            return False

    servers = [
        processes.Server(
            component,
            command(component, programs[component], ports, files, ()),
            group=group,
            folder=folder,
            log=folder / f"{component}.log",
            ready=partial(is_ready, component),
        )
        for component in THEIRS
    ]
    for each in servers:
        each.start()
    for each in servers:
        each.await_ready()


async def swapped(folder: Path) -> Observed:
    """What is seen when the real ones take over."""
    (scenario,) = scenarios("swap", SCRIPT)
    keys, server = Keys.make(), Server(plugins_on=["ServiceAccount"])
    async with AsyncExitStack() as stack:
        secure, _ = await stack.enter_async_context(serving(server, keys))
        client = Client(LocalTransport(server))
        await add_nodes(client, NODES)
        await stack.enter_async_context(at_work([kubelet], server))
        ours = await stack.enter_async_context(AsyncExitStack())
        await ours.enter_async_context(at_work([scheduler], server, loops=True))
        group = processes.ProcessGroup(folder)
        stack.callback(group.close)
        journals = await stack.enter_async_context(watched(client))

        async def swap() -> None:
            await ours.aclose()
            await asyncio.to_thread(start_theirs, folder, secure.url, keys, group)

        return await play(scenario, "swap", client, journals, REAL, swap)


async def test_kubernetes_takes_over_from_our_loops(tmp_path: Path) -> None:
    (scenario,) = scenarios("swap", SCRIPT)
    alone = await asyncio.to_thread(locally, scenario)
    after = await swapped(tmp_path)
    places = [place for place in dict.fromkeys([*alone, *after]) if not any(text in place for text in LEFT_OUT)]
    wrong = [
        f"{place}: {alone.get(place)} -> {after.get(place)}" for place in places if alone.get(place) != after.get(place)
    ]
    assert not wrong, "\n".join(wrong)
