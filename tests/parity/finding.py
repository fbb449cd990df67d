"""`python -m tests.parity.finding SEED COUNT`: makes scripts by chance, and prints those that the servers differ in.

What differs is made as small as it gets before it is printed, as a script for `scripts/found.txt`, where it stays.
"""

from __future__ import annotations

import argparse
import copy
import itertools
import re
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import yaml
from hypothesis import HealthCheck, Phase, given, seed, settings
from tests.parity import servers
from tests.parity.canonical import Canonical
from tests.parity.comparing import Difference, differences
from tests.parity.guessing import flow, scripts
from tests.parity.hooks import Hooks
from tests.parity.playing import Script, Server, play
from tests.parity.reading import step

from trimtab.testing import binaries

_WORKERS = 5
_LINE = re.compile(r"(?P<head>\S+ \S+(?: (?:crd|cm|thing) \S+)?) (?P<body>[\[{].*?)(?P<marks>(?: @\S+)*)\Z")


@dataclass(frozen=True)
class Found:
    """A script whose answers are not equal."""

    lines: list[str]
    differences: list[Difference]

    @property
    def signature(self) -> str:
        """What tells one sort of difference from others: which request, and which place of its answer."""
        first = self.differences[0]
        line = self.lines[first.step]
        verb = re.split(r"[ ?]", line)[0] + "".join(re.findall(r"@\w+$", line))
        way = re.sub(r"\[\d+\]", "[]", first.way)
        about = "crd" if "crds" in line else "thing" if "crds" in self.lines[0] else "cm"
        told = way.endswith(("message", "code")) or way in ("status", "body")
        said = re.sub(r'"[^"]*"|\d{4,}|f[0-9a-f]{7}', "_", f"{first.real!s:.70}") if told else ""
        return f"{about} {verb} {way} {said}".strip()


class Finder:
    """Plays scripts on both servers."""

    def __init__(self, real: Server, ours: Server) -> None:
        self._real = real
        self._ours = ours
        self._numbers = itertools.count()

    def look(self, lines: list[str]) -> Found | None:
        """What differs, if it does so twice: the second may pass in the middle of a script."""
        found = self._compare(lines)
        again = self._compare(lines) if found else []
        kept = {(each.step, each.way) for each in again}
        found = [each for each in found if (each.step, each.way) in kept]
        return Found(lines, found) if found else None

    def smaller(self, found: Found, end: float) -> Found:
        """The smallest script that differs in the same way, as far as the time allows."""
        tries = fewer(found.lines)
        while time.monotonic() < end and (lines := next(tries, None)) is not None:
            less = self.look(lines)
            if less is not None and less.signature == found.signature:
                found, tries = less, fewer(less.lines)
        return found

    def _compare(self, lines: list[str]) -> list[Difference]:
        script = Script("found", [step(line) for line in lines])
        namespace = f"f{next(self._numbers):07x}"
        try:
            real = Canonical(play(script, self._real, namespace)).answers
            ours = Canonical(play(script, self._ours, namespace)).answers
        except (IndexError, ValueError):  # made smaller, it makes no sense: what it refers to is gone
            return []
        pairs = enumerate(zip(real, ours, strict=True))
        return [each for number, (wanted, said) in pairs for each in differences(number, wanted, said)]


def fewer(lines: list[str]) -> Iterator[list[str]]:
    """The script without one of its requests, or one of the values in it; what makes a kind stays."""
    first = 2 if "crds" in lines[0] else 0  # what makes the kind
    for number in reversed(range(first, len(lines))):
        if not any(f"${number}." in line for line in lines):
            rest = (re.sub(r"\$(\d+)\.", partial(_less, number=number), line) for line in lines[number + 1 :])
            yield [*lines[:number], *rest]
    for number, line in enumerate(lines):
        match = _LINE.fullmatch(line)
        if match is None:
            continue
        for body in without_one(yaml.safe_load(match["body"])):
            yield [*lines[:number], f"{match['head']} {flow(body)}{match['marks']}", *lines[number + 1 :]]


def _less(match: re.Match[str], *, number: int) -> str:
    return f"${int(match[1]) - (int(match[1]) > number)}."


def without_one(value: Any) -> Iterator[Any]:
    """A value without one of the things in it."""
    if isinstance(value, dict):
        for key in value:
            yield {name: item for name, item in value.items() if name != key}
        for key, item in value.items():
            for less in without_one(item):
                yield {**value, key: less}
    elif isinstance(value, list):
        for number in range(len(value)):
            yield value[:number] + value[number + 1 :]
        for number, item in enumerate(value):
            for less in without_one(item):
                made = copy.copy(value)
                made[number] = less
                yield made


def guessed(number: int, count: int) -> list[list[str]]:
    """So many scripts, always the same from the same seed."""
    made: list[list[str]] = []

    @seed(number)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(scripts())
    def make(lines: list[str]) -> None:
        made.append(lines)

    make()
    return made


def tell(found: Found, count: int) -> None:
    """Print what was found, as it goes into the corpus, with what differs as remarks."""
    print(f"\n== {found.signature} ({count})")
    for each in found.differences[:4]:
        print(f"# [{each.step}] {each.way}\n#   real: {each.real!r:.300}\n#   ours: {each.ours!r:.300}")
    print("\n".join(found.lines), flush=True)


def main() -> None:
    """Look for differences, and tell of each sort once."""
    parser = argparse.ArgumentParser(prog="python -m tests.parity.finding", description=__doc__)
    parser.add_argument("seed", type=int, nargs="?", default=1)
    parser.add_argument("count", type=int, nargs="?", default=200)
    parser.add_argument("--seconds", type=float, default=240, help="when to stop making scripts smaller")
    options = parser.parse_args()
    end = time.monotonic() + options.seconds
    made = guessed(options.seed, options.count)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        hooks = stack.enter_context(Hooks(folder))
        ours = stack.enter_context(servers.ours(folder, hooks))
        real = stack.enter_context(servers.real("real", folder, hooks, binaries.wanted_version(None)))
        pool = stack.enter_context(ThreadPoolExecutor(_WORKERS))
        finder = Finder(real, ours)
        half = time.monotonic() + options.seconds / 2
        looked = list(pool.map(lambda lines: finder.look(lines) if time.monotonic() < half else (), made))
        found = [each for each in looked if isinstance(each, Found)]
        print(f"{looked.count(None)} of {looked.count(None) + len(found)} scripts are equal", flush=True)
        sorts: dict[str, list[Found]] = {}
        for each in found:
            sorts.setdefault(each.signature, []).append(each)
        least = [(min(some, key=lambda one: len(one.lines)), len(some)) for some in sorts.values()]
        smaller = pool.map(lambda each: finder.smaller(each[0], end), least)
        for one, (_, count) in zip(smaller, least, strict=True):
            tell(one, count)


if __name__ == "__main__":
    main()
