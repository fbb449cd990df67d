"""Leader election: never two that may write at once, and somebody leads in the end."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from random import Random

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from trimtab.errors import TrimtabError
from trimtab.manager.election import Election, Ended, Read, Record, Role, Timing, Wait, Write

from .electing import QUICK, Fate, World

# What matters is near the limits: an answer that just comes in time, a pause that just outlasts a lease.
LENGTHS = [0.5, 3.0, 6.0, 9.0, 11.0, 14.0, 20.0]
THERE = [0.01, 2.0, 4.9, 8.0, 16.0]
BACK = [0.01, 4.9, None]
DISTURBANCES = ["cut off", "deaf", "slow", "pause", "pause", "kill", "stop", "start", "jump"]


def fates(random: Random, troubled: float) -> Iterator[Fate]:
    while True:
        bad = random.random() < troubled
        yield Fate(random.choice([*THERE, None]), random.choice(BACK)) if bad else Fate(0.01, 0.01)


@given(st.integers(0, 2**32), st.sampled_from([0.0, 0.1, 0.3]), st.integers(0, 5), st.booleans())
@settings(max_examples=600, deadline=None)
def test_never_two_may_write_and_somebody_leads_in_the_end(
    seed: int, troubled: float, troubles: int, jumping: bool
) -> None:
    random = Random(seed)
    world = World(fates(random, troubled))
    # The slowest and the fastest differ by less than lease ÷ renew; by a fifth where one may jump besides.
    rates = [0.92, 1.0, 1.1] if jumping else [0.81, 1.0, 1.2]

    def start() -> None:
        number = len(world.candidates)
        world.start(random.choice(rates), offset=1000.0 * number, random=random.choice([0.0, 0.5, 1.0]))

    for _ in range(3):
        start()
    for _ in range(troubles):  # they come together, and upon one
        when, who = random.uniform(0, 60), random.randrange(4)
        for what in random.choices(DISTURBANCES, k=3):
            then = when + random.uniform(0, 6)
            if what == "start":
                world.at(then, start)
            elif what != "jump":
                world.at(then, partial(world.disturb, what, who, random.choice(LENGTHS)))
            elif jumping:
                jumping = False
                world.at(then, partial(world.disturb, what, who, 1000.0))
    world.run_until(100)
    event(f"{sum(1 for c in world.candidates if c.led)} led, {sum(1 for c in world.candidates if c.lost)} lost it")

    world.peace()
    start()  # what was killed or lost is started anew, by a Deployment
    world.run_until(140)
    assert world.leader is not None
    leader = world.leader
    for second in range(140, 180):
        world.run_until(second)
        assert world.leader is leader, "in peace nobody loses the lease"


def test_the_first_creates_and_the_second_waits_until_the_lease_is_free() -> None:
    world = World()
    first = world.start()
    world.run_until(1)
    second = world.start()
    world.run_until(10)
    assert world.leader is first
    assert [type(step).__name__ for step in world.sent[:2]] == ["Read", "Write"]
    assert world.server.record is not None
    assert (world.server.record.holder, world.server.record.seconds, world.server.record.transitions) == (
        first.election.identity, 15, 0
    )  # fmt: skip
    acquired = world.server.record.acquired
    first.alive = False  # kill -9 right after a renewal, at the worst
    killed = world.now
    while world.leader is not second:
        world.run_until(world.now + 0.1)
    assert killed + 13 < world.now < killed + 15 + 2 * 2.4
    assert world.server.record.transitions == 1
    assert (world.server.record.acquired or 0) > acquired


def test_a_leader_renews_each_retry_period_in_one_request() -> None:
    world = World()
    first = world.start()
    world.run_until(60)
    writes = [step for step in world.sent if isinstance(step, Write)]
    assert len(world.sent) - len(writes) == 1
    assert 28 <= len(writes) <= 31
    assert first.election.deadline is not None
    assert 7.9 < first.election.deadline - first.clock() <= 10  # from the moment the renewal was sent


def test_a_released_lease_is_taken_at_the_next_look() -> None:
    world = World()
    first = world.start()
    world.run_until(20)
    second = world.start()
    world.run_until(20.1)
    first.stop()
    assert first.election.deadline is None  # before the release is even sent
    world.run_until(20.2)
    assert world.server.record is not None
    assert (world.server.record.holder, world.server.record.seconds) == ("", 1)
    assert (first.election.role, first.lost) == (Role.STOPPED, "")
    world.run_until(22.5)
    assert world.leader is second
    assert world.server.record.transitions == 1


def test_who_is_asked_to_stop_during_a_renewal_lets_go_as_soon_as_that_is_answered() -> None:
    world = World(iter([QUICK, QUICK, Fate(0.01, 1.0)]))
    first = world.start()
    world.run_until(2.5)  # the renewal is under way since two seconds
    first.stop()
    world.run_until(3.1)
    assert world.server.record is not None
    assert world.server.record.holder == ""


def test_who_cannot_renew_has_lost_after_the_renew_deadline_and_says_why() -> None:
    world = World(iter([Fate(0.01, 0.01)] * 2 + [Fate(None, None)] * 20))
    first = world.start()
    world.run_until(10)
    assert world.leader is first
    world.run_until(10.1)
    assert not first.alive
    assert first.lost.startswith("it was not renewed for 10.0 s (too late")


def test_who_was_paused_past_its_deadline_has_lost_when_it_wakes() -> None:
    world = World()
    first, second = world.start(), world.start()
    world.run_until(20)
    first.paused_until = 60
    world.run_until(59)
    assert world.leader is second
    world.run_until(61)
    assert first.lost.startswith("it was not renewed for ")
    assert "this process did not run" in first.lost


def test_a_lease_that_somebody_else_has_is_lost_at_once() -> None:
    world = World()
    first = world.start()
    world.run_until(5)
    world.server.record, world.server.version = Record("usurper", 15), 99
    world.run_until(7.1)
    assert first.lost == "usurper took it"


def test_a_deleted_lease_is_not_free_for_who_knew_its_holder() -> None:
    world = World()
    first, second = world.start(), world.start()
    world.run_until(10)
    world.server.delete()
    world.run_until(13)
    assert world.leader is first  # who puts it back at the next renewal
    assert world.server.record is not None
    assert world.server.record.holder == first.election.identity
    first.alive = False
    world.server.delete()
    world.run_until(27)
    assert world.leader is None
    world.run_until(34)
    assert world.leader is second


def test_a_record_without_a_duration_is_held_for_as_long_as_ours() -> None:
    world = World()
    world.server.record, world.server.version = Record("old", 0), 7
    world.start()
    world.run_until(14)
    assert world.leader is None
    world.run_until(20)
    assert world.leader is not None


def election(now: list[float]) -> Election:
    return Election(
        "me", Timing(), clock=lambda: now[0], wall=lambda: datetime(2026, 1, 1, tzinfo=UTC), random=lambda: 1.0
    )


def test_a_server_that_always_refuses_is_asked_at_the_pace_of_retries() -> None:
    me = election([0.0])
    steps: list[object] = []
    for _ in range(8):
        step = me.step()
        steps.append(type(step))
        if isinstance(step, Read):
            me.read(None)
        elif isinstance(step, Write):
            me.refused()
    assert steps == [Read, Write, Read, Write, Wait, Read, Write, Wait]


def test_an_acquisition_whose_answer_came_too_late_is_written_anew_before_leading() -> None:
    now = [0.0]
    me = election(now)
    me.step()
    me.read(None)
    me.step()
    now[0] = 10.0
    me.wrote("1")
    assert me.deadline is None
    step = me.step()
    assert isinstance(step, Write)
    assert (step.version, step.record.transitions) == ("1", 0)
    me.wrote("2")
    assert me.deadline == 20.0


def test_who_only_waited_has_nothing_to_release() -> None:
    me = election([0.0])
    me.stop()
    assert me.step() == Ended("")


@pytest.mark.parametrize(
    ("timing", "why"),
    [
        ((15, 15, 2), "the lease must last longer than the renew deadline"),
        ((15, 2.4, 2), "the renew deadline must be more than 1.2 times the retry period, so more than 2.4 s"),
        ((15, 10, 0), "the retry period must be more than nothing"),
        ((15.5, 10, 2), "whole seconds"),
    ],
)
def test_times_that_make_no_sense_together_are_refused(timing: tuple[float, float, float], why: str) -> None:
    with pytest.raises(TrimtabError, match=why):
        Timing(*timing)
