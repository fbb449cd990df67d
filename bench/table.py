"""The table, for a terminal and for a README. Pure."""

from collections.abc import Iterable, Sequence

from bench.report import Row, Section, Verdict

_NUMBERS_FROM = 1  # the first column is a name, the others are set to the right


def as_text(sections: Sequence[Section], machine: str) -> str:
    """For a terminal: one table, a heading for each scenario."""
    header, groups = _cells(sections)
    lines = [header, *(row for _, rows in groups for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rule = "─" * (sum(widths) + 2 * (len(widths) - 1))

    def line(cells: Sequence[str]) -> str:
        return "  ".join(
            c.ljust(w) if i < _NUMBERS_FROM else c.rjust(w) for i, (c, w) in enumerate(zip(cells, widths, strict=True))
        ).rstrip()

    parts = [line(header)]
    for title, rows in groups:
        parts += [rule, title, *map(line, rows)]
    return "\n".join([*parts, rule, machine])


def as_markdown(sections: Sequence[Section], machine: str) -> str:
    """For a README: the same table."""
    header, groups = _cells(sections)
    lines = [_pipes(header), _pipes(["---"] + ["---:"] * (len(header) - 1))]
    for title, rows in groups:
        lines.append(_pipes([f"**{title}**"] + [""] * (len(header) - 1)))
        lines += map(_pipes, rows)
    return "\n".join([*lines, "", machine])


def _pipes(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cells(sections: Sequence[Section]) -> tuple[list[str], list[tuple[str, list[list[str]]]]]:
    ours = list(dict.fromkeys(name for section in sections for row in section.rows for name in row.ratios))
    header = ["", "CPU µs each", "least to most", "wall s", "peak MB", *(f"{name} ÷ it" for name in ours), "to reach"]
    groups = [
        (
            f"{section.title}: CPU per {section.unit}",
            [_row(row, ours, section.verdict_on(row.name)) for row in section.rows],
        )
        for section in sections
    ]
    return header, groups


def _row(row: Row, ours: Sequence[str], verdict: Verdict | None) -> list[str]:
    return [
        row.name,
        _number(row.cpu),
        f"{_number(row.least)} to {_number(row.most)}",
        f"{row.wall:.1f}",
        f"{row.rss / 1e6:,.0f}",
        *(f"{row.ratios[name]:.2f}" if name in row.ratios else "" for name in ours),
        said(verdict) if verdict else "",
    ]


def said(verdict: Verdict) -> str:
    """Say what is demanded and what became of it, such as `≤ 1.10: reached`."""
    state = "reached" if verdict.reached else "not measured" if verdict.ratio is None else "missed"
    return f"≤ {verdict.reach.at_most:.2f}: {state}"


def _number(value: float) -> str:
    return f"{value:.1f}" if value < 100 else f"{value:,.0f}"
