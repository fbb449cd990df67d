"""`python -m tests.parity`: is the embedded server the equal of a real one?"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from tests.parity import baseline, recording, servers
from tests.parity.hooks import Hooks
from tests.parity.playing import Script
from tests.parity.running import Played, Verdict, doubts, judge, run
from tests.parity.scripts import areas
from tests.parity.telling import frequent, hidden, show, table

from trimtab.testing import binaries


def main() -> int:
    """Play, compare, tell, and fail where the baseline says otherwise."""
    parser = argparse.ArgumentParser(prog="python -m tests.parity", description=__doc__)
    parser.add_argument("--area", action="append", help="this area alone")
    parser.add_argument("--show", metavar="NAME", help="the differences of scripts with this in their name, alone")
    parser.add_argument("--accept", action="store_true", help="write down as baseline what is not equal")
    parser.add_argument("--record", action="store_true", help="write down a tenth of the answers for make test")
    parser.add_argument("--frequent", type=int, metavar="N", help="the N most frequent differences")
    parser.add_argument("--masked", action="store_true", help="the places where two runs of the real server differ")
    parser.add_argument("--workers", type=int, default=5, help="scripts at once on each server")
    given = parser.parse_args()

    wanted = {
        area: [s for s in scripts if not given.show or given.show in f"{area}/{s.name}"]
        for area, scripts in areas().items()
        if not given.area or area in given.area
    }
    wanted = {area: scripts for area, scripts in wanted.items() if scripts}
    version = binaries.wanted_version(None)
    minor = ".".join(version.split(".")[:2])
    started = time.monotonic()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        hooks = stack.enter_context(Hooks(folder))
        real = stack.enter_context(servers.real("real", folder, hooks, version))
        again = stack.enter_context(servers.real("again", folder, hooks, version))
        ours = stack.enter_context(servers.ours(folder, hooks))
        peers = (real, again, ours)
        with ThreadPoolExecutor(len(peers)) as pool:
            played: list[Played] = list(pool.map(lambda peer: run(wanted, peer, given.workers), peers))
        verdicts = judge(wanted, *played)
        listed = baseline.read(minor)
        doubtful = [v for v in verdicts if v.equal == (v.key in listed)] if not given.accept else []
        if doubtful and len(doubtful) < 40 and not given.show:
            verdicts = _once_more(wanted, verdicts, doubtful)
    if given.show:
        show(wanted, verdicts)
        return 0
    print(table(verdicts, version))
    if given.frequent:
        print(frequent(verdicts, given.frequent))
    print(f"{time.monotonic() - started:.0f} s")
    if given.masked:
        print(hidden(verdicts))
    if given.record:
        recording.write(minor, {v.key: v.expected for v in verdicts})
    wrong = doubts(verdicts)
    if given.accept:
        baseline.write(minor, verdicts, listed, whole=not given.area)
    else:
        wrong += baseline.complaints(verdicts, listed, whole=not given.area)
    for line in wrong:
        print(line)
    return 1 if wrong else 0


def _once_more(
    wanted: dict[str, list[Script]],
    verdicts: list[Verdict],
    doubtful: list[Verdict],
) -> list[Verdict]:
    """What is not as the baseline says is played again, alone, on fresh servers: a busy machine is no regression."""
    keys = {v.key for v in doubtful}
    fewer = {
        area: found for area, scripts in wanted.items() if (found := [s for s in scripts if f"{area}/{s.name}" in keys])
    }
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        hooks = stack.enter_context(Hooks(folder))
        version = os.environ.get("TRIMTAB_KUBERNETES_VERSION")
        fresh = (
            stack.enter_context(servers.real("real", folder, hooks, version)),
            stack.enter_context(servers.real("again", folder, hooks, version)),
            stack.enter_context(servers.ours(folder, hooks)),
        )
        again = {v.key: v for v in judge(fewer, *(run(fewer, peer, 1) for peer in fresh))}
    return [again.get(v.key, v) for v in verdicts]


if __name__ == "__main__":
    sys.exit(main())
