"""`python -m tests.parity`: is the embedded server the equal of a real one?"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from tests.parity import baseline, servers
from tests.parity.comparing import masked
from tests.parity.hooks import Hooks
from tests.parity.reading import read
from tests.parity.recording import Recording
from tests.parity.running import Played, Scripts, Verdict, doubts, judge, judge_by_record, run
from tests.parity.scripts import areas
from tests.parity.telling import frequent, hidden, show, table

from trimtab.testing import binaries


def main() -> int:
    """Play, compare, tell, and fail where the baseline says otherwise."""
    parser = argparse.ArgumentParser(prog="python -m tests.parity", description=__doc__)
    parser.add_argument("--area", action="append", help="this area alone")
    parser.add_argument("--show", metavar="NAME", help="the differences of scripts with this in their name, alone")
    parser.add_argument("--file", type=Path, help="the scripts of this file, in place of the corpus")
    parser.add_argument("--accept", action="store_true", help="write down as baseline what is not equal")
    parser.add_argument("--record", action="store_true", help="write down what the real server answers")
    parser.add_argument("--recorded", action="store_true", help="compare with what is written down: no real server")
    parser.add_argument("--frequent", type=int, metavar="N", help="the N most frequent differences")
    parser.add_argument("--masked", action="store_true", help="the places where two runs of the real server differ")
    parser.add_argument(
        "--allow", type=int, default=0, metavar="N", help="as many may be otherwise than listed: chance"
    )
    parser.add_argument("--workers", type=int, default=5, help="scripts at once on each server")
    given = parser.parse_args()

    version = binaries.wanted_version(None)
    minor = ".".join(version.split(".")[:2])
    every = {given.file.stem: read(given.file)} if given.file else areas(minor)
    wanted = {
        area: [s for s in scripts if not given.show or given.show in f"{area}/{s.name}"]
        for area, scripts in every.items()
        if not given.area or area in given.area
    }
    wanted = {area: scripts for area, scripts in wanted.items() if scripts}
    started = time.monotonic()
    recording, listed = Recording(minor), baseline.read(minor)
    verdicts = _play(wanted, recording, version, given.workers, by_record=given.recorded)
    doubtful = [v for v in verdicts if v.equal == (v.key in listed)] if not given.accept else []
    if doubtful and len(doubtful) < 40 and not given.show and not given.recorded:
        verdicts = _once_more(verdicts, doubtful, recording, version)
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
        _record(recording, verdicts)
        recording.write({f"{area}/{script.name}" for area, scripts in every.items() for script in scripts})
    wrong = doubts(verdicts)
    if given.accept:
        baseline.write(minor, verdicts, listed, whole=not given.area)
    else:
        whole = not given.area and not given.recorded  # what is not recorded is not gone
        wrong += baseline.complaints(verdicts, listed, whole=whole)
    for line in wrong:
        print(line)
    return 1 if len(wrong) > given.allow else 0


def _play(wanted: Scripts, recording: Recording, version: str, workers: int, *, by_record: bool) -> list[Verdict]:
    """All scripts on fresh servers, at once."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        hooks = stack.enter_context(Hooks(folder))
        peers = [stack.enter_context(servers.ours(folder, hooks))]
        if not by_record:
            peers += [stack.enter_context(servers.real(label, folder, hooks, version)) for label in ("real", "again")]
        with ThreadPoolExecutor(len(peers)) as pool:
            played: list[Played] = list(pool.map(lambda peer: run(wanted, peer, workers), peers))
    if by_record:
        return judge_by_record(wanted, played[0], recording)
    ours, real, again = played
    return judge(wanted, real, again, ours, recording)


def _once_more(verdicts: list[Verdict], doubtful: list[Verdict], recording: Recording, version: str) -> list[Verdict]:
    """What is not as the baseline says is played again, alone, on fresh servers: a busy machine is no regression."""
    fewer: Scripts = {}
    for verdict in doubtful:
        fewer.setdefault(verdict.area, []).append(verdict.script)
    again = {v.key: v for v in _play(fewer, recording, version, 1, by_record=False)}
    return [again.get(v.key, v) for v in verdicts]


def _record(recording: Recording, verdicts: list[Verdict]) -> None:
    """Write down the answers, and say which places are new among those that vary."""
    for verdict in verdicts:
        before = recording.answers(verdict.key, verdict.script)
        recording.add(verdict.key, verdict.script, verdict.expected)
        if before is not None:
            known = set(masked(before))
            new = [place for place in masked(recording.answers(verdict.key, verdict.script)) if place not in known]
            print("".join(f"VARIES: {verdict.key}: {place}\n" for place in new), end="")


if __name__ == "__main__":
    sys.exit(main())
