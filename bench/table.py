"""The tables, for a terminal and for a README. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

from bench.report import Row, Section, Verdict

_NUMBERS_FROM = 1  # the first column is a name, the others are set to the right


class _Table(NamedTuple):
    """A header, and groups of rows under a title each; all with the same number of cells."""

    header: list[str]
    groups: list[tuple[str, list[list[str]]]]


def as_text(sections: Sequence[Section], machine: str) -> str:
    """For a terminal: a heading for each section."""
    return "\n".join([*(_text(table) for table in _tables(sections)), machine])


def as_markdown(sections: Sequence[Section], machine: str) -> str:
    """For a README: the same tables."""
    return "\n\n".join([*(_markdown(table) for table in _tables(sections)), machine])


def said(verdict: Verdict) -> str:
    """Say what is demanded and what became of it, such as `≤ 1.10: reached`."""
    state = "reached" if verdict.reached else "not measured" if verdict.ratio is None else "missed"
    demand = f"≤ {_ratio(verdict.reach.at_most)}: {state}"
    return f"{verdict.reach.ours} {demand}" if verdict.reach.ours else demand


def _text(table: _Table) -> str:
    lines = [table.header, *(row for _, rows in table.groups for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rule = "─" * (sum(widths) + 2 * (len(widths) - 1))

    def line(cells: Sequence[str]) -> str:
        return "  ".join(
            c.ljust(w) if i < _NUMBERS_FROM else c.rjust(w) for i, (c, w) in enumerate(zip(cells, widths, strict=True))
        ).rstrip()

    parts = [line(table.header)]
    for title, rows in table.groups:
        parts += [rule, title, *map(line, rows)]
    return "\n".join([*parts, rule])


def _markdown(table: _Table) -> str:
    width = len(table.header)
    lines = [_pipes(table.header), _pipes(["---"] + ["---:"] * (width - 1))]
    for title, rows in table.groups:
        lines.append(_pipes([f"**{title}**"] + [""] * (width - 1)))
        lines += map(_pipes, rows)
    return "\n".join(lines)


def _pipes(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _tables(sections: Sequence[Section]) -> Iterator[_Table]:
    """Put neighbours into one table where the same of ours stand in them: they have the same columns."""
    for ours, neighbours in groupby(sections, attrgetter("ours")):
        together = list(neighbours)
        rows = [[_cells(row, ours, section) for row in section.rows] for section in together]
        header = [
            *("", "each", "least to most", "wall s", "peak MB", "p50 ms", "p99 ms"),
            *(f"{name} ÷ it" for name in ours),
            "to reach",
        ]
        used = [i for i in range(len(header)) if i == 0 or any(cells[i] for group in rows for cells in group)]
        titles = [f"{section.title}: {section.measure} per {section.unit}" for section in together]
        yield _Table(
            [header[i] for i in used],
            [(title, [[cells[i] for i in used] for cells in group]) for title, group in zip(titles, rows, strict=True)],
        )


def _cells(row: Row, ours: Sequence[str], section: Section) -> list[str]:
    return [
        row.name,
        _number(row.each),
        f"{_number(row.least)} to {_number(row.most)}",
        "" if row.wall is None else f"{row.wall:.1f}",
        "" if row.rss is None else f"{row.rss / 1e6:,.0f}",
        "" if row.p50 is None else _number(row.p50),
        "" if row.p99 is None else _number(row.p99),
        *(_ratio(row.ratios[name]) if name in row.ratios else "" for name in ours),
        ", ".join(map(said, section.verdicts_on(row.name))),
    ]


def _ratio(value: float) -> str:
    return f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"


def _number(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:,.0f}"
