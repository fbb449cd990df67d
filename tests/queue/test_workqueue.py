"""What the queue promises, one by one, where the model does not look or a reader would look for it."""

from __future__ import annotations

import pytest

from trimtab.queue import (
    LOW_PRIORITY,
    Cause,
    FastSlow,
    ItemExponential,
    Limiter,
    MaxOf,
    TokenBucket,
    WorkQueue,
)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def drained(queue: WorkQueue) -> list[str]:
    taken = []
    while item := queue.take():
        taken.append(item.key)
        queue.done(item.key)
    return taken


def test_a_change_made_now_overtakes_the_backlog_of_a_restart() -> None:
    queue = WorkQueue(clock=Clock())
    for number in range(10_000):
        queue.add(str(number), priority=LOW_PRIORITY)
    queue.add("7000")
    queue.add("new")
    assert drained(queue)[:3] == ["7000", "new", "0"]


def test_an_event_in_backoff_runs_at_once_and_is_no_failure() -> None:
    clock = Clock()
    queue = WorkQueue(clock=clock)
    for _ in range(10):
        queue.add_rate_limited("a")
    assert queue.take() is None
    queue.add("a")
    assert drained(queue) == ["a"]
    assert queue.retries("a") == 10
    queue.add_rate_limited("a")
    assert queue.next_ready() == 0.005 * 2**10


def test_backoff_doubles_from_5_ms_to_1000_s_for_ever() -> None:
    limiter = ItemExponential()
    waits = [limiter.when("a") for _ in range(2000)]
    assert waits[:4] == [0.005, 0.01, 0.02, 0.04]
    assert waits[17:19] == [655.36, 1000]
    assert waits[-1] == 1000
    assert (limiter.when("b"), limiter.retries("a")) == (0.005, 2000)
    limiter.forget("a")
    limiter.forget("never seen")
    assert (limiter.retries("a"), limiter.when("a")) == (0, 0.005)


def test_fast_then_slow() -> None:
    limiter = FastSlow(1, 60, 2)
    assert [limiter.when("a") for _ in range(4)] == [1, 1, 60, 60]


def test_a_bucket_lets_a_burst_pass_and_then_its_rate() -> None:
    clock = Clock()
    bucket = TokenBucket(clock=clock, rate=10, burst=3)
    assert [bucket.when(key) for key in "abcde"] == pytest.approx([0, 0, 0, 0.1, 0.2])
    clock.now = 0.3  # one token has come since all places were taken
    assert [bucket.when(key) for key in "ab"] == pytest.approx([0, 0.1])
    clock.now = 1000
    assert [bucket.when(key) for key in "abcd"] == pytest.approx([0, 0, 0, 0.1])


def test_the_strictest_of_several_decides() -> None:
    clock = Clock()
    both: Limiter = MaxOf(ItemExponential(1, 8), TokenBucket(clock=clock, rate=0.5, burst=1))
    assert [both.when("a") for _ in range(3)] == [1, 2, 4]
    assert both.when("b") == 6
    both.forget("a")
    assert (both.retries("a"), both.retries("b")) == (0, 1)


def test_delays_that_are_overtaken_again_and_again_leave_nothing_behind() -> None:
    """A controller that looks at its objects every hour, and at each of their many changes."""
    queue = WorkQueue(clock=Clock())
    for _ in range(1000):
        for key in "abc":
            queue.add_after(key, 3600)
            queue.add(key)
        drained(queue)
    for seconds in range(3600, 1, -1):
        queue.add_after("a", seconds)
    assert len(queue._heap) < 100


def test_what_a_cause_says() -> None:
    queue = WorkQueue()
    queue.add("shop/web", Cause("Deployment", "shop/web", "7", ("spec",)))
    queue.add("shop/web", Cause("Deployment", "shop/web", "8", ("labels", "spec")))
    for number in range(10):
        queue.add("shop/web", Cause("Pod", f"shop/web-{number}", "9", ("deleted",)))
    item = queue.take()
    assert item is not None
    said = str(item.causes)
    assert said.startswith("Deployment shop/web: spec, labels; Pod shop/web-0: deleted; ")
    assert said.endswith("Pod shop/web-6: deleted; and 3 more")
