"""From costs to a verdict: medians, ratios, and whether what was demanded is reached. Pure."""

from dataclasses import dataclass
from statistics import median

from bench.harness import Entry, Outcome, Reach


@dataclass(frozen=True)
class Row:
    """One contestant's line of the table. CPU is in microseconds for each request or object."""

    name: str
    ours: bool
    cpu: float
    least: float
    most: float
    wall: float  # seconds for all of the work
    rss: int
    version: str
    ratios: dict[str, float]  # of ours, by name, to this one: below 1 we are the lighter


@dataclass(frozen=True)
class Verdict:
    """Whether one demand is reached. It is judged on the first of ours; a ratio of None was not measured."""

    reach: Reach
    ratio: float | None

    @property
    def reached(self) -> bool:
        """Whether it was measured, and is as demanded."""
        return self.ratio is not None and self.ratio <= self.reach.at_most


@dataclass(frozen=True)
class Section:
    """What the table says about one scenario."""

    name: str
    title: str
    unit: str
    rows: tuple[Row, ...]
    verdicts: tuple[Verdict, ...]

    def verdict_on(self, peer: str) -> Verdict | None:
        """The demand that names this peer, if there is one."""
        return next((verdict for verdict in self.verdicts if verdict.reach.peer == peer), None)


def section(outcome: Outcome) -> Section:
    """Sum up one scenario."""
    cpu = {entry.contestant.name: median(cost.each for cost in entry.costs) for entry in outcome.entries}
    ours = [entry.contestant.name for entry in outcome.entries if entry.contestant.ours]

    def ratio(peer: str) -> float | None:
        return cpu[ours[0]] / cpu[peer] if ours and peer in cpu else None

    scenario = outcome.scenario
    return Section(
        name=scenario.name,
        title=scenario.title,
        unit=scenario.unit,
        rows=tuple(_row(e, {name: cpu[name] / cpu[e.contestant.name] for name in ours}) for e in outcome.entries),
        verdicts=tuple(Verdict(reach, ratio(reach.peer)) for reach in scenario.reaches),
    )


def _row(entry: Entry, ratios: dict[str, float]) -> Row:
    each = [cost.each for cost in entry.costs]
    return Row(
        name=entry.contestant.name,
        ours=entry.contestant.ours,
        cpu=median(each),
        least=min(each),
        most=max(each),
        wall=median(cost.wall for cost in entry.costs),
        rss=max(cost.rss for cost in entry.costs),
        version=entry.costs[-1].version,
        ratios={} if entry.contestant.ours else ratios,
    )
