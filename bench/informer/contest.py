"""`python -m bench informer`: to sync, hold, follow and read, beside client-go, controller-runtime and others."""

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from bench import gopeers
from bench.harness import BenchError, Contestant, Question, Reach, Scenario
from bench.informer import scaling
from bench.informer.session import Asked
from bench.informer.writing import Writing, write
from bench.place import Place
from bench.population import Made, config_maps, large, pods

HELP = "informers: sync, memory, events, reads"
PARTS = ("pods", "configmaps", "reads", "memory")

_PROTOBUF, _DYNAMIC = "client-go protobuf", "client-go dynamic"
_HOT, _VIEW = "trimtab, hot", "trimtab, by a view"
_REACHES = {
    "pods sync": (Reach(_PROTOBUF, 0.6), Reach(_DYNAMIC, 0.1)),
    "pods held": (Reach(_PROTOBUF, 1 / 15), Reach(_DYNAMIC, 1 / 50)),
    "pods event": (Reach(_PROTOBUF, 0.5),),
    "configmaps sync": (Reach(_PROTOBUF, 1.0), Reach(_DYNAMIC, 0.2)),
    "configmaps event": (Reach(_PROTOBUF, 0.7),),
}
_LIST_REACHES = tuple(
    Reach("controller-runtime", at_most, ours) for at_most, ours in ((2.0, ""), (0.5, _HOT), (0.5, _VIEW))
)
_KINDS: dict[str, tuple[str, Callable[[int], Iterable[Made]]]] = {
    "pods": ("Pod", pods),
    "configmaps": ("ConfigMap", config_maps),
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what can be asked for."""
    parser.add_argument("--pods", type=int, default=10_000, help="Pods to know (%(default)s)")
    parser.add_argument("--config-maps", type=int, default=10_000, help="ConfigMaps to know (%(default)s)")
    parser.add_argument("--events", type=int, default=20_000, help="updates to hear of; 0 for none (%(default)s)")
    parser.add_argument("--rate", type=float, default=1000, help="updates a second, at most (%(default)s)")
    parser.add_argument("--in-flight", type=int, default=4, help="updates at a time (%(default)s)")
    parser.add_argument(
        "--reads", type=int, default=200, help="lists to read, and 100 times as many gets (%(default)s)"
    )
    parser.add_argument("--held", type=int, nargs="+", default=scaling.COUNTS, metavar="N", help="objects to hold")
    parser.add_argument("--parts", default=",".join(PARTS), help="what to measure, comma between (%(default)s)")


def needs_server(options: argparse.Namespace) -> bool:
    """Say whether a server has to be there: not for what is made in memory."""
    return _parts(options) != ["memory"]


def population(options: argparse.Namespace) -> list[Iterable[Made]]:
    """Say what the server has to hold."""
    parts = _parts(options)
    wanted = {"pods": "pods" in parts or "reads" in parts, "configmaps": "configmaps" in parts}
    return [_KINDS[kind][1](_count(options, kind)) for kind, needed in wanted.items() if needed]


async def scenarios(options: argparse.Namespace, place: Place) -> list[Scenario]:
    """Say what is measured, with the programs that it takes."""
    parts = _parts(options)
    given: list[Scenario] = []
    if set(parts) - {"memory"}:
        go = str(await gopeers.build(place.folder))
        given += [await _following(options, place, kind, go) for kind in _KINDS if kind in parts]
        if "reads" in parts:
            given.append(_reading(options, place, go))
    if "memory" in parts:
        given.append(scaling.scenario(options.held))
    return given


async def _following(options: argparse.Namespace, place: Place, kind: str, go: str) -> Scenario:
    one, make = _KINDS[kind]
    count = _count(options, kind)
    size = await place.mean_size(kind, count)
    what = f"{count:,} {one}s of {size / 1000:.1f} KB"
    questions = [
        Question(f"{kind} sync", f"{what}, to sync", one, _REACHES.get(f"{kind} sync", ())),
        Question(f"{kind} held", f"{what}, held", one, _REACHES.get(f"{kind} held", ()), measure="bytes"),
    ]
    asked = ["--resource", kind, "--objects", str(count), *_where(place)]
    changes = None
    if options.events:
        title = f"{options.events:,} changes of them, {options.in_flight} in flight"
        questions.append(Question(f"{kind} event", title, "event", _REACHES.get(f"{kind} event", ())))
        asked += ["--events", str(options.events)]
        writing = Writing(options.events, options.in_flight, options.rate)
        names = [made.name for made in make(count)]
        changes = partial(write, place.kubeconfig, place.collection(kind), names, writing)
    contestants = (
        Contestant("client-go protobuf", (go, "informer", "--mode", "protobuf", *asked)),
        Contestant("client-go JSON", (go, "informer", "--mode", "json", *asked)),
        Contestant("client-go dynamic", (go, "informer", "--mode", "dynamic", *asked)),
        Contestant("kubernetes-client", (*_python("kubernetes"), *asked)),
        Contestant("kopf", (*_python("kopf"), *asked)),
        Contestant("trimtab", (*_python("trimtab"), *asked), ours=True),
        Contestant("trimtab + uvloop", (*_python("trimtab"), "--uvloop", *asked), ours=True),
    )
    return Scenario(kind, tuple(questions), contestants, Asked(kind, count, changes))


def _reading(options: argparse.Namespace, place: Place, go: str) -> Scenario:
    owner, found = large(options.pods)
    label = f"pod-template-hash={owner.digest}"
    asked = ("--resource", "pods", "--objects", str(options.pods), *_where(place), "--reads", str(options.reads))
    asked = (*asked, "--label", label, "--owner", owner.uid)
    which = f"{found:,} of {options.pods:,} Pods"
    questions = (
        Question("reads label", f"{which} by label", "list", _LIST_REACHES),
        Question("reads owner", f"{which} by owner", "list", _LIST_REACHES),
        Question("reads get", f"one of {options.pods:,} Pods by name", "get"),
    )
    contestants = (
        Contestant("controller-runtime", (go, "informer", "--mode", "copying", *asked)),
        Contestant("controller-runtime, not copying", (go, "informer", "--mode", "sharing", *asked)),
        Contestant("client-go lister, not copying", (go, "informer", "--mode", "lister", *asked)),
        Contestant("kubernetes-client, not copying", (*_python("kubernetes"), *asked)),
        Contestant("trimtab", (*_python("trimtab"), *asked), ours=True),
        Contestant(_HOT, (*_python("trimtab"), "--how", "hot", *asked), ours=True),
        Contestant(_VIEW, (*_python("trimtab"), "--how", "view", *asked), ours=True),
    )
    return Scenario("reads", questions, contestants, Asked("reads", options.pods, reads=True))


def _parts(options: argparse.Namespace) -> list[str]:
    parts = options.parts.split(",")
    if unknown := set(parts) - set(PARTS):
        raise BenchError(f"--parts has {', '.join(sorted(unknown))}; there is {', '.join(PARTS)}")
    return parts


def _count(options: argparse.Namespace, kind: str) -> int:
    return {"pods": options.pods, "configmaps": options.config_maps}[kind]


def _python(peer: str) -> Iterator[str]:
    yield from (sys.executable, "-m", "bench", "informer", "--json", "--peer", peer)


def _where(place: Place) -> tuple[str, ...]:
    return ("--kubeconfig", place.kubeconfig, "--namespace", place.namespace)
