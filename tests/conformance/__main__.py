"""`python -m tests.conformance`: which of Kubernetes' conformance tests pass on the local cluster?"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from tests.conformance import clusters
from tests.conformance.running import Outcome, Program
from tests.conformance.suites import SUITES, Suite

from trimtab.testing import binaries


def main() -> int:
    """Play, tell, and fail where one did not pass that can."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("--suite", choices=SUITES, default="api", help="a choice of tests: api, unless given")
    parser.add_argument("--focus", metavar="REGEX", help="those of the suite whose names match this, alone")
    parser.add_argument("--real", action="store_true", help="on a real control plane with kwok's nodes")
    parser.add_argument("--kubeconfig", type=Path, help="on the cluster that this leads to")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep logs and report here")
    parser.add_argument("--at-once", type=int, default=4, metavar="N", help="tests at the same time: 4, unless given")
    parser.add_argument("flags", nargs="*", help="more flags for the program of tests, after --")
    given = parser.parse_args()
    suite = SUITES[given.suite]
    if given.focus:
        suite = Suite(given.focus, suite.skip, suite.cannot)

    program = binaries.ensure([binaries.CONFORMANCE])[binaries.CONFORMANCE]
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(given.keep or name).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        with _cluster(given, folder) as kubeconfig:
            tests = Program(program, kubeconfig, folder, given.flags)
            outcomes = tests.play(tests.names(suite), given.at_once)
    bad = tell(outcomes, suite)
    print(f"{time.monotonic() - started:.0f} s")
    return 1 if bad or not outcomes else 0


def _cluster(given: argparse.Namespace, folder: Path) -> AbstractContextManager[Path]:
    if given.kubeconfig:
        return nullcontext(given.kubeconfig.absolute())
    return (clusters.real if given.real else clusters.local)(folder)


def tell(outcomes: list[Outcome], suite: Suite) -> int:
    """Print the count and who failed; say how many failed that have no excuse."""
    print(f"{sum(o.passed for o in outcomes)} of {len(outcomes)} pass")
    bad = 0
    for outcome in outcomes:
        if outcome.passed:
            continue
        excuse = suite.excuse(outcome.name)
        bad += excuse is None
        first = outcome.message.strip().partition("\n")[0]
        print(f"{'FAILED' if excuse is None else 'cannot pass'}: {outcome.name}\n    {excuse or first}")
    return bad


if __name__ == "__main__":
    sys.exit(main())
