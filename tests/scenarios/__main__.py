"""`python -m tests.scenarios`: does the same happen on the local cluster as on a real control plane?"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter, defaultdict
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tests.scenarios import baseline
from tests.scenarios.observing import Observed
from tests.scenarios.reading import Scenario, corpus, read
from tests.scenarios.recording import Expected, Recording, differences, masked, merged
from tests.scenarios.servers import locally, really

Difference = tuple[str, str, str]


def main() -> int:
    """Play, compare, tell, and fail where something differs that is not known to."""
    parser = argparse.ArgumentParser(prog="python -m tests.scenarios", description=__doc__)
    parser.add_argument("--area", action="append", help="this area alone")
    parser.add_argument("--only", metavar="NAME", help="scenarios with this in their name, alone")
    parser.add_argument("--file", type=Path, help="the scenarios of this file, in place of the corpus")
    parser.add_argument("--show", action="store_true", help="all that was seen, not only what differs")
    parser.add_argument("--accept", action="store_true", help="write down what differs as known")
    parser.add_argument("--record", action="store_true", help="write down what was seen on the real one")
    parser.add_argument("--anew", action="store_true", help="forget what was seen there before")
    parser.add_argument("--recorded", action="store_true", help="compare with what is written down: no real one")
    parser.add_argument("--masked", action="store_true", help="the places where runs of the real one differ")
    parser.add_argument("--times", type=int, default=2, help="how often each is played on the real one")
    parser.add_argument("--at-once", type=int, default=12, help="how many are played there at the same time")
    given = parser.parse_args()

    every = read(given.file) if given.file else corpus()
    wanted = [each for each in every if (not given.area or each.area in given.area) and (given.only or "") in each.key]
    recording, begun = Recording(), time.monotonic()
    if given.recorded:
        expected = [recording.expected(each) or {} for each in wanted]
    else:
        played = really(wanted, given.times, given.at_once)
        before = [None if given.anew else recording.expected(each) for each in wanted]
        expected = [merged(*pair) for pair in zip(before, played, strict=True)]
    if given.record:
        for scenario, want in zip(wanted, expected, strict=True):
            recording.add(scenario, want)
        recording.write({each.key for each in every})
    with ProcessPoolExecutor(2) as pool:
        ours = list(pool.map(locally, wanted))
    found = [differences(*each) for each in zip(wanted, expected, ours, strict=True)]
    for scenario, want, have, differs in zip(wanted, expected, ours, found, strict=True):
        _tell(scenario, want, have, differs, show=given.show, hidden=given.masked)
    print(_table(wanted, expected, found))
    print(f"{time.monotonic() - begun:.0f} s")
    by_key = {scenario.key: differs for scenario, differs in zip(wanted, found, strict=True)}
    if given.accept:
        baseline.write(by_key)
        return 0
    wrong = baseline.complaints(by_key)
    print("\n".join(wrong))
    return 1 if wrong else 0


def _tell(
    scenario: Scenario, expected: Expected, ours: Observed, differs: list[Difference], *, show: bool, hidden: bool
) -> None:
    in_vain = [f"{place}: {values}" for place, values in expected.items() if "in vain" in place]
    if in_vain:
        print(f"NOT PLAYED to its end on the real one: {scenario.key}: {in_vain}")
    if differs or show:
        print(f"\n== {scenario.key}: {'differs' if differs else 'equal'}")
        for place, real, own in differs:
            print(f"  {place}\n    real: {real[:400]}\n    ours: {own[:400]}")
    if show:
        print("\n".join(f"  {place} = {value[:200]}" for place, value in ours.items()))
    if hidden:
        print("\n".join(f"  {scenario.key}: {place}: {' // '.join(expected[place])}" for place in masked(expected)))


def _table(scenarios: list[Scenario], expected: list[Expected], found: list[list[Difference]]) -> str:
    """Equal of total by area, as Markdown."""
    rows: dict[str, Counter[str]] = defaultdict(Counter)
    for scenario, want, differs in zip(scenarios, expected, found, strict=True):
        for row in (rows[scenario.area], rows["~"]):
            row["of"] += 1
            row["equal"] += not differs
            row["places"] += len(want)
            row["differ"] += len(differs)
            row["masked"] += len(masked(want))
    lines = [
        "| area | scenarios equal | of | places equal | of | masked |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for area, row in sorted(rows.items()):
        compared = row["places"] - row["masked"]
        name = "**all**" if area == "~" else area
        equal = compared - row["differ"]
        lines.append(f"| {name} | {row['equal']} | {row['of']} | {equal:,} | {compared:,} | {row['masked']} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
