"""From readings to a verdict: medians, ratios, and whether what was demanded is reached. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

from bench.harness import Entry, Outcome, Reach


@dataclass(frozen=True)
class Row:
    """One contestant's line of the table. `each` is in the measure of its section; what was not measured is None."""

    name: str
    ours: bool
    each: float
    least: float
    most: float
    wall: float | None  # seconds for all of the work
    rss: int | None
    p50: float | None  # ms
    p99: float | None
    version: str
    ratios: dict[str, float]  # of ours, by name, to this one: below 1 we are the lighter


@dataclass(frozen=True)
class Verdict:
    """Whether one demand is reached. A ratio of None was not measured; where there is no peer, it is to one."""

    reach: Reach
    ratio: float | None
    judged: str = ""  # which of ours

    @property
    def reached(self) -> bool:
        """Whether it was measured, and is as demanded."""
        return self.ratio is not None and self.ratio <= self.reach.at_most


@dataclass(frozen=True)
class Section:
    """What the table says about one question."""

    name: str
    title: str
    unit: str
    measure: str
    rows: tuple[Row, ...]
    verdicts: tuple[Verdict, ...]

    def verdicts_on(self, name: str) -> list[Verdict]:
        """The demands that name this peer, or that name none and are made of this one of ours."""
        return [verdict for verdict in self.verdicts if (verdict.reach.peer or verdict.judged) == name]

    @property
    def ours(self) -> tuple[str, ...]:
        """Those of ours that others are compared with."""
        return tuple(dict.fromkeys(name for row in self.rows for name in row.ratios))


def section(outcome: Outcome) -> Section:
    """Sum up how a question was answered."""
    question = outcome.question
    each = {entry.contestant.name: median(reading.each for reading in entry.readings) for entry in outcome.entries}
    ours = [entry.contestant.name for entry in outcome.entries if entry.contestant.ours]

    def verdict(reach: Reach) -> Verdict:
        judged, than = reach.ours or next(iter(ours), ""), each | {"": 1.0}
        return Verdict(
            reach, each[judged] / than[reach.peer] if judged in each and reach.peer in than else None, judged
        )

    return Section(
        name=question.name,
        title=question.title,
        unit=question.unit,
        measure=question.measure,
        rows=tuple(_row(e, {name: each[name] / each[e.contestant.name] for name in ours}) for e in outcome.entries),
        verdicts=tuple(map(verdict, question.reaches)),
    )


def _row(entry: Entry, ratios: dict[str, float]) -> Row:
    each = [reading.each for reading in entry.readings]
    return Row(
        name=entry.contestant.name,
        ours=entry.contestant.ours,
        each=median(each),
        least=min(each),
        most=max(each),
        wall=_median(reading.wall for reading in entry.readings),
        rss=max((reading.rss for reading in entry.readings if reading.rss is not None), default=None),
        p50=_median(reading.p50 for reading in entry.readings),
        p99=_median(reading.p99 for reading in entry.readings),
        version=entry.readings[-1].version,
        ratios={} if entry.contestant.ours else ratios,
    )


def _median(values: Iterable[float | None]) -> float | None:
    measured = [value for value in values if value is not None]
    return median(measured) if measured else None
