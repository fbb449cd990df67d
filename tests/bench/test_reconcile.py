import sys
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from bench.cost import Cost
from bench.harness import BenchError, Contestant, Scenario, compete
from bench.place import Place
from bench.reconcile import contest
from bench.reconcile.job import Job, Reconciled
from bench.reconcile.program import asked_for
from bench.reconcile.settling import Settling

LINE = Reconciled.of(Cost(cpu=0.5, wall=2.0, count=1000, rss=60_000_000, version="peer 1.0"))


def scenario(mode: str, objects: int) -> Scenario:
    printing = f"print({msgspec.json.encode(LINE).decode()!r})"
    peer = Contestant("peer", (sys.executable, "-c", printing))
    return replace(contest.scenario(mode, 16, objects, Place("k", "n", Path()), "go"), contestants=(peer,))


def test_a_contestant_prints_what_the_issue_names() -> None:
    told = msgspec.json.decode(msgspec.json.encode(LINE))
    assert told.pop("version") == "peer 1.0"
    assert told == {"n": 1000, "wall_s": 2.0, "cpu_s": 0.5, "us_cpu_per_object": 500.0, "rss_mb": 60.0}


async def test_a_write_is_judged_by_its_time_too() -> None:
    noop = await compete(scenario("noop", 1000), 1, lambda _: None)
    patch = await compete(scenario("patch", 1000), 1, lambda _: None)
    assert [(o.question.name, o.entries[0].readings[0].each) for o in noop] == [("noop", 500.0)]
    assert [(o.question.name, o.entries[0].readings[0].each) for o in patch] == [("patch", 500.0), ("patch wall", 2.0)]


async def test_who_did_less_is_not_compared() -> None:
    with pytest.raises(BenchError, match=r"peer \(noop\) reconciled 1,000 of 2,000 objects"):
        await compete(scenario("noop", 2000), 1, lambda _: None)


def test_all_are_done_when_each_was_seen_as_it_should_be() -> None:
    ended: list[bool] = []
    settling = Settling(Job("k", "n", "noop", objects=2))
    settling.finished = lambda: ended.append(True)
    for name in ("a", "a", "b"):
        assert not ended
        settling.settled(name)
    assert ended == [True]


def test_no_value_was_written_by_an_earlier_run() -> None:
    assert Settling(Job("k", "n", "noop")).value == ""
    assert Settling(Job("k", "n", "patch")).value != Settling(Job("k", "n", "patch")).value


def test_a_contestant_is_told_from_a_contest() -> None:
    assert asked_for(["reconcile", "--kubeconfig", "k", "--mode", "noop", "--json"])
    assert not asked_for(["reconcile", "--objects", "10"])
    assert not asked_for(["informer", "--json"])
