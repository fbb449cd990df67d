"""`1,3-5,7`."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.local.loops.job.indexes import read_indexes, write_indexes
from trimtab.local.loops.job.look import pause_after


@pytest.mark.parametrize(
    ("text", "completions", "indexes"),
    [
        ("", 3, set()),
        (None, 3, set()),
        ("0,2", 3, {0, 2}),
        ("0-2,4", 5, {0, 1, 2, 4}),
        ("2-9", 4, {2, 3}),
        ("7", 4, set()),
        ("a,1,-,3-b", 5, {1}),
        ("0-99999999999", 2, set()),
    ],
)
def test_reading(text: str | None, completions: int, indexes: set[int]) -> None:
    assert read_indexes(text, completions) == indexes


@pytest.mark.parametrize(
    ("indexes", "text"),
    [(set(), ""), ({3}, "3"), ({3, 4}, "3,4"), ({3, 4, 5}, "3-5"), ({0, 2, 3, 4, 7, 8}, "0,2-4,7,8")],
)
def test_writing(indexes: set[int], text: str) -> None:
    assert write_indexes(indexes) == text


@given(st.sets(st.integers(0, 60)))
def test_what_is_written_is_read(indexes: set[int]) -> None:
    assert read_indexes(write_indexes(indexes), 61) == indexes


@pytest.mark.parametrize(("failures", "pause"), [(0, 0), (1, 10), (2, 20), (4, 80), (7, 600), (1000, 600)])
def test_pauses(failures: int, pause: float) -> None:
    assert pause_after(failures) == pause
