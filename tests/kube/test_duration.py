import json
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.errors import TrimtabError
from trimtab.kube.duration import format_duration, format_nanoseconds, parse_duration, parse_nanoseconds

DATA = Path(__file__).parent / "data" / "durations.jsonl"
MOST = 2**63 - 1


def test_reads_and_writes_as_go() -> None:
    for text, *expected in map(json.loads, DATA.read_text().splitlines()):
        if expected:
            nanoseconds, canonical = expected
            assert parse_nanoseconds(text) == nanoseconds, text
            assert format_nanoseconds(nanoseconds) == canonical
        else:
            with pytest.raises(TrimtabError, match=r"^[^\n]*duration[^\n]*$"):
                parse_nanoseconds(text)


@given(st.integers(-MOST, MOST))
def test_reads_what_it_writes(nanoseconds: int) -> None:
    assert parse_nanoseconds(format_nanoseconds(nanoseconds)) == nanoseconds


@given(st.timedeltas(timedelta(days=-100_000), timedelta(days=100_000)))
def test_timedeltas_come_back(duration: timedelta) -> None:
    assert parse_duration(format_duration(duration)) == duration


@pytest.mark.parametrize(
    ("duration", "text"),
    [
        (3600, "1h0m0s"),
        (1.5, "1.5s"),
        (0.3, "300ms"),
        (-60, "-1m0s"),
        (timedelta(0), "0s"),
        (timedelta(microseconds=5), "5µs"),
    ],
)
def test_writes_seconds_and_timedeltas(duration: float | timedelta, text: str) -> None:
    assert format_duration(duration) == text


def test_drops_what_a_timedelta_cannot_hold() -> None:
    assert parse_duration("1999ns") == timedelta(microseconds=1)
    assert parse_duration("-1999ns") == timedelta(microseconds=-1)


def test_refuses_centuries() -> None:
    with pytest.raises(ValueError, match="292 years"):
        format_duration(timedelta(days=200_000))
    with pytest.raises(ValueError, match="not a duration"):
        parse_duration("1h" * 101)
