"""Runs contestants, interleaved, round after round."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeVar

from trimtab.errors import TrimtabError

_T = TypeVar("_T")


class BenchError(TrimtabError):
    """The bench cannot be run, or a contestant failed."""


@dataclass(frozen=True)
class Contestant:
    """A program that takes part."""

    name: str
    command: tuple[str, ...]
    ours: bool = False


@dataclass(frozen=True)
class Reach:
    """What is demanded: what ours takes is at most so many times what a peer takes; without a peer, at most so much."""

    peer: str
    at_most: float
    ours: str = ""  # which of ours; the first, unless it is said


@dataclass(frozen=True)
class Question:
    """One thing that is measured: a heading of the table. What it takes is in `measure` for each `unit`."""

    name: str
    title: str
    unit: str
    reaches: tuple[Reach, ...] = ()
    measure: str = "CPU µs"


@dataclass(frozen=True, kw_only=True)
class Reading:
    """The answer to a question, of one contestant in one round. What was not measured is None."""

    each: float
    version: str
    wall: float | None = None  # seconds for all of it
    rss: int | None = None  # the process's peak, in bytes
    p50: float | None = None  # of latencies, in ms
    p99: float | None = None


Answers: TypeAlias = Mapping[str, Reading]
"""What came of one run, by the names of the questions."""


@dataclass(frozen=True)
class Scenario:
    """Some work, those who do it, and the questions that doing it once answers."""

    name: str
    questions: tuple[Question, ...]
    contestants: tuple[Contestant, ...]
    run: Callable[[Contestant], Awaitable[Answers]]

    def only(self, names: Sequence[str]) -> "Scenario":
        """Leave out the contestants in whose name none of these occurs."""
        return replace(self, contestants=tuple(c for c in self.contestants if any(name in c.name for name in names)))


@dataclass(frozen=True)
class Entry:
    """How one contestant did: a reading for each round."""

    contestant: Contestant
    readings: tuple[Reading, ...]


@dataclass(frozen=True)
class Outcome:
    """How all contestants did whom a question was put to."""

    question: Question
    entries: tuple[Entry, ...]


async def compete(scenario: Scenario, rounds: int, announce: Callable[[str], None]) -> list[Outcome]:
    """Let each contestant do the work once a round; the next round begins with the next of them.

    So what else the machine does at a time falls on all of them, and nobody always goes first.
    """
    given: dict[Contestant, list[Answers]] = {contestant: [] for contestant in scenario.contestants}
    for number in range(rounds):
        for contestant in rotated(scenario.contestants, number):
            answers = await scenario.run(contestant)
            given[contestant].append(answers)
            announce(f"{scenario.name} {number + 1}/{rounds}, {contestant.name}: {_said(scenario.questions, answers)}")
    return [_outcome(question, given) for question in scenario.questions]


def rotated(items: Sequence[_T], by: int) -> tuple[_T, ...]:
    """Begin with another item and go round."""
    start = by % len(items) if items else 0
    return (*items[start:], *items[:start])


def _outcome(question: Question, given: Mapping[Contestant, Sequence[Answers]]) -> Outcome:
    entries = (
        Entry(contestant, tuple(answers[question.name] for answers in rounds if question.name in answers))
        for contestant, rounds in given.items()
    )
    return Outcome(question, tuple(entry for entry in entries if entry.readings))


def _said(questions: Sequence[Question], answers: Answers) -> str:
    return "; ".join(f"{answers[q.name].each:,.1f} {q.measure} per {q.unit}" for q in questions if q.name in answers)
