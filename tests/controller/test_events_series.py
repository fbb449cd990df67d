"""Occurrences become events and series, by a clock that the test moves."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.controller.events.series import ALIKE, FINISH, REFRESH, Aggregator, Entry, Occurrence, occurrence
from trimtab.errors import TrimtabError
from trimtab.kube.core.v1 import ConfigMap, Node
from trimtab.kube.meta.v1 import ObjectMeta
from trimtab.kube.rbac.v1 import ClusterRole


class Clock:
    def __init__(self) -> None:
        self.time = datetime(2026, 7, 1, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.time

    def move(self, by: timedelta) -> None:
        self.time += by


def told(note: str = "it works", name: str = "a", version: str = "1", **changes: str) -> Occurrence:
    about = ConfigMap(metadata=ObjectMeta(name=name, namespace="shop", uid=f"uid-{name}", resource_version=version))
    words = {"reason": "Worked", "action": "Try", "controller": "tester", **changes}
    return occurrence(about, "Normal", words["reason"], note, action=words["action"], controller=words["controller"])


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def series(clock: Clock) -> Aggregator:
    return Aggregator(now=clock, instance="host")


def test_the_first_makes_an_event_that_describe_finds(series: Aggregator, clock: Clock) -> None:
    entry = series.observe(told())
    assert entry is not None
    event = entry.event
    assert (event.type, event.reason, event.action, event.note) == ("Normal", "Worked", "Try", "it works")
    assert (event.reporting_controller, event.reporting_instance) == ("tester", "tester-host")
    about = event.regarding
    assert (about.api_version, about.kind, about.namespace, about.name) == ("v1", "ConfigMap", "shop", "a")
    assert about.uid == "uid-a"
    assert event.metadata.namespace == "shop"
    assert event.metadata.name.startswith("a.")
    assert event.event_time == clock.time
    assert event.series is None
    assert entry.series() is None


def test_repeats_are_worth_a_request_when_the_count_has_doubled(series: Aggregator, clock: Clock) -> None:
    first = series.observe(told())
    counts: list[int] = []
    for _ in range(99):
        clock.move(timedelta(seconds=1))
        if entry := series.observe(told(version=str(clock.time))):  # a later state of the object is no other news
            assert entry is first
            counts.append(entry.count)
    assert counts == [2, 4, 8, 16, 32, 64]
    assert series.due() == []
    clock.move(FINISH + timedelta(seconds=1))
    assert series.due() == [first]  # it ended, and the server is told of all
    assert first is not None
    assert first.count == 100
    assert len(series) == 0
    assert series.due() == []
    assert series.observe(told()) is not first


def test_what_ended_is_a_new_event_even_before_anybody_asked(series: Aggregator, clock: Clock) -> None:
    first = series.observe(told())
    for _ in range(2):
        series.observe(told())
    clock.move(FINISH + timedelta(seconds=1))
    second = series.observe(told())
    assert second is not None
    assert second is not first
    assert second.count == 1
    assert series.due() == [first]


def test_what_lasts_is_written_each_half_hour(series: Aggregator, clock: Clock) -> None:
    for _ in range(128):
        series.observe(told())
    written: list[int] = []
    start = clock.time
    while clock.time - start < 2 * REFRESH + timedelta(minutes=1):
        clock.move(timedelta(minutes=5))
        assert series.observe(told()) is None
        written += [entry.count for entry in series.due()]
    assert written == [134, 140]


def test_other_notes_are_other_events_until_there_are_too_many(series: Aggregator) -> None:
    entries = [series.observe(told(f"pair {i} failed")) for i in range(ALIKE)]
    assert len({id(entry) for entry in entries}) == ALIKE
    combined = series.observe(told("pair 10 failed"))
    assert combined is not None
    assert combined.event.note == "(combined from similar events): pair 10 failed"
    assert series.observe(told("pair 11 failed")) is combined
    assert combined.count == 2
    assert series.observe(told("pair 3 failed")) is entries[3]  # those that are kept apart stay so
    assert series.observe(told("pair 11 failed", name="b")) is not combined
    assert len(series) == ALIKE + 2


def test_those_that_ended_are_no_longer_too_many(series: Aggregator, clock: Clock) -> None:
    for i in range(ALIKE):
        series.observe(told(f"pair {i} failed"))
    clock.move(FINISH + timedelta(seconds=1))
    series.due()
    entry = series.observe(told("pair 10 failed"))
    assert entry is not None
    assert entry.event.note == "pair 10 failed"


def test_a_flood_is_bounded(clock: Clock) -> None:
    series = Aggregator(now=clock, instance="host", most=10)
    entries = [series.observe(told(name=f"n{i}")) for i in range(100)]
    assert len(series) == 10
    assert series.observe(told(name="n99")) is entries[99]
    assert series.observe(told(name="n0")) is not entries[0]
    for i in range(100, 108):
        series.observe(told(name=f"n{i}"))
    series.observe(told(name="n99"))
    assert series.observe(told(name="n99")) is entries[99]  # it was heard of lately, so others were forgotten


def test_what_the_server_would_refuse_is_cut_or_raised(series: Aggregator) -> None:
    entry = series.observe(told("ä" * 2000, reason="R" * 200))
    assert entry is not None
    assert entry.event.note is not None
    assert len(entry.event.note.encode()) <= 1024
    assert entry.event.note.endswith("ä…")
    assert len(entry.event.reason or "") == 128
    with pytest.raises(TrimtabError, match="use 'Normal' or 'Warning'"):
        occurrence(ConfigMap(), "Bad", "R", "n", action="A", controller="c")  # type: ignore[arg-type]
    with pytest.raises(TrimtabError, match="has no reason"):
        occurrence(ConfigMap(), "Normal", "", "n", action="A", controller="c")


def test_objects_without_a_namespace_or_with_odd_names(series: Aggregator) -> None:
    for about in (Node(metadata=ObjectMeta(name="n1")), ClusterRole(metadata=ObjectMeta(name="system:node"))):
        entry = series.observe(occurrence(about, "Warning", "R", "n", action="", controller="c"))
        assert entry is not None
        assert entry.event.metadata.namespace == "default"
        assert ":" not in entry.event.metadata.name
        assert entry.event.action == "R"


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 500)), max_size=60))
def test_every_occurrence_is_told_of_in_the_end(steps: list[tuple[str, int]]) -> None:
    """Model: whatever the times, what the server was told adds up to what happened."""
    clock = Clock()
    series = Aggregator(now=clock, instance="host", most=2)
    server: dict[int, tuple[Entry, int]] = {}

    def send(entry: Entry | None) -> None:
        if entry is not None:
            server[id(entry)] = (entry, entry.count)

    for note, seconds in steps:
        clock.move(timedelta(seconds=seconds))
        send(series.observe(told(note)))
        if seconds % 3 == 0:
            for entry in series.due():
                send(entry)
    for entry in series.finish():
        send(entry)
    assert sum(count for _, count in server.values()) == len(steps)
