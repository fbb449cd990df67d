"""`python -m bench`, or `python -m bench client …`: run the contest and print the table."""

import argparse
import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from bench import client, loading
from bench.harness import compete
from bench.machine import Machine, look_around
from bench.report import Section, section
from bench.table import as_markdown, as_text
from trimtab.errors import TrimtabError
from trimtab.testing.control_plane import ControlPlane


class Report(msgspec.Struct):
    """What is written to a file."""

    when: datetime
    arguments: list[str]
    machine: Machine
    sections: list[Section]


def main() -> int:
    """Run the bench that is asked for."""
    options = _parser().parse_args(sys.argv[1:] or ["client"])
    try:
        with _server(options.kubeconfig) as kubeconfig:
            sections, machine = asyncio.run(_measure(options, kubeconfig))
    except TrimtabError as error:
        _say(str(error))
        return 2
    except KeyboardInterrupt:
        return 130
    summary = machine.sentence(sorted({row.version for part in sections for row in part.rows}))
    report = Report(datetime.now(UTC).replace(microsecond=0), sys.argv[1:], machine, sections)
    path = options.output / f"{options.bench}.json"
    path.write_bytes(msgspec.json.format(msgspec.json.encode(report)) + b"\n")
    path.with_suffix(".md").write_text(as_markdown(sections, summary) + "\n", "utf-8")
    print((as_markdown if options.markdown else as_text)(sections, summary))
    missed = [verdict for part in sections for verdict in part.verdicts if not verdict.reached]
    return 1 if options.check and missed else 0


async def _measure(options: argparse.Namespace, kubeconfig: str) -> tuple[list[Section], Machine]:
    options.output.mkdir(parents=True, exist_ok=True)
    machine = look_around(await loading.server_version(kubeconfig))
    _say(f"{options.pods:,} Pods and {client.CONFIG_MAPS} ConfigMaps are made")
    async with loading.populated(kubeconfig, config_maps=client.CONFIG_MAPS, pods=options.pods) as namespace:
        scenarios = await client.scenarios(options, options.output, kubeconfig, namespace)
        return [section(await compete(scenario, options.rounds, _say)) for scenario in scenarios], machine


@contextmanager
def _server(kubeconfig: str | None) -> Iterator[str]:
    """Give the kubeconfig of the server to use: the one that is named, or one of a control plane of our own."""
    if kubeconfig:
        yield kubeconfig
        return
    with ControlPlane(announce=_say) as plane:
        yield str(plane.kubeconfig())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m bench", description="Trimtab beside its peers, in CPU seconds.")
    benches = parser.add_subparsers(dest="bench", required=True)
    one = benches.add_parser("client", help="patches, gets and lists", description=client.__doc__)
    client.add_options(one)
    one.add_argument("--rounds", type=int, default=3, help="times that each contestant runs (%(default)s)")
    one.add_argument("--kubeconfig", help="the server to use, instead of a control plane started for this")
    one.add_argument("--output", type=Path, default=Path("build/bench"), help="folder for what is built and written")
    one.add_argument("--markdown", action="store_true", help="print the table for a README")
    one.add_argument("--check", action="store_true", help="exit with 1 unless all that is demanded is reached")
    return parser


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
