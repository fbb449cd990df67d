from bench.harness import Contestant, Entry, Outcome, Question, Reach, Reading
from bench.report import section
from bench.table import as_markdown, as_text


def entry(name: str, *each: float, ours: bool = False) -> Entry:
    readings = (Reading(each=e, version=f"{name} 1.0", wall=e / 500, rss=50_000_000) for e in each)
    return Entry(Contestant(name, ("true",), ours), tuple(readings))


def outcome(*entries: Entry, reaches: tuple[Reach, ...] = (), measure: str = "CPU µs") -> Outcome:
    return Outcome(Question("patch", "1,000 patches", "patch", reaches, measure), entries)


def test_the_median_counts_and_an_outlier_shows_in_the_spread_alone() -> None:
    (row,) = section(outcome(entry("peer", 100.0, 9000.0, 200.0))).rows
    assert (row.each, row.least, row.most) == (200.0, 100.0, 9000.0)
    assert row.wall == 0.4


def test_what_was_not_measured_is_not_made_up() -> None:
    readings = (Reading(each=1.0, version="x", p50=None), Reading(each=1.0, version="x", p50=3.0))
    (row,) = section(outcome(Entry(Contestant("peer", ()), readings))).rows
    assert (row.wall, row.rss, row.p50, row.p99) == (None, None, 3.0, None)


def test_a_reach_is_judged_on_the_first_of_ours_and_each_of_ours_has_its_ratio() -> None:
    given = outcome(
        entry("go", 100.0),
        entry("slow", 1000.0),
        entry("ours", 200.0, ours=True),
        entry("ours, fast", 50.0, ours=True),
        reaches=(Reach("go", 1.1), Reach("slow", 0.2), Reach("absent", 5.0)),
    )
    told = section(given)
    assert [(v.ratio, v.reached) for v in told.verdicts] == [(2.0, False), (0.2, True), (None, False)]
    assert told.rows[0].ratios == {"ours": 2.0, "ours, fast": 0.5}
    assert told.rows[2].ratios == {}


def test_a_reach_may_name_which_of_ours_it_is_about() -> None:
    ours = (entry("ours", 200.0, ours=True), entry("ours, fast", 50.0, ours=True))
    reaches = (Reach("go", 2.0), Reach("go", 0.5, "ours, fast"), Reach("go", 0.5, "ours, absent"))
    told = section(outcome(entry("go", 100.0), *ours, reaches=reaches))
    assert [(v.ratio, v.reached) for v in told.verdicts_on("go")] == [(2.0, True), (0.5, True), (None, False)]
    text = as_text([told], "a machine")
    assert "≤ 2.00: reached, ours, fast ≤ 0.50: reached, ours, absent ≤ 0.50: not measured" in text


def test_a_reach_without_a_peer_is_about_what_ours_takes() -> None:
    ours = (entry("ours", 3.0, ours=True), entry("ours, fast", 2.0, ours=True))
    told = section(outcome(entry("go", 1.0), *ours, reaches=(Reach("", 2.5), Reach("", 2.5, "ours, fast"))))
    assert [(v.ratio, v.reached) for v in told.verdicts_on("ours")] == [(3.0, False)]
    assert [(v.ratio, v.reached) for v in told.verdicts_on("ours, fast")] == [(2.0, True)]
    assert told.verdicts_on("go") == []


def test_without_ours_nothing_is_reached() -> None:
    told = section(outcome(entry("go", 100.0), reaches=(Reach("go", 1.1), Reach("", 1000.0))))
    assert not any(verdict.reached for verdict in told.verdicts)


def test_a_table_says_who_how_much_and_whether_it_is_enough() -> None:
    given = outcome(entry("go", 100.0), entry("ours", 90.0, ours=True), reaches=(Reach("go", 1.1),))
    text = as_text([section(given)], "a machine")
    go, ours = (next(line for line in text.splitlines() if line.startswith(name)) for name in ("go", "ours"))
    assert go.split() == ["go", "100", "100", "to", "100", "0.2", "50", "0.90", "≤", "1.10:", "reached"]
    assert ours.split() == ["ours", "90.0", "90.0", "to", "90.0", "0.2", "50"]
    assert "1,000 patches: CPU µs per patch" in text
    assert text.endswith("a machine")


def test_small_ratios_keep_their_digits() -> None:
    given = outcome(entry("go", 22_000.0), entry("ours", 700.0, ours=True), reaches=(Reach("go", 1 / 15),))
    assert "0.032  ≤ 0.067: reached" in as_text([section(given)], "")


def test_markdown_has_the_same_number_of_cells_in_each_line() -> None:
    given = outcome(entry("go", 100.0), entry("ours", 200.0, ours=True), reaches=(Reach("go", 1.1),))
    table = [line for line in as_markdown([section(given)], "a machine").splitlines() if line.startswith("|")]
    assert len({line.count("|") for line in table}) == 1
    assert "| go | 100 | 100 to 100 | 0.2 | 50 | 2.00 | ≤ 1.10: missed |" in table


def test_sections_with_the_same_of_ours_share_a_table_and_a_column_that_nobody_fills_is_left_out() -> None:
    bare = Reading(each=700.0, version="x", p50=1.5, p99=20.0)
    held = Entry(Contestant("ours", (), ours=True), (bare,))
    alone = section(outcome(held, measure="bytes"))
    both = section(outcome(entry("go", 100.0), held))
    text = as_text([both, both, alone], "a machine")
    headers = [line.split() for line in text.splitlines() if line.strip().startswith("each")]
    latencies = ["p50", "ms", "p99", "ms"]
    assert headers == [
        ["each", "least", "to", "most", "wall", "s", "peak", "MB", *latencies, "ours", "÷", "it"],
        ["each", "least", "to", "most", *latencies],
    ]
    assert "1,000 patches: bytes per patch" in text
