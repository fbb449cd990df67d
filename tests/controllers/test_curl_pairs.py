"""The annotation of curl-me-that: what it may say, and what is said of one that says something else."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.controllers.curl_me_that.pairs import ANNOTATIONS, MOST_PAIRS, Pair, read_pairs

ONE, OTHER = ANNOTATIONS


def read(text: str) -> tuple[dict[str, Pair], list[str]]:
    wanted = read_pairs({ONE: text})
    return wanted.pairs, [f"{problem.reason}: {problem.text}" for problem in wanted.problems]


@pytest.mark.parametrize(
    ("line", "url", "seconds"),
    [
        ("mydata=data.example.com", "http://data.example.com", None),
        ("mydata = data.example.com/a?b=c=d", "http://data.example.com/a?b=c=d", None),
        ("mydata=localhost:8080/x", "http://localhost:8080/x", None),
        ("mydata=https://data.example.com/x#part", "https://data.example.com/x", None),
        ("mydata=http://[2001:db8::1]:80/", "http://[2001:db8::1]:80/", None),
        ("mydata=data.example.com every 1h30m", "http://data.example.com", 5400),
        ("  mydata=data.example.com   every 10s ", "http://data.example.com", 10),
    ],
)
def test_a_pair(line: str, url: str, seconds: float | None) -> None:
    every = timedelta(seconds=seconds) if seconds else None
    assert read(line) == ({"mydata": Pair("mydata", url, every)}, [])


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("mydata=totally not a url", "BadURL: 'mydata=totally not a url': a URL has no spaces"),
        ("mydata", "BadPair: 'mydata' is no pair: write key=url, such as mydata=data.example.com"),
        ("mydata=", "BadPair: 'mydata=' is no pair: write key=url"),
        ("my data=x.com", "BadKey: 'my data=x.com': a key has only letters"),
        ("=x.com", "BadKey: "),
        ("..=x.com", "BadKey: "),
        (f"{'k' * 254}=x.com", "BadKey: "),
        ("a=ftp://x.com", "BadURL: 'a=ftp://x.com': ftp is not fetched, only http and https are"),
        ("a=file:///etc/passwd", "BadURL: 'a=file:///etc/passwd': file is not fetched"),
        ("a=http://", "BadURL: 'a=http://': that is no URL: it names no host"),
        ("a=http://x.com:99999", "BadURL: "),
        ("a=http://[::1", "BadURL: "),
        ("a=http://[fe80::1%25eth0]/", "BadURL: "),
        ("a=http://%31%32%37.0.0.1/", "BadURL: "),
        ("a=x.com\\@y.com", "BadURL: "),
        (f"a=x.com/{'y' * 2100}", "BadURL: "),
        ("a=x.com every soon", "BadPair: 'a=x.com every soon': 'soon' is not a duration"),
        ("a=x.com every 1s", "BadPair: 'a=x.com every 1s': every 1s is too often: every 10s is what is allowed"),
        ("a=x.com every -1h", "BadPair: "),
    ],
)
def test_what_is_no_pair(line: str, problem: str) -> None:
    pairs, problems = read(line)
    assert pairs == {}
    assert len(problems) == 1
    assert problems[0].startswith(problem)


def test_lines_are_pairs_and_a_bad_one_is_no_trouble_to_the_others() -> None:
    wanted = read_pairs({ONE: "a=x.com\n\n  b=totally not a url\r\nc=y.com", OTHER: "d=z.com", "other": "e=z.com"})
    assert [*wanted.pairs] == ["a", "c", "d"]
    assert wanted.named == {"a", "b", "c", "d"}  # that of the bad one too: its data is left alone
    assert len(wanted.problems) == 1


def test_a_key_that_is_named_twice_is_fetched_from_neither() -> None:
    wanted = read_pairs({ONE: "a=x.com", OTHER: "a=y.com"})
    assert (wanted.pairs, wanted.named) == ({}, {"a"})
    assert "a is named twice" in wanted.problems[0].text


def test_there_is_an_end() -> None:
    wanted = read_pairs({ONE: "\n".join(f"k{i}=x.com" for i in range(MOST_PAIRS + 5))})
    assert len(wanted.pairs) == MOST_PAIRS
    assert len(wanted.problems) == 5


@pytest.mark.parametrize("line", ["a=http://me:hunter2@x.com/", "a=me:hunter2@x.com", "me:hunter2@x.com"])
def test_passwords_are_refused_and_not_shown(line: str) -> None:
    pairs, problems = read(line)
    assert pairs == {}
    assert "hunter2" not in problems[0]


def test_what_may_be_secret_in_a_query_is_not_shown() -> None:
    pairs, _ = read("a=https://x.com/y?token=hunter2")
    assert pairs["a"].url == "https://x.com/y?token=hunter2"
    assert str(pairs["a"]) == "a=https://x.com/y?…"


@given(st.text(max_size=60))
def test_whatever_people_write_is_read(text: str) -> None:
    wanted = read_pairs({ONE: text})
    assert wanted.named >= wanted.pairs.keys()
    if text.strip() and any(line.strip() for line in text.splitlines()):
        assert wanted.pairs or wanted.problems
