"""The reflector's decisions, one by one, and that it comes through whatever a server may do."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from trimtab.cache.backoff import Backoff
from trimtab.cache.reflector import ListPage, OpenWatch, Phase, Reflector, Step, Wait
from trimtab.client import (
    ApiError,
    BadRequest,
    Broken,
    Expired,
    Forbidden,
    InternalError,
    Invalid,
    NotFound,
    Stalled,
    Timeout,
    TooManyRequests,
    Unreachable,
)
from trimtab.kube.meta.v1 import Status, StatusCause, StatusDetails


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def refusal(cls: type[ApiError], cause: str = "") -> ApiError:
    causes = [StatusCause(reason=cause)] if cause else []
    return cls("list pods", Status(reason=cls.reason, details=StatusDetails(causes=causes)))


EXPIRED = refusal(Expired)
TOO_LARGE = refusal(Timeout, "ResourceVersionTooLarge")
BUSY = refusal(TooManyRequests)
REFUSED = Unreachable("connection refused")


def reflector(clock: Clock, **options: Any) -> Reflector:
    return Reflector(clock=clock, random=lambda: 0.0, **options)


def listing(clock: Clock) -> Reflector:
    """One that has asked for its first page."""
    made = reflector(clock, stream_state=False)
    assert made.step() == ListPage("0", "", 500)
    return made


def following(clock: Clock, version: str = "7") -> Reflector:
    """One that has listed, and watches since then."""
    made = listing(clock)
    assert made.page(version, "")
    assert made.step() == OpenWatch(version, initial_events=False, timeout=300)
    return made


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_the_state_is_streamed_first_and_the_stream_goes_on(clock: Clock) -> None:
    r = reflector(clock)
    assert r.step() == OpenWatch("", initial_events=True, timeout=300)
    r.event("3", added=True)
    assert r.resource_version == ""  # events of the state come in any order: none of them is where to go on
    assert r.bookmark("9", ends_state=True)
    r.event("12", added=False)
    assert (r.phase, r.resource_version) == (Phase.FOLLOWING, "12")
    clock.now += 300
    r.closed()
    assert r.step() == OpenWatch("12", initial_events=False, timeout=300)


@pytest.mark.parametrize("error", [refusal(Invalid), refusal(BadRequest)])
def test_a_server_that_refuses_to_stream_the_state_is_asked_for_a_list_at_once_and_for_good(
    clock: Clock, error: ApiError
) -> None:
    r = reflector(clock)
    r.step()
    r.failed(error)
    assert r.step() == ListPage("0", "", 500)
    r.page("7", "")
    r.step()
    r.failed(EXPIRED)
    clock.now += 2
    assert next_request(r) == ListPage("7", "", 0)


@pytest.mark.parametrize("tell", ["change", "bookmark", "end"])
def test_a_server_that_does_not_know_how_to_stream_the_state_is_asked_for_a_list(clock: Clock, tell: str) -> None:
    """It passes over what it does not know, sends what there is, and never says that this was all."""
    r = reflector(clock)
    r.step()
    clock.now += 5
    r.event("3", added=True)
    if tell == "change":
        r.event("4", added=False)
    elif tell == "bookmark":
        assert not r.bookmark("4", ends_state=False)
    else:
        r.closed()
    assert r.phase is Phase.NEEDS_STATE
    assert r.step() == ListPage("0", "", 500)


def test_a_stream_of_the_state_that_breaks_gives_way_to_a_list_this_time(clock: Clock) -> None:
    r = reflector(clock)
    r.step()
    r.failed(Broken("cut"))
    assert r.step() == Wait(0.8, "cut")
    assert r.step() == ListPage("0", "", 500)
    r.page("7", "")
    r.step()
    clock.now += 5
    r.failed(EXPIRED)
    assert r.step() == OpenWatch("7", initial_events=True, timeout=300)


def test_pages_follow_each_other_until_the_state_is_whole(clock: Clock) -> None:
    r = listing(clock)
    assert not r.page("7", "t1")
    assert r.step() == ListPage("0", "t1", 500)
    assert not r.page("7", "t2")
    assert r.step() == ListPage("0", "t2", 500)
    assert r.resource_version == ""
    assert r.page("7", "")
    assert r.resource_version == "7"


def test_an_expired_token_leads_to_one_whole_list(clock: Clock) -> None:
    r = listing(clock)
    r.page("7", "t1")
    r.step()
    r.failed(EXPIRED)
    assert r.step() == ListPage("0", "", 0)
    r.failed(EXPIRED)  # that too: now it is the version
    assert r.step() == ListPage("", "", 500)


@pytest.mark.parametrize("error", [EXPIRED, TOO_LARGE])
def test_a_version_that_the_server_does_not_have_is_dropped_at_once_but_only_once(
    clock: Clock, error: ApiError
) -> None:
    r = following(clock)
    r.failed(EXPIRED)
    assert next_request(r) == ListPage("7", "", 0)  # the last version first: time must not go back
    r.failed(error)
    assert r.step() == ListPage("", "", 500)
    r.failed(error)
    assert isinstance(r.step(), Wait)
    assert r.step() == ListPage("", "", 500)
    r.page("20", "")
    assert r.step() == OpenWatch("20", initial_events=False, timeout=300)
    clock.now += 60
    r.failed(EXPIRED)
    assert r.step() == ListPage("20", "", 0)  # that was another version


def test_a_server_that_pages_version_0_has_pages_later_too(clock: Clock) -> None:
    r = listing(clock)
    r.page("7", "t")
    r.step()
    r.page("7", "")
    r.step()
    r.failed(EXPIRED)
    assert next_request(r) == ListPage("7", "", 500)


@pytest.mark.parametrize("error", [REFUSED, BUSY])
def test_refused_or_busy_backs_off_and_watches_on_from_the_last_version(clock: Clock, error: Any) -> None:
    r = following(clock)
    r.bookmark("9", ends_state=False)
    for pause in (0.8, 1.6, 3.2):
        r.failed(error)
        assert r.step() == Wait(pause, str(error))
        assert r.step() == OpenWatch("9", initial_events=False, timeout=300)


@pytest.mark.parametrize("error", [Broken("cut"), Stalled("silent")])
def test_a_stream_that_broke_is_resumed_at_once(clock: Clock, error: Any) -> None:
    r = following(clock)
    r.event("8", added=True)
    clock.now += 75
    r.failed(error)
    assert r.step() == OpenWatch("8", initial_events=False, timeout=300)


def test_410_in_the_stream_leads_to_a_new_state_at_once(clock: Clock) -> None:
    r = following(clock)
    clock.now += 60
    r.failed(EXPIRED)
    assert r.step() == ListPage("7", "", 0)


def test_410_after_a_restart_of_the_server_leads_to_a_new_state_at_once_but_not_again_and_again(clock: Clock) -> None:
    r = following(clock)
    for _ in range(8):  # while it is away
        r.failed(Unreachable("refused"))
        wait = r.step()
        assert isinstance(wait, Wait)
        clock.now += wait.seconds
        assert r.step() == OpenWatch("7", initial_events=False, timeout=300)
    r.failed(EXPIRED)
    assert r.step() == ListPage("7", "", 0)
    r.page("9", "")
    assert isinstance(r.step(), OpenWatch)
    r.failed(EXPIRED)  # of the very version that it has just told
    assert isinstance(r.step(), Wait)
    assert r.step() == ListPage("9", "", 0)
    r.page("9", "")
    assert isinstance(r.step(), OpenWatch)
    r.event("10", added=True)
    r.failed(EXPIRED)
    assert r.step() == ListPage("10", "", 0)


@pytest.mark.parametrize("error", [refusal(InternalError), refusal(Forbidden), refusal(NotFound)])
def test_any_other_refusal_of_a_watch_leads_to_a_new_state_after_a_pause(clock: Clock, error: ApiError) -> None:
    r = following(clock)
    clock.now += 60
    r.failed(error)
    assert r.step() == Wait(0.8, str(error))
    assert r.step() == ListPage("7", "", 0)


@pytest.mark.parametrize("how", ["closed", "broken"])
def test_a_watch_that_ends_at_once_with_nothing_is_a_failure(clock: Clock, how: str) -> None:
    for waits in (True, False):
        r = following(clock)
        clock.now += 0.9 if waits else 1.1
        if how == "closed":
            r.closed()
        else:
            r.failed(Broken("cut"))
        assert isinstance(r.step(), Wait) == waits
    r = following(clock)
    r.event("8", added=True)  # it gave something
    r.closed()
    assert isinstance(r.step(), OpenWatch)


def test_a_kind_that_is_not_served_is_asked_for_with_growing_pauses(clock: Clock) -> None:
    r = reflector(clock)
    pauses: list[float] = []
    for _ in range(8):
        assert isinstance(r.step(), OpenWatch)
        r.failed(refusal(NotFound))
        wait = r.step()
        assert isinstance(wait, Wait)
        pauses.append(wait.seconds)
    assert pauses == [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30, 30]


def test_watches_last_five_to_ten_minutes() -> None:
    for dice, timeout in ((0.0, 300), (0.5, 450), (0.999, 599)):
        step = Reflector(clock=Clock(), random=lambda dice=dice: dice).step()
        assert isinstance(step, OpenWatch)
        assert step.timeout == timeout


def test_pauses_are_spread_and_begin_anew_after_two_minutes_of_health() -> None:
    clock = Clock()
    backoff = Backoff(clock=clock, random=lambda: 0.5)
    assert [backoff.pause() for _ in range(3)] == pytest.approx([1.2, 2.4, 4.8])
    clock.now += 119
    assert backoff.pause() == pytest.approx(9.6)
    clock.now += 121
    assert backoff.pause() == pytest.approx(1.2)


def next_request(r: Reflector) -> Step:
    step = r.step()
    return r.step() if isinstance(step, Wait) else step


class AnyServer(RuleBasedStateMachine):
    """A server with a history of versions does whatever a server may. What is held must be a state that there was."""

    @initialize(streams=st.booleans())
    def begin(self, streams: bool) -> None:
        self.clock = Clock()
        self.reflector = Reflector(clock=self.clock, random=lambda: 0.3)
        self.streams = streams
        self.now = 5  # the newest version; each is a change
        self.oldest = 1  # that a watch may begin from
        self.known = 0  # up to which changes are held
        self.sent = 0  # up to where the open stream is
        self.step: Step = self.reflector.step()

    def go_on(self) -> None:
        self.step = next_request(self.reflector)

    @rule(changes=st.integers(1, 4))
    def change(self, changes: int) -> None:
        self.now += changes

    @rule()
    def compact(self) -> None:
        self.oldest = self.now

    @rule(seconds=st.sampled_from([0.5, 30, 400]))
    def wait(self, seconds: float) -> None:
        self.clock.now += seconds

    @precondition(lambda self: isinstance(self.step, ListPage))
    @rule(more=st.booleans())
    def answer_list(self, more: bool) -> None:
        assert isinstance(self.step, ListPage)
        if self.step.resource_version not in ("", "0") and int(self.step.resource_version) < self.oldest:
            self.reflector.failed(EXPIRED)
        elif self.reflector.page(str(self.now), "token" if more and self.step.limit else ""):
            self.known = self.now
        self.go_on()

    @precondition(lambda self: isinstance(self.step, OpenWatch))
    @rule(
        deliver=st.integers(0, 3), end=st.sampled_from(["no", "closed", "cut", "refused", "busy", "error", "stalled"])
    )
    def answer_watch(self, deliver: int, end: str) -> None:
        step = self.step
        assert isinstance(step, OpenWatch)
        if step.initial_events and not self.streams:
            self.reflector.failed(refusal(Invalid))
            return self.go_on()
        if step.resource_version and int(step.resource_version) < self.oldest:
            self.reflector.failed(EXPIRED)
            return self.go_on()
        if step.initial_events:
            self.reflector.event(str(self.now), added=True)
            if end == "no" and self.reflector.bookmark(str(self.now), ends_state=True):
                self.known = self.now
        else:
            assert int(step.resource_version) == self.known, "a change would be missed, or come twice"
        if self.reflector.phase is Phase.FOLLOWING:
            for version in range(self.known + 1, min(self.now, self.known + deliver) + 1):
                self.reflector.event(str(version), added=version % 2 == 0)
                self.known = version
        match end:
            case "no" | "closed":
                self.reflector.closed()
            case "cut":
                self.reflector.failed(Broken("cut"))
            case "stalled":
                self.reflector.failed(Stalled("silent"))
            case "refused":
                self.reflector.failed(REFUSED)
            case "busy":
                self.reflector.failed(BUSY)
            case _:
                self.reflector.failed(refusal(InternalError))
        return self.go_on()

    @invariant()
    def what_is_held_is_where_it_goes_on(self) -> None:
        assert self.reflector.resource_version in ("", str(self.known))
        assert not isinstance(self.step, Wait), "two pauses in a row"

    def teardown(self) -> None:
        """With the faults over, it gets to know the newest state in a few steps."""
        for _ in range(8):
            self.clock.now += 60
            if isinstance(self.step, ListPage):
                self.answer_list(more=False)
            else:
                self.answer_watch(deliver=self.now, end="no")
        assert self.known == self.now


TestAnyServer = AnyServer.TestCase
TestAnyServer.settings = settings(max_examples=150, stateful_step_count=30, deadline=None)
