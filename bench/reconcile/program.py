"""`python -m bench reconcile --json …`: one contestant. Runs a controller until all is done, prints what that took."""

import argparse
import importlib
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace

import msgspec

from bench.harness import BenchError
from bench.reconcile.job import Job, Reconciled

PEERS = ("trimtab", "kopf")


def asked_for(arguments: Sequence[str]) -> bool:
    """Say whether this is what the command line asks for, and not a contest."""
    return arguments[:1] == ["reconcile"] and "--json" in arguments


def main(arguments: Sequence[str]) -> None:
    """Do what is asked for. Afterwards things may still run: the process has to be ended."""
    options = vars(_parser().parse_args(arguments))
    peer = options.pop("peer")
    del options["json"]
    job = Job(**options)
    if not job.objects:
        job = replace(job, objects=_prepared(job))
    cost = importlib.import_module(f"bench.peers.reconcile_{peer}").run(job)  # only the one that is measured
    sys.stdout.buffer.write(msgspec.json.encode(Reconciled.of(cost)) + b"\n")


def _prepared(job: Job) -> int:
    """Have the ConfigMaps counted, or made, by another process: that is no part of what is measured."""
    command = (sys.executable, "-m", "bench.reconcile.preparing", job.kubeconfig, job.namespace)
    counted = subprocess.run(command, capture_output=True, text=True, check=False)
    if counted.returncode:
        said = counted.stderr.strip().splitlines() or ["it said nothing"]
        raise BenchError(f"the ConfigMaps of namespace {job.namespace} cannot be counted: {said[-1]}")
    return int(counted.stdout)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m bench reconcile --json", description=__doc__)
    parser.add_argument("--json", action="store_true", help="take part, and print a line of JSON")
    parser.add_argument("--peer", choices=PEERS, default="trimtab", help="who takes part (%(default)s)")
    parser.add_argument("--kubeconfig", required=True, help="where the server is")
    parser.add_argument("--namespace", required=True, help="where the ConfigMaps are")
    parser.add_argument("--mode", choices=("noop", "patch"), required=True, help="what is done with each of them")
    parser.add_argument("--workers", type=int, default=16, help="reconciles at a time (%(default)s)")
    parser.add_argument(
        "--objects", type=int, default=0, help="how many ConfigMaps there are; else they are counted, or 10,000 made"
    )
    parser.add_argument("--uvloop", action="store_true", help="on uvloop instead of asyncio's own loop")
    return parser
