"""`make kills`: a thousand kills of the server, and what was lost."""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path

from tests.apiserver.killing.killing import run


def main() -> int:
    parser = argparse.ArgumentParser(prog="make kills", description=__doc__)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="trimtab-kills-") as folder:
        outcome = asyncio.run(run(Path(folder), given.kills, given.seed, tell=True))
    for lost in outcome.lost[:20]:
        print(lost)
    print(
        f"{outcome.kills:,} kills in {time.monotonic() - begun:.0f} s, {outcome.early:,} of them before the server was "
        f"ready; {outcome.acknowledged:,} writes acknowledged, objects compared {outcome.compared:,} times; "
        f"{len(outcome.lost)} were not as acknowledged (seed {given.seed})"
    )
    return 1 if outcome.lost else 0


sys.exit(main())
