from bench.cost import Cost
from bench.harness import Contestant, Entry, Outcome, Reach, Scenario, rotated
from bench.report import section
from bench.table import as_markdown, as_text


def contestant(name: str, *, ours: bool = False) -> Contestant:
    return Contestant(name, ("true",), ours)


def entry(name: str, *cpu: float, ours: bool = False) -> Entry:
    costs = tuple(Cost(cpu=c, wall=2 * c, count=1000, rss=50_000_000, version=f"{name} 1.0") for c in cpu)
    return Entry(contestant(name, ours=ours), costs)


def outcome(*entries: Entry, reaches: tuple[Reach, ...] = ()) -> Outcome:
    scenario = Scenario("patch", "1,000 patches", "patch", 1000, tuple(e.contestant for e in entries), reaches)
    return Outcome(scenario, entries)


def test_the_median_counts_and_an_outlier_shows_in_the_spread_alone() -> None:
    (row,) = section(outcome(entry("peer", 0.1, 9.0, 0.2))).rows
    assert (row.cpu, row.least, row.most) == (200.0, 100.0, 9000.0)
    assert row.wall == 0.4


def test_a_reach_is_judged_on_the_first_of_ours_and_each_of_ours_has_its_ratio() -> None:
    given = outcome(
        entry("go", 0.1),
        entry("slow", 1.0),
        entry("ours", 0.2, ours=True),
        entry("ours, fast", 0.05, ours=True),
        reaches=(Reach("go", 1.1), Reach("slow", 0.2), Reach("absent", 5.0)),
    )
    told = section(given)
    assert [(v.ratio, v.reached) for v in told.verdicts] == [(2.0, False), (0.2, True), (None, False)]
    assert told.rows[0].ratios == {"ours": 2.0, "ours, fast": 0.5}
    assert told.rows[2].ratios == {}


def test_without_ours_nothing_is_reached() -> None:
    told = section(outcome(entry("go", 0.1), reaches=(Reach("go", 1.1),)))
    assert not told.verdicts[0].reached


def test_a_table_says_who_how_much_and_whether_it_is_enough() -> None:
    given = outcome(entry("go", 0.1), entry("ours", 0.09, ours=True), reaches=(Reach("go", 1.1),))
    text = as_text([section(given)], "a machine")
    go, ours = (next(line for line in text.splitlines() if line.startswith(name)) for name in ("go", "ours"))
    assert go.split() == ["go", "100", "100", "to", "100", "0.2", "50", "0.90", "≤", "1.10:", "reached"]
    assert ours.split() == ["ours", "90.0", "90.0", "to", "90.0", "0.2", "50"]
    assert text.endswith("a machine")


def test_markdown_has_the_same_number_of_cells_in_each_line() -> None:
    given = outcome(entry("go", 0.1), entry("ours", 0.2, ours=True), reaches=(Reach("go", 1.1),))
    table = [line for line in as_markdown([section(given)], "a machine").splitlines() if line.startswith("|")]
    assert len({line.count("|") for line in table}) == 1
    assert "| go | 100 | 100 to 100 | 0.2 | 50 | 2.00 | ≤ 1.10: missed |" in table


def test_nobody_always_goes_first() -> None:
    names = tuple(contestant(name) for name in "abc")
    rounds = [[c.name for c in rotated(names, number)] for number in range(3)]
    assert rounds == [list("abc"), list("bca"), list("cab")]
