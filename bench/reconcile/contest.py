"""`python -m bench reconcile`: a controller from the start of its manager until all is done, beside others."""

import argparse
import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator

from bench import gopeers
from bench.harness import Answers, BenchError, Contestant, Question, Reach, Reading, Scenario
from bench.place import Place
from bench.population import Made, config_maps
from bench.processes import started
from bench.reconcile.job import Reconciled

HELP = "controllers: reconcile each object, once at rest and once with a write"
MODES = ("noop", "patch")

_GO, _KOPF = "controller-runtime", "kopf"
_SECONDS = 900.0
_TITLES = {
    "noop": "{:,} ConfigMaps, each read and left alone, from the manager's start",
    "patch": "{:,} ConfigMaps, an annotation written to each by a patch and seen to come back",
}
_REACHES = {"noop": (Reach(_GO, 1.0),), "patch": (Reach(_GO, 0.8), Reach(_KOPF, 0.2))}
_WALL_REACHES = (Reach(_GO, 1.1),)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what can be asked for."""
    parser.add_argument("--objects", type=int, default=10_000, help="ConfigMaps to reconcile (%(default)s)")
    parser.add_argument("--workers", type=int, default=16, help="reconciles at a time (%(default)s)")
    parser.add_argument("--modes", default=",".join(MODES), help="what is done with them, comma between (%(default)s)")


def needs_server(_: argparse.Namespace) -> bool:
    """Say whether a server has to be there."""
    return True


def population(options: argparse.Namespace) -> list[Iterable[Made]]:
    """Say what the server has to hold."""
    return [config_maps(options.objects)]


async def scenarios(options: argparse.Namespace, place: Place) -> list[Scenario]:
    """Say what is measured, with the programs that it takes."""
    go = str(await gopeers.build(place.folder))
    modes = options.modes.split(",")
    if unknown := set(modes) - set(MODES):
        raise BenchError(f"--modes has {', '.join(sorted(unknown))}; there is {', '.join(MODES)}")
    return [scenario(mode, options.workers, options.objects, place, go) for mode in modes]


def scenario(mode: str, workers: int, objects: int, place: Place, go: str) -> Scenario:
    """Say what is measured in one mode."""
    title = _TITLES[mode].format(objects)
    questions = [Question(mode, title, "object", _REACHES[mode])]
    if mode == "patch":
        questions.append(Question(f"{mode} wall", title, "run", _WALL_REACHES, measure="wall seconds"))
    where = ("--kubeconfig", place.kubeconfig, "--namespace", place.namespace, "--objects", str(objects))
    asked = ("--mode", mode, "--workers", str(workers), *where)
    contestants = (
        Contestant(_GO, (go, "reconcile", *asked)),
        Contestant(_KOPF, (*_python("kopf"), *asked)),
        Contestant("trimtab", (*_python("trimtab"), *asked), ours=True),
        Contestant("trimtab + uvloop", (*_python("trimtab"), "--uvloop", *asked), ours=True),
    )
    return Scenario(mode, tuple(questions), contestants, _run(mode, objects))


def _run(mode: str, objects: int) -> Callable[[Contestant], Awaitable[Answers]]:
    async def run(contestant: Contestant) -> Answers:
        async with started(contestant, mode) as running:
            line = await running.read(Reconciled, _SECONDS)
        if line.n != objects:
            raise BenchError(f"{contestant.name} ({mode}) reconciled {line.n:,} of {objects:,} objects")
        return answers(mode, line)

    return run


def answers(mode: str, line: Reconciled) -> dict[str, Reading]:
    """Say what it took."""
    cpu = Reading(each=line.us_cpu_per_object, version=line.version, wall=line.wall_s, rss=int(line.rss_mb * 1e6))
    return {mode: cpu, f"{mode} wall": Reading(each=line.wall_s, version=line.version)}


def _python(peer: str) -> Iterator[str]:
    yield from (sys.executable, "-m", "bench", "reconcile", "--json", "--peer", peer)
