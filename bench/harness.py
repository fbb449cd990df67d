"""Runs contestants, interleaved, round after round."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import msgspec

from bench.cost import Cost
from trimtab.errors import TrimtabError


class BenchError(TrimtabError):
    """The bench cannot be run, or a contestant failed."""


@dataclass(frozen=True)
class Contestant:
    """A program that does the work of a scenario and prints its Cost."""

    name: str
    command: tuple[str, ...]
    ours: bool = False


@dataclass(frozen=True)
class Reach:
    """What is demanded: our CPU is at most so many times that of a peer."""

    peer: str
    at_most: float


@dataclass(frozen=True)
class Scenario:
    """Some work, those who do it, and what is demanded of us. `unit` is what `count` counts."""

    name: str
    title: str
    unit: str
    count: int
    contestants: tuple[Contestant, ...]
    reaches: tuple[Reach, ...] = ()

    def only(self, names: Sequence[str]) -> "Scenario":
        """Leave out the contestants in whose name none of these occurs."""
        return replace(self, contestants=tuple(c for c in self.contestants if any(name in c.name for name in names)))


@dataclass(frozen=True)
class Entry:
    """How one contestant did: a cost for each round."""

    contestant: Contestant
    costs: tuple[Cost, ...]


@dataclass(frozen=True)
class Outcome:
    """How all contestants of a scenario did."""

    scenario: Scenario
    entries: tuple[Entry, ...]


async def compete(scenario: Scenario, rounds: int, announce: Callable[[str], None]) -> Outcome:
    """Let each contestant do the work once a round; the next round begins with the next of them.

    So what else the machine does at a time falls on all of them, and nobody always goes first.
    """
    costs: dict[Contestant, list[Cost]] = {contestant: [] for contestant in scenario.contestants}
    for number in range(rounds):
        for contestant in rotated(scenario.contestants, number):
            cost = await _run(contestant, scenario)
            costs[contestant].append(cost)
            announce(f"{scenario.name} {number + 1}/{rounds}, {contestant.name}: {cost.each:,.1f} µs a {scenario.unit}")
    return Outcome(scenario, tuple(Entry(contestant, tuple(given)) for contestant, given in costs.items()))


def rotated(items: Sequence[Contestant], by: int) -> tuple[Contestant, ...]:
    """Begin with another item and go round."""
    start = by % len(items) if items else 0
    return (*items[start:], *items[:start])


async def _run(contestant: Contestant, scenario: Scenario) -> Cost:
    process = await asyncio.create_subprocess_exec(
        *contestant.command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    try:
        output, errors = await process.communicate()
    finally:
        if process.returncode is None:  # the bench was told to stop
            process.kill()
            await process.wait()
    who = f"{contestant.name} ({scenario.name})"
    if process.returncode:
        said = errors.decode(errors="replace").strip().splitlines() or ["it said nothing"]
        raise BenchError(f"{who} ended with {process.returncode}: {said[-1]}")
    try:
        cost = Cost.parse(output)
    except msgspec.MsgspecError as error:
        raise BenchError(f"{who} did not print what it cost: {error}") from error
    if cost.count != scenario.count:
        raise BenchError(f"{who} did {cost.count} of {scenario.count}: nothing to compare")
    return cost
