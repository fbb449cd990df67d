"""`python -m bench apiserver`: the API server inside, beside kube-apiserver and etcd; CPU of the server's processes."""

import argparse
import sys
from collections.abc import Iterable
from contextlib import AbstractAsyncContextManager

from bench.apiserver import driving, servers
from bench.apiserver.driving import HttpsDoor, Used
from bench.harness import Answers, Contestant, Question, Reach, Reading, Scenario
from bench.place import Place
from bench.population import Made, pods_by_name
from bench.processes import started

HELP = "API servers: writes, events, lists, memory"

_KUBERNETES = "kube-apiserver and etcd"
_HTTPS = "trimtab, HTTPS"
_INSIDE = "trimtab, in memory"
_SECONDS = 1800


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what can be asked for."""
    parser.add_argument("--writes", type=int, default=3_000, help="ConfigMaps to create and change (%(default)s)")
    parser.add_argument("--pods", type=int, default=10_000, help="Pods to list (%(default)s)")
    parser.add_argument("--held", type=int, default=100_000, help="Pods to hold (%(default)s)")


def needs_server(_: argparse.Namespace) -> bool:
    """Say whether a server has to be there: each round starts its own."""
    return False


def population(_options: argparse.Namespace) -> list[Iterable[Made]]:
    """Need nothing."""
    return []


async def scenarios(options: argparse.Namespace, _: Place) -> list[Scenario]:
    """Say what is measured, with those who take part."""
    command = (sys.executable, "-m", "bench.peers.apiserver_inside")
    counts = ("--writes", str(options.writes), "--pods", str(options.pods))
    contestants = (
        Contestant(_KUBERNETES, ()),
        Contestant(_HTTPS, (), ours=True),
        Contestant(_INSIDE, (*command, *counts), ours=True),
    )
    holder = Contestant(_INSIDE, (*command, "--held", str(options.held)), ours=True)
    many = Question("many", f"{options.held:,} Pods of 9.5 KB, held", "server", (Reach("", 300, _INSIDE),), "MB")

    async def run(contestant: Contestant) -> Answers:
        if contestant.command:
            async with started(contestant, "apiserver") as running:
                return await running.read(dict[str, Reading], _SECONDS)
        return await _measured(_server(contestant), options)

    return [
        Scenario("apiserver", _questions(options), contestants, run),
        Scenario("held", (many,), (holder,) if options.held else (), run),
    ]


def _questions(options: argparse.Namespace) -> tuple[Question, ...]:
    return (
        Question("ready", "from its start to ready, ours in memory without imports", "start", (_inside(200),), "ms"),
        Question("at first", "with nothing in it", "server", (_inside(80),), "MB"),
        Question("create", "a small ConfigMap created, 16 in flight", "create", (_inside(333), Reach("", 667, _HTTPS))),
        Question("patch", "one changed by a merge patch, 16 in flight", "patch"),
        Question("event", "a change told to ten watchers, the change included", "event", (_inside(50),)),
        Question("list", f"{options.pods:,} Pods listed, until all is read", "Pod", (_as_fast(),), "wall µs"),
        Question("list cpu", f"{options.pods:,} Pods listed", "Pod"),
        Question("held", f"with {options.pods:,} Pods of 10.9 KB, and their past", "server", (), "MB"),
    )


def _inside(at_most: float) -> Reach:
    return Reach("", at_most, _INSIDE)


def _as_fast() -> Reach:
    return Reach(_KUBERNETES, 1.0, _HTTPS)


def _server(contestant: Contestant) -> AbstractAsyncContextManager[tuple[HttpsDoor, Used, float]]:
    return servers.trimtab() if contestant.ours else servers.kubernetes(lambda _: None)


async def _measured(
    server: AbstractAsyncContextManager[tuple[HttpsDoor, Used, float]], options: argparse.Namespace
) -> Answers:
    async with server as (door, used, took):
        answers = {"ready": used.reading(took * 1e3), "at first": used.reading(used.memory() / 1e6)}
        answers |= await driving.writes(door, used, options.writes)
        return answers | await driving.lists(door, used, pods_by_name(options.pods))
