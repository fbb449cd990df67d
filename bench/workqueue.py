"""`python -m bench queue`: add, get and done of the work queue, beside client-go's and controller-runtime's."""

import argparse
import sys
from collections.abc import Iterable

from bench import gopeers
from bench.harness import Contestant, Question, Reach, Scenario
from bench.place import Place
from bench.population import Made
from bench.processes import one_cost

HELP = "work queues: add, get, done"

_REACHES = (Reach("", 3.0),)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what can be asked for."""
    parser.add_argument("--keys", type=int, default=1_000_000, help="keys to work on (%(default)s)")
    parser.add_argument("--waiting", type=int, default=10_000, help="keys in a backlog (%(default)s)")


def needs_server(_: argparse.Namespace) -> bool:
    """Say whether a server has to be there."""
    return False


def population(_options: argparse.Namespace) -> list[Iterable[Made]]:
    """Need nothing."""
    return []


async def scenarios(options: argparse.Namespace, place: Place) -> list[Scenario]:
    """Say what is measured, with the programs that it takes."""
    go = str(await gopeers.build(place.folder))
    return [
        _scenario(go, "queue one", "one key after the other: add, get, done", options.keys, 1),
        _scenario(
            go,
            "queue backlog",
            f"{options.waiting:,} keys added, then got and done",
            options.keys - options.keys % options.waiting,
            options.waiting,
        ),
    ]


def _scenario(go: str, name: str, title: str, count: int, waiting: int) -> Scenario:
    asked = ("--count", str(count), "--waiting", str(waiting))
    python = (sys.executable, "-m", "bench.peers.queue_trimtab")
    contestants = (
        Contestant("client-go", (go, "queue", "--mode", "ratelimiting", *asked)),
        Contestant("client-go, with metrics", (go, "queue", "--mode", "measured", *asked)),
        Contestant("controller-runtime, with metrics", (go, "queue", "--mode", "priority", *asked)),
        Contestant("trimtab, with metrics and causes", (*python, *asked), ours=True),
    )
    question = Question(name, title, "key", _REACHES)
    return Scenario(name, (question,), contestants, one_cost(question, count))
