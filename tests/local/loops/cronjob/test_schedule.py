"""Schedules: Kubernetes' own cases, and a search minute by minute beside ours."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.local.loops.cronjob.schedule import BadSchedule, Cron, due, parse_schedule


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("schedule", "after", "following"),
    [
        ("*/15 * * * *", "2026-07-09T14:45", "2026-07-09T15:00"),
        ("*/15 * * * *", "2026-07-09T14:59:59", "2026-07-09T15:00"),
        ("20-35/15 * * * *", "2026-07-09T14:45", "2026-07-09T15:20"),
        ("5/15 * * * *", "2026-07-09T14:45", "2026-07-09T14:50"),
        ("*/15 */2 * * *", "2026-07-09T23:35", "2026-07-10T00:00"),
        ("0 0 */10 * *", "2026-07-09T00:00", "2026-07-11T00:00"),
        ("0 0 9 apr-oct ?", "2026-12-09T00:00", "2027-04-09T00:00"),
        ("0 0 29 2 *", "2026-07-09T00:00", "2028-02-29T00:00"),
        ("0 0 * * Mon", "2026-07-09T00:00", "2026-07-13T00:00"),
        ("0 0 1 * 5", "2026-07-09T00:00", "2026-07-10T00:00"),  # either day
        ("0 0 1 * */2", "2026-07-02T00:00", "2026-08-01T00:00"),  # both: a star is not given
        ("@hourly", "2026-07-09T00:30", "2026-07-09T01:00"),
        ("@weekly", "2026-07-09T00:30", "2026-07-12T00:00"),
        ("@yearly", "2026-07-09T00:30", "2027-01-01T00:00"),
        ("@every 90s", "2026-07-09T00:00:10", "2026-07-09T00:01:40"),
    ],
)
def test_the_next_time(schedule: str, after: str, following: str) -> None:
    assert parse_schedule(schedule).after(at(after)) == at(following)


def test_one_that_never_comes() -> None:
    never = parse_schedule("0 0 30 2 *")
    assert never.after(at("2026-07-09")) is None
    assert never.before(at("2026-07-09")) is None


@pytest.mark.parametrize(
    ("zone", "schedule", "after", "following"),
    [
        ("Europe/Berlin", "0 3 * * *", "2026-07-09T12:00", "2026-07-10T01:00"),
        ("Europe/Berlin", "0 3 * * *", "2026-01-09T12:00", "2026-01-10T02:00"),
        ("Europe/Berlin", "30 2 * * *", "2026-03-28T12:00", "2026-03-30T00:30"),  # left out in spring
        ("Europe/Berlin", "30 2 25 10 *", "2026-10-24T12:00", "2026-10-25T00:30"),  # twice in autumn
        ("Europe/Berlin", "30 2 25 10 *", "2026-10-25T00:30", "2026-10-25T01:30"),
        ("Asia/Kolkata", "0 0 1 * *", "2026-07-09T12:00", "2026-07-31T18:30"),
    ],
)
def test_time_zones(zone: str, schedule: str, after: str, following: str) -> None:
    assert parse_schedule(schedule, zone).after(at(after)) == at(following)


@pytest.mark.parametrize(
    "schedule",
    ["", "* * * *", "* * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "* * * * 7", "5-1 * * * *",
     "*/0 * * * *", "*/x * * * *", "a * * * *", "*-5 * * * *", "@often", "@every x", "\u0661 * * * *", "1- * * * *"],
)  # fmt: skip
def test_what_makes_no_sense(schedule: str) -> None:
    with pytest.raises(BadSchedule):
        parse_schedule(schedule)


def test_a_zone_that_is_none() -> None:
    for zone in ("Nowhere/City", "../etc", "/etc/localtime"):
        with pytest.raises(BadSchedule, match="time zone"):
            parse_schedule("@hourly", zone)


def numbers(low: int, high: int) -> st.SearchStrategy[str]:
    number = st.integers(low, high)
    step = st.integers(1, 9)
    return st.one_of(
        st.just("*"),
        step.map(lambda n: f"*/{n}"),
        st.lists(number, min_size=1, max_size=3).map(lambda found: ",".join(map(str, found))),
        st.tuples(number, number).map(lambda pair: f"{min(pair)}-{max(pair)}"),
    )


@given(
    minute=numbers(0, 59),
    hour=numbers(0, 23),
    weekday=numbers(0, 6),
    zone=st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"]),
    begin=st.integers(0, 270 * 86400).map(lambda seconds: at("2026-03-01") + timedelta(seconds=seconds)),
)
def test_as_a_search_minute_by_minute(minute: str, hour: str, weekday: str, zone: str, begin: datetime) -> None:
    schedule = parse_schedule(f"{minute} {hour} * * {weekday}", zone)
    assert isinstance(schedule, Cron)
    found = schedule.after(begin)
    probe = begin.replace(second=0, microsecond=0)
    for _ in range(3 * 1440):
        probe += timedelta(minutes=1)
        local = probe.astimezone(ZoneInfo(zone))
        matches = local.minute in schedule.minutes and local.hour in schedule.hours
        if matches and (local.weekday() + 1) % 7 in schedule.weekdays:
            assert found == probe
            assert schedule.before(probe + timedelta(seconds=30)) == probe
            return
    assert found is None or found > probe


@pytest.mark.parametrize(
    ("schedule", "earliest", "now", "deadline", "expected", "too_many"),
    [
        ("0 * * * *", "2026-07-09T10:00", "2026-07-09T10:59", None, None, 0),
        ("0 * * * *", "2026-07-09T10:00", "2026-07-09T11:00", None, "2026-07-09T11:00", 0),
        ("0 * * * *", "2026-07-09T10:00", "2026-07-09T15:10", None, "2026-07-09T15:00", 0),
        ("0 * * * *", "2026-07-09T10:00", "2026-07-09T15:10", 300, None, 0),
        ("0 * * * *", "2026-07-09T10:00", "2026-07-09T15:10", 3600, "2026-07-09T15:00", 0),
        ("* * * * *", "2026-07-09T10:00", "2026-07-20T15:10", None, "2026-07-20T15:10", 101),
        ("* * * * *", "2026-07-09T10:00", "2026-07-20T15:10", 86400, "2026-07-20T15:10", 0),
        ("@every 1h", "2026-07-09T10:00", "2026-07-09T15:10", None, "2026-07-09T15:00", 0),
    ],
)
def test_what_has_come(
    schedule: str, earliest: str, now: str, deadline: float | None, expected: str | None, too_many: int
) -> None:
    found = due(parse_schedule(schedule), at(earliest), at(now), deadline)
    assert found.at == (None if expected is None else at(expected))
    assert found.too_many == too_many
