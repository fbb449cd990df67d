"""What Prometheus is told of queues."""

from __future__ import annotations

from prometheus_client import CollectorRegistry

from trimtab.queue import LOW_PRIORITY, WorkQueue
from trimtab.queue.metrics import QueueCollector


def test_dashboards_for_controller_runtime_find_what_they_look_for() -> None:
    now = 100.0
    queue = WorkQueue(clock=lambda: now)
    registry = CollectorRegistry()
    registry.register(QueueCollector({"restarter": queue}))

    def say(name: str, **labels: str) -> float | None:
        return registry.get_sample_value(
            f"workqueue_{name}", {"name": "restarter", "controller": "restarter", **labels}
        )

    for name in ("adds_total", "retries_total", "queue_duration_seconds_count", "work_duration_seconds_count"):
        assert say(name) == 0, name  # before anything happened
    assert (say("depth", priority="0"), say("depth", priority="-100")) == (0, 0)

    for key in ("a", "b", "c"):
        queue.add(key, priority=LOW_PRIORITY)
    queue.add("c")
    queue.add_after("d", 60)
    now = 100.5
    for _ in range(2):
        queue.take()
    queue.add("c")  # it waits for its worker, and counts as waiting
    now = 103.0
    assert (say("depth", priority="0"), say("depth", priority="-100")) == (1, 1)
    assert (say("adds_total"), say("retries_total")) == (4, 1)
    assert (say("unfinished_work_seconds"), say("longest_running_processor_seconds")) == (5.0, 2.5)
    queue.done("c")
    now = 203.0
    queue.done("a")
    assert (say("queue_duration_seconds_count"), say("queue_duration_seconds_sum")) == (2, 1.0)
    assert (say("queue_duration_seconds_bucket", le="0.1"), say("queue_duration_seconds_bucket", le="1.0")) == (0, 2)
    assert (say("work_duration_seconds_count"), say("work_duration_seconds_sum")) == (2, 105.0)
    buckets = [say("work_duration_seconds_bucket", le=le) for le in ("1.0", "10.0", "100.0", "1000.0", "+Inf")]
    assert buckets == [0, 1, 1, 2, 2]
    assert say("unfinished_work_seconds") == 0
