import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.kube.timestamps import format_micro_time, format_time, parse_micro_time, parse_time

DATA = Path(__file__).parent / "data" / "times.jsonl"


def check(text: str, parse: Callable[[str], datetime], form: Callable[[datetime], str], expected: str | None) -> None:
    if expected is None:
        with pytest.raises(ValueError, match=r"^[^\n]*time[^\n]*$"):
            parse(text)
    else:
        assert form(parse(text)) == expected, text


def test_reads_and_writes_as_kubernetes() -> None:
    for text, as_time, as_micro_time in map(json.loads, DATA.read_text().splitlines()):
        check(text, parse_time, format_time, as_time)
        check(text, parse_micro_time, format_micro_time, as_micro_time)


@given(
    st.datetimes(
        datetime(2, 1, 1),  # noqa: DTZ001 - the zone is drawn
        timezones=st.sampled_from([UTC, timezone(timedelta(hours=-7, minutes=-30)), timezone(timedelta(hours=14))]),
    ).filter(lambda time: time.year < 9999)
)
def test_reads_what_it_writes(time: datetime) -> None:
    assert parse_micro_time(format_micro_time(time)) == parse_time(format_micro_time(time)) == time
    assert parse_time(format_time(time)) == time.replace(microsecond=0)
    assert parse_time(format_time(time)).tzinfo is UTC


def test_refuses_times_without_a_zone_and_years_that_python_lacks() -> None:
    with pytest.raises(ValueError, match="has no time zone"):
        format_time(datetime(2026, 7, 1))  # noqa: DTZ001
    with pytest.raises(ValueError, match="not a time"):
        parse_time("0001-01-01T00:00:00+01:00")
    with pytest.raises(ValueError, match="not a time"):
        parse_time("0000-01-01T00:00:00Z")
