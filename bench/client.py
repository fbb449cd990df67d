"""`python -m bench client`: patches, gets and lists, beside client-go and kubernetes-client/python."""

import argparse
import sys
from collections.abc import Iterable, Iterator

from bench import gopeers
from bench.harness import Contestant, Question, Reach, Scenario
from bench.place import Place
from bench.population import Made, pods, settings
from bench.processes import one_cost

HELP = "clients: patches, gets and lists"

_CONFIG_MAPS = 100

_MERGE_PATCH_REACHES = (Reach("client-go protobuf", 1.1), Reach("kubernetes-client", 0.25))
_LIST_REACHES = (Reach("client-go JSON", 1.0),)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what can be asked for."""
    parser.add_argument("--patches", type=int, default=10_000, help="merge patches to send; 0 for none (%(default)s)")
    parser.add_argument("--gets", type=int, default=10_000, help="ConfigMaps to get; 0 for none (%(default)s)")
    parser.add_argument("--pods", type=int, default=10_000, help="Pods to list; 0 for none (%(default)s)")
    parser.add_argument("--in-flight", type=int, default=16, help="requests at a time (%(default)s)")
    parser.add_argument("--page", type=int, default=500, help="Pods in a page of a list (%(default)s)")


def needs_server(_: argparse.Namespace) -> bool:
    """Say whether a server has to be there."""
    return True


def population(options: argparse.Namespace) -> list[Iterable[Made]]:
    """Say what the server has to hold."""
    return [settings(_CONFIG_MAPS), pods(options.pods)]


async def scenarios(options: argparse.Namespace, place: Place) -> list[Scenario]:
    """Say what is measured, with the programs that it takes."""
    go = str(await gopeers.build(place.folder))
    where = ("--kubeconfig", place.kubeconfig, "--namespace", place.namespace, "--objects", str(_CONFIG_MAPS))
    given: list[Scenario] = []
    for name, title, unit, count, page, reaches in _work(options):
        asked = ("--count", str(count), "--in-flight", str(options.in_flight), "--page", str(page))
        contestants = tuple(
            Contestant(who, (*command, "--scenario", name.partition(" ")[0], *where, *asked), ours)
            for who, command, ours in _contestants(go)
        )
        question = Question(name, title, unit, reaches)
        given.append(Scenario(name, (question,), contestants, one_cost(question, count)))
    return given


def _work(options: argparse.Namespace) -> Iterator[tuple[str, str, str, int, int, tuple[Reach, ...]]]:
    at_a_time = f"{options.in_flight} in flight"
    if count := options.patches:
        yield "patch", f"{count:,} merge patches of ConfigMaps, {at_a_time}", "patch", count, 0, _MERGE_PATCH_REACHES
    if count := options.gets:
        yield "get", f"{count:,} gets of ConfigMaps, {at_a_time}", "get", count, 0, ()
    if count := options.pods:
        paged = f"list of {count:,} Pods in pages of {options.page}"
        yield "list paged", paged, "Pod", count, options.page, _LIST_REACHES
        yield "list whole", f"list of {count:,} Pods in one answer", "Pod", count, 0, _LIST_REACHES


def _contestants(go: str) -> Iterator[tuple[str, tuple[str, ...], bool]]:
    python = (sys.executable, "-m", "bench.worker")
    yield "client-go protobuf", (go, "--mode", "protobuf"), False
    yield "client-go JSON", (go, "--mode", "json"), False
    yield "client-go dynamic", (go, "--mode", "dynamic"), False
    yield "kubernetes-client", (*python, "kubernetes"), False
    yield "kubernetes-client aio", (*python, "kubernetes_aio"), False
    yield "bare aiohttp", (*python, "aiohttp"), False
    yield "bare aiohttp + uvloop", (*python, "aiohttp", "--uvloop"), False
    yield "bare pyreqwest", (*python, "pyreqwest"), False
    yield "bare pyreqwest + uvloop", (*python, "pyreqwest", "--uvloop"), False
    yield "trimtab", (*python, "trimtab"), True
    yield "trimtab + uvloop", (*python, "trimtab", "--uvloop"), True
