"""A contest from beginning to end: a server, its population, the contestants' runs, and the table."""

import argparse
import asyncio
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from bench import client, loading, workqueue
from bench.apiserver import contest as apiserver
from bench.harness import BenchError, compete
from bench.informer import contest as informer
from bench.local import contest as local
from bench.machine import Machine, look_around
from bench.place import Place
from bench.reconcile import contest as reconcile
from bench.report import Section, section
from bench.table import as_markdown, as_text
from trimtab.testing.control_plane import ControlPlane

_CONTESTS = {
    "apiserver": apiserver,
    "client": client,
    "informer": informer,
    "local": local,
    "queue": workqueue,
    "reconcile": reconcile,
}


class Report(msgspec.Struct):
    """What is written to a file."""

    when: datetime
    arguments: Sequence[str]
    machine: Machine
    sections: list[Section]


def main(arguments: Sequence[str]) -> int:
    """Run the contest that is asked for."""
    options = _parser().parse_args(arguments)
    with _server(options) as kubeconfig:
        sections, machine = asyncio.run(_measure(options, kubeconfig))
    summary = machine.sentence(sorted({row.version for part in sections for row in part.rows}))
    report = Report(datetime.now(UTC).replace(microsecond=0), arguments, machine, sections)
    path = options.output / f"{options.contest}.json"
    path.write_bytes(msgspec.json.format(msgspec.json.encode(report)) + b"\n")
    path.with_suffix(".md").write_text(as_markdown(sections, summary) + "\n", "utf-8")
    print((as_markdown if options.markdown else as_text)(sections, summary))
    missed = [verdict for part in sections for verdict in part.verdicts if not verdict.reached]
    return 1 if options.check and missed else 0


async def _measure(options: argparse.Namespace, kubeconfig: str) -> tuple[list[Section], Machine]:
    options.output.mkdir(parents=True, exist_ok=True)
    contest = _CONTESTS[options.contest]
    if not contest.needs_server(options):
        machine = look_around()
        return await _sections(options, Place("", "", options.output)), machine
    machine = look_around(await loading.server_version(kubeconfig))
    _say("the population is made")
    async with loading.populated(kubeconfig, *contest.population(options)) as namespace:
        return await _sections(options, Place(kubeconfig, namespace, options.output)), machine


async def _sections(options: argparse.Namespace, place: Place) -> list[Section]:
    scenarios = await _CONTESTS[options.contest].scenarios(options, place)
    if options.only:
        scenarios = [scenario.only(options.only.split(",")) for scenario in scenarios]
    if not any(scenario.contestants for scenario in scenarios):
        raise BenchError("nobody is left to measure: --only names no contestant, or every count is 0")
    outcomes = [outcome for scenario in scenarios for outcome in await compete(scenario, options.rounds, _say)]
    return [section(outcome) for outcome in outcomes if outcome.entries]


@contextmanager
def _server(options: argparse.Namespace) -> Iterator[str]:
    """Give the kubeconfig of the server to use: the one that is named, or one of a control plane of our own."""
    if options.kubeconfig or not _CONTESTS[options.contest].needs_server(options):
        yield options.kubeconfig or ""
        return
    with ControlPlane(announce=_say) as plane:
        yield str(plane.kubeconfig())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m bench", description="Trimtab beside its peers, in CPU seconds.")
    contests = parser.add_subparsers(dest="contest", required=True)
    for name, contest in _CONTESTS.items():
        one = contests.add_parser(name, help=contest.HELP, description=contest.__doc__)
        contest.add_options(one)
        one.add_argument("--rounds", type=int, default=3, help="times that each contestant runs (%(default)s)")
        one.add_argument(
            "--kubeconfig", help="the server to use, one without controllers, instead of one started for this"
        )
        one.add_argument("--only", metavar="NAMES", help="contestants with one of these in their name, comma between")
        one.add_argument("--output", type=Path, default=Path("build/bench"), help="folder for what is written")
        one.add_argument("--markdown", action="store_true", help="print the table for a README")
        one.add_argument("--check", action="store_true", help="exit with 1 unless all that is demanded is reached")
    return parser


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
