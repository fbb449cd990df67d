"""`make fuzz`: 100,000 requests into the server, one in twenty of them over sockets. `--seed` says which."""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
import time

from tests.apiserver.fuzzing import wires
from tests.apiserver.fuzzing.running import Finding, run

_SHOWN = 40


def main() -> int:
    parser = argparse.ArgumentParser(prog="make fuzz", description=__doc__)
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    over_wires = given.requests // 20
    begun = time.monotonic()
    outcome = asyncio.run(run(given.seed, given.requests - over_wires, tell=True))
    said = asyncio.run(wires.run(given.seed, over_wires))
    findings = [*outcome.findings, *said.findings]
    different = list({_signature(finding): finding for finding in findings}.values())
    for finding in different[:_SHOWN]:
        print(finding)
    print(
        f"{outcome.asked:,} requests in the process, {said.asked:,} over sockets, in {time.monotonic() - begun:.0f} s; "
        f"the longest took {outcome.longest:.2f} s of the processor; the process grew by {outcome.grown >> 20} MB; "
        f"answers {dict(sorted(outcome.statuses.items()))}, over sockets {dict(sorted(said.statuses.items()))}; "
        f"{len(findings)} findings, {len(different)} of them different (seed {given.seed})"
    )
    return 1 if findings else 0


def _signature(finding: Finding) -> str:
    return re.sub(r"'[^']*'|\"[^\"]*\"|\d+", "_", finding.what)[:160]


sys.exit(main())
