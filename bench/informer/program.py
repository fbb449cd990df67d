"""`python -m bench informer --json …`: one contestant. Syncs an informer, prints what it took, follows, reads."""

import argparse
import importlib
from collections.abc import Sequence

from bench.informer.job import Job, Resource

PEERS = ("trimtab", "kopf", "kubernetes")


def asked_for(arguments: Sequence[str]) -> bool:
    """Say whether this is what the command line asks for, and not a contest."""
    return arguments[:1] == ["informer"] and "--json" in arguments


def main(arguments: Sequence[str]) -> None:
    """Do what is asked for. Afterwards things may still run: the process has to be ended."""
    options = vars(_parser().parse_args(arguments))
    count, peer = options.pop("hold"), options.pop("peer")
    del options["json"]
    if count:
        from bench.informer.scaling import hold  # noqa: PLC0415 (no contestant needs it)

        hold(count)
        return
    job = Job(**options | {"resource": Resource.parse(options["resource"])})
    importlib.import_module(f"bench.peers.informer_{peer}").run(job)  # only the one that is measured


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m bench informer --json", description=__doc__)
    parser.add_argument("--json", action="store_true", help="take part, and print lines of JSON")
    parser.add_argument("--peer", choices=PEERS, default="trimtab", help="who takes part (%(default)s)")
    parser.add_argument("--kubeconfig", default="", help="where the server is")
    parser.add_argument("--resource", default="pods", help="pods, configmaps or GROUP/VERSION/PLURAL (%(default)s)")
    parser.add_argument("--namespace", default="", help="where to look (everywhere)")
    parser.add_argument("--events", type=int, default=0, metavar="N", help="then print ready and wait for N updates")
    parser.add_argument("--reads", type=int, default=0, metavar="N", help="then list N times by label, and by owner")
    parser.add_argument("--label", default="", metavar="KEY=VALUE", help="what to list by label")
    parser.add_argument("--owner", default="", metavar="UID", help="what to list by owner")
    parser.add_argument("--how", choices=("cold", "hot", "view"), default="cold", help="how to read (%(default)s)")
    parser.add_argument("--objects", type=int, default=0, help="how many there are, for those who cannot tell")
    parser.add_argument("--uvloop", action="store_true", help="on uvloop instead of asyncio's own loop")
    parser.add_argument("--hold", type=int, default=0, metavar="N", help="hold N Pods made in memory, and no more")
    return parser
