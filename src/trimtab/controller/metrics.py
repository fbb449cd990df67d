"""What controllers count, under controller-runtime's names. Plain numbers; Prometheus asks for them when it looks."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from itertools import accumulate
from typing import Final

from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

BOUNDS: Final = (
    *(0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9),
    *(1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0),
    *(10.0, 15.0, 20.0, 25.0, 30.0, 40.0, 50.0, 60.0),
)
"""Seconds, as controller-runtime's."""

RESULTS: Final = ("error", "requeue", "requeue_after", "success")


class Numbers:
    """The numbers of one controller."""

    __slots__ = ("active", "counts", "panics", "results", "terminal", "timeouts", "total", "workers")

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self.active = 0
        self.results = dict.fromkeys(RESULTS, 0)
        self.terminal = 0
        self.panics = 0
        self.timeouts = 0
        self.counts = [0] * (len(BOUNDS) + 1)  # the last: longer than any bound
        self.total = 0.0

    def took(self, seconds: float) -> None:
        """Count how long one took."""
        self.counts[bisect_left(BOUNDS, seconds)] += 1
        self.total += seconds


_COUNTERS: Final[tuple[tuple[str, str, Callable[[Numbers], int]], ...]] = (
    ("reconcile_errors", "Reconciles that failed.", lambda n: n.results["error"]),
    ("terminal_reconcile_errors", "Reconciles that failed for good: they are not tried again.", lambda n: n.terminal),
    ("reconcile_panics", "Reconciles that failed by a mistake in the program.", lambda n: n.panics),
    ("reconcile_timeouts", "Reconciles that took longer than they may.", lambda n: n.timeouts),
)
_GAUGES: Final[tuple[tuple[str, str, Callable[[Numbers], int]], ...]] = (
    ("max_concurrent_reconciles", "How many may be at work at once.", lambda n: n.workers),
    ("active_workers", "How many are at work.", lambda n: n.active),
)


class ControllerCollector(Collector):
    """Collects from controllers by their names, as `Controllers.numbers` has them; register it with prometheus-client.

    The mapping may change later. No label names an object.
    """

    def __init__(self, numbers: Mapping[str, Numbers]) -> None:
        self._numbers = numbers

    def collect(self) -> Iterator[Metric]:
        """Say how things are now."""
        numbers = dict(self._numbers)
        total = CounterMetricFamily(
            "controller_runtime_reconcile", "Reconciles, by what came of them.", labels=["controller", "result"]
        )
        times = HistogramMetricFamily(
            "controller_runtime_reconcile_time_seconds", "How long reconciles took.", labels=["controller"]
        )
        for name, of in numbers.items():
            for result, count in of.results.items():
                total.add_metric([name, result], count)
            buckets = zip([*map(str, BOUNDS), "+Inf"], accumulate(of.counts), strict=True)
            times.add_metric([name], list(buckets), of.total)
        yield total
        yield times
        for name, text, value in _COUNTERS:
            yield _each(CounterMetricFamily(f"controller_runtime_{name}", text, labels=["controller"]), numbers, value)
        for name, text, value in _GAUGES:
            yield _each(GaugeMetricFamily(f"controller_runtime_{name}", text, labels=["controller"]), numbers, value)


def _each(
    metric: CounterMetricFamily | GaugeMetricFamily, numbers: Mapping[str, Numbers], value: Callable[[Numbers], int]
) -> Metric:
    for name, of in numbers.items():
        metric.add_metric([name], value(of))
    return metric
