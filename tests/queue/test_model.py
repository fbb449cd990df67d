"""The work queue against a naive one, which keeps a list of all that waits and looks through it each time."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from trimtab.errors import TrimtabError
from trimtab.queue import LOW_PRIORITY, Cause, ItemExponential, WorkQueue
from trimtab.queue.causes import MOST

KEYS = st.sampled_from("abcdef")
PRIORITIES = st.sampled_from([0, 0, LOW_PRIORITY, 7])
SECONDS = st.sampled_from([-1, 0, 1, 2, 3, 5, 8, 30])
CAUSES = st.none() | st.builds(
    Cause,
    st.sampled_from(["Pod", "ConfigMap"]),
    st.sampled_from("123456"),
    st.sampled_from(["", "7", "8"]),
    st.sampled_from([("spec",), ("status",), ("spec", "labels"), ("retry",)]),
)


@dataclass
class Waiting:
    """A key that waits, in the naive queue."""

    key: str
    priority: int
    ready_at: float
    pushed: int  # of two that are ready at the same time, this one was told first
    place: int | None = None  # in the line, once it is ready
    causes: list[Cause] = field(default_factory=list)


class Naive:
    """What the queue promises, with no thought of how long it takes."""

    def __init__(self) -> None:
        self.now = 0.0
        self.waiting: list[Waiting] = []
        self.working: dict[str, float] = {}
        self.failures: dict[str, int] = {}
        self.numbers = iter(range(10**9))
        self.adds = self.delays = 0
        self.waited: list[float] = []
        self.worked: list[float] = []
        self.ends_at: float | None = None

    def pass_time(self) -> None:
        due = [one for one in self.waiting if one.place is None and one.ready_at <= self.now]
        for one in sorted(due, key=lambda one: (one.ready_at, one.pushed)):
            one.place = next(self.numbers)
            self.adds += 1

    def find(self, key: str) -> Waiting | None:
        return next((one for one in self.waiting if one.key == key), None)

    def add(self, key: str, seconds: float, cause: Cause | None, priority: int) -> None:
        if self.ends_at is not None:
            return
        self.pass_time()
        if seconds > 0:
            self.delays += 1
        ready_at = self.now + max(seconds, 0)
        one = self.find(key)
        if one is None:
            one = Waiting(key, priority, ready_at, next(self.numbers))
            self.waiting.append(one)
        else:
            if priority > one.priority:
                one.priority = priority
                if one.place is not None:
                    one.place = next(self.numbers)
            if one.place is None and ready_at < one.ready_at:
                one.ready_at, one.pushed = ready_at, next(self.numbers)
        if cause is not None:
            one.causes.append(cause)
        self.pass_time()

    def ready(self) -> list[Waiting]:
        self.pass_time()
        return [one for one in self.waiting if one.place is not None and one.key not in self.working]

    def take(self) -> Waiting | None:
        ready = self.ready()
        if not ready or (self.ends_at is not None and self.now >= self.ends_at):
            return None
        first = min(ready, key=lambda one: (-one.priority, one.place))
        self.waiting.remove(first)
        self.working[first.key] = self.now
        self.waited.append(self.now - first.ready_at)
        return first

    def done(self, key: str) -> None:
        self.pass_time()
        self.worked.append(self.now - self.working.pop(key))
        again = self.find(key)
        if again is not None and again.place is not None:
            again.place = next(self.numbers)

    def shut_down(self, drain: float) -> None:
        self.pass_time()
        self.waiting = [one for one in self.waiting if one.place is not None]
        self.ends_at = min(self.now + drain, self.now + drain if self.ends_at is None else self.ends_at)


def merged(causes: list[Cause]) -> tuple[list[Cause], int]:
    """Each object once, where it was first named, with its newest version and all that happened; no more than MOST."""
    objects = list(dict.fromkeys((cause.kind, cause.key) for cause in causes))[:MOST]
    known: list[Cause] = []
    for kind, key in objects:
        same = [cause for cause in causes if (cause.kind, cause.key) == (kind, key)]
        versions = [cause.resource_version for cause in same if cause.resource_version]
        what = tuple(dict.fromkeys(one for cause in same for one in cause.what))
        known.append(Cause(kind, key, versions[-1] if versions else "", what))
    return known, sum((cause.kind, cause.key) not in objects for cause in causes)


class Queues(RuleBasedStateMachine):
    """Both queues, told the same, say the same."""

    def __init__(self) -> None:
        super().__init__()
        self.naive = Naive()
        self.queue = WorkQueue(clock=lambda: self.naive.now, limiter=ItemExponential(1, 20))

    @rule(key=KEYS, cause=CAUSES, priority=PRIORITIES)
    def add(self, key: str, cause: Cause | None, priority: int) -> None:
        self.queue.add(key, cause, priority=priority)
        self.naive.add(key, 0, cause, priority)

    @rule(key=KEYS, seconds=SECONDS, cause=CAUSES, priority=PRIORITIES)
    def add_after(self, key: str, seconds: float, cause: Cause | None, priority: int) -> None:
        self.queue.add_after(key, seconds, cause, priority=priority)
        self.naive.add(key, seconds, cause, priority)

    @rule(key=KEYS, cause=CAUSES, priority=PRIORITIES)
    def add_rate_limited(self, key: str, cause: Cause | None, priority: int) -> None:
        self.queue.add_rate_limited(key, cause, priority=priority)
        if self.naive.ends_at is None:
            failures = self.naive.failures.get(key, 0)
            self.naive.failures[key] = failures + 1
            self.naive.add(key, min(2**failures, 20), cause, priority)

    @rule(key=KEYS)
    def forget(self, key: str) -> None:
        self.queue.forget(key)
        self.naive.failures.pop(key, None)

    @rule(seconds=st.sampled_from([1, 2, 3, 20]))
    def time_passes(self, seconds: float) -> None:
        self.naive.now += seconds

    @rule()
    def take(self) -> None:
        item, expected = self.queue.take(), self.naive.take()
        if item is None or expected is None:
            assert item is expected
            return
        assert (item.key, item.priority) == (expected.key, expected.priority)
        assert (list(item.causes), item.causes.more) == merged(expected.causes)

    @precondition(lambda self: self.naive.working)
    @rule(which=st.integers(0, 10))
    def done(self, which: int) -> None:
        key = list(self.naive.working)[which % len(self.naive.working)]
        self.queue.done(key)
        self.naive.done(key)

    @rule(key=KEYS)
    def done_without_take(self, key: str) -> None:
        if key not in self.naive.working:
            self.naive.pass_time()
            with pytest.raises(TrimtabError, match="nobody had taken it"):
                self.queue.done(key)

    @precondition(lambda self: self.naive.now > 5)
    @rule(drain=st.sampled_from([0, 2, 4, 25]))
    def shut_down(self, drain: float) -> None:
        self.queue.shut_down(drain=drain)
        self.naive.shut_down(drain)

    @rule()
    def what_it_says_of_itself(self) -> None:
        """Not after each step: whoever asks makes the queue look at the clock."""
        naive, queue = self.naive, self.queue
        naive.pass_time()
        assert queue.working.keys() == naive.working.keys()
        assert [queue.retries(key) for key in "abcdef"] == [naive.failures.get(key, 0) for key in "abcdef"]
        lined_up = [one.priority for one in naive.waiting if one.place is not None]
        assert {p: n for p, n in queue.depth().items() if n} == {p: lined_up.count(p) for p in lined_up}
        assert len(queue) == len(naive.ready())
        assert queue._delayed == len(naive.waiting) - len(lined_up)
        assert (queue.adds, queue.delays) == (naive.adds, naive.delays)
        assert (sum(queue.waited.counts), queue.waited.total) == (len(naive.waited), sum(naive.waited))
        assert (sum(queue.worked.counts), queue.worked.total) == (len(naive.worked), sum(naive.worked))

    @invariant()
    def when_to_ask_again(self) -> None:
        naive = self.naive
        finished = naive.ends_at is not None and (not naive.waiting or naive.now >= naive.ends_at)
        assert self.queue.finished == finished
        if naive.ends_at is not None:
            assert self.queue.next_ready() == (None if finished else naive.ends_at)
        else:
            assert self.queue.next_ready() == min((w.ready_at for w in naive.waiting if w.place is None), default=None)

    def teardown(self) -> None:
        self.naive.now += 1000
        self.what_it_says_of_itself()
        while self.naive.ready() and self.naive.ends_at is None:
            self.take()


TestQueues = Queues.TestCase
TestQueues.settings = settings(max_examples=400, stateful_step_count=40, deadline=None)
