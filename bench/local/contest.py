"""`python -m bench local`: a cluster on a laptop, `trimtab dev` beside a real control plane with kwok's nodes."""

import argparse
import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable

from bench.harness import Answers, BenchError, Contestant, Question, Reach, Reading, Scenario
from bench.local import clusters
from bench.place import Place
from bench.population import Made
from trimtab.client import Client, load_config
from trimtab.kube.apps.v1 import Deployment
from trimtab.kube.core.v1 import ServiceAccount
from trimtab.kube.wire import from_wire
from trimtab.local.waiting import until
from trimtab.testing import binaries

HELP = "clusters on a laptop: from nothing to a Deployment that is ready"

_OURS, _REAL, _UNLIMITED = "trimtab dev", "Kubernetes + kwok", "Kubernetes + kwok, no rate limits"
_CLUSTERS: dict[str, clusters.Start] = {_OURS: clusters.local, _REAL: clusters.real, _UNLIMITED: clusters.unlimited}
_WALL = {500: 2.0, 10_000: 60.0}
_MEMORY = {10_000: 400.0}
_SLOW = 2_000  # Pods, of which more take Kubernetes minutes with its usual rate limits
_SECONDS = 900.0
_SETTLING = 8.0


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what can be asked for."""
    parser.add_argument("--pods", default="500,10000", help="sizes of the Deployment, comma between (%(default)s)")
    parser.add_argument("--nodes", default="10,100", help="how many nodes there are for each (%(default)s)")
    parser.add_argument("--idle", type=float, default=20.0, help="seconds to watch a cluster at rest (%(default)s)")


def needs_server(_: argparse.Namespace) -> bool:
    """Say whether a server has to be there: each contestant is one."""
    return False


def population(_options: argparse.Namespace) -> list[Iterable[Made]]:
    """Need nothing."""
    return []


async def scenarios(options: argparse.Namespace, _: Place) -> list[Scenario]:
    """Say what is measured, with the programs that it takes."""
    sizes, nodes = ([int(each) for each in given.split(",")] for given in (options.pods, options.nodes))
    if len(sizes) != len(nodes):
        raise BenchError(f"--pods names {len(sizes)} sizes and --nodes {len(nodes)}: give one for each")
    await asyncio.to_thread(binaries.ensure, (*binaries.CORE, *binaries.EXTRAS), binaries.wanted_version(None))
    await clusters.compiled()
    return [scenario(size, count, options.idle) for size, count in zip(sizes, nodes, strict=True)]


def scenario(pods: int, nodes: int, idle: float) -> Scenario:
    """Say what is measured with a Deployment of one size."""
    where, what = f"{nodes:,} node{'s' if nodes != 1 else ''}", f"a Deployment of {pods:,} Pods on {nodes:,} nodes"
    wall = (Reach("", _WALL[pods]),) if pods in _WALL else ()
    memory = (Reach("", _MEMORY[pods]),) if pods in _MEMORY else ()
    questions = (
        Question("start", f"{where}, from the start until all are ready", "start", measure="CPU seconds"),
        Question("wall", f"{what}, until all are ready", "Deployment", wall, measure="wall seconds"),
        Question("cpu", f"{what}, until all are ready", "Deployment", measure="CPU seconds"),
        Question("memory", f"{what}, processes at their peak", "cluster", memory, measure="MB"),
        Question("idle", f"{what}, and nothing to do", "cluster", (Reach("", 1.0),), measure="% of a core"),
    )
    names = [name for name in _CLUSTERS if name != _REAL or pods <= _SLOW]
    contestants = tuple(Contestant(name, (), ours=name == _OURS) for name in names)
    return Scenario(f"local {pods}", questions, contestants, _run(pods, nodes, idle))


def _run(pods: int, nodes: int, idle: float) -> Callable[[Contestant], Awaitable[Answers]]:
    async def run(contestant: Contestant) -> Answers:
        async with _CLUSTERS[contestant.name](nodes) as up:
            start = Reading(each=up.cpu(), wall=up.seconds, version=up.version)
            wall, cpu = await _deploy(up, pods)
            memory = up.memory() / 1e6
            await asyncio.sleep(min(idle, _SETTLING))  # the last events are written
            rest = await _at_rest(up, idle)
        answers = {"wall": wall, "cpu": cpu, "memory": memory, "idle": rest}
        return {"start": start, **{name: Reading(each=each, version=up.version) for name, each in answers.items()}}

    return run


async def _deploy(up: clusters.Up, pods: int) -> tuple[float, float]:
    """Ask for a Deployment, and wait until all its Pods are ready; wall and CPU seconds."""
    async with Client(load_config(up.kubeconfig)) as client:
        await until(client, ServiceAccount, "default", namespace="default", timeout=_SECONDS)
        began, before = time.perf_counter(), up.cpu()
        await client.create(from_wire(Deployment, manifest(pods)))
        ready = lambda d: d.status.ready_replicas == pods  # noqa: E731 - which is all of it
        await until(client, Deployment, "web", ready, namespace="default", timeout=_SECONDS)
        return time.perf_counter() - began, up.cpu() - before


def manifest(pods: int) -> dict[str, object]:
    """Write the Deployment."""
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "web", "image": "nginx"}]}}
    spec = {"replicas": pods, "selector": {"matchLabels": labels}, "template": template}
    meta = {"name": "web", "namespace": "default"}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": spec}


async def _at_rest(up: clusters.Up, seconds: float) -> float:
    began, before = time.perf_counter(), up.cpu()
    await asyncio.sleep(seconds)
    return 100 * (up.cpu() - before) / (time.perf_counter() - began)
