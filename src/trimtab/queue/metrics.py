"""What work queues say of themselves, for Prometheus, under the names that controller-runtime gives it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

from trimtab.queue.histogram import Histogram
from trimtab.queue.workqueue import WorkQueue

_COUNTERS: Final[tuple[tuple[str, str, Callable[[WorkQueue], int]], ...]] = (
    ("adds", "Keys that became ready.", lambda queue: queue.adds),
    ("retries", "Keys that were added with a delay: retries, requeues.", lambda queue: queue.delays),
)
_HISTOGRAMS: Final[tuple[tuple[str, str, Callable[[WorkQueue], Histogram]], ...]] = (
    ("queue_duration_seconds", "How long keys waited when they were ready.", lambda queue: queue.waited),
    ("work_duration_seconds", "How long keys were worked on.", lambda queue: queue.worked),
)
_AGES: Final[tuple[tuple[str, str, Callable[[list[float]], float]], ...]] = (
    ("unfinished_work_seconds", "How long what is worked on now has been, together.", sum),
    ("longest_running_processor_seconds", "How long the longest of it has been.", lambda ages: max(ages, default=0.0)),
)


class QueueCollector(Collector):
    """Collects from queues by the names of their controllers; register it with prometheus-client.

    The mapping may change later. No label names a key.
    """

    def __init__(self, queues: Mapping[str, WorkQueue]) -> None:
        self._queues = queues

    def collect(self) -> Iterator[Metric]:
        """Say how things are now."""
        queues = list(self._queues.items())
        depth = GaugeMetricFamily("workqueue_depth", "Keys that are ready.", labels=["name", "controller", "priority"])
        for name, queue in queues:
            for priority, keys in queue.depth().items():
                depth.add_metric([name, name, str(priority)], keys)
        yield depth
        labels = ["name", "controller"]
        for metric, text, count in _COUNTERS:
            counter = CounterMetricFamily(f"workqueue_{metric}", text, labels=labels)
            for name, queue in queues:
                counter.add_metric([name, name], count(queue))
            yield counter
        for metric, text, histogram_of in _HISTOGRAMS:
            histogram = HistogramMetricFamily(f"workqueue_{metric}", text, labels=labels)
            for name, queue in queues:
                measured = histogram_of(queue)
                histogram.add_metric([name, name], measured.buckets(), measured.total)
            yield histogram
        for metric, text, of in _AGES:
            gauge = GaugeMetricFamily(f"workqueue_{metric}", text, labels=labels)
            for name, queue in queues:
                now = queue.now()
                ages = [now - item.taken_at for item in queue.working.values()]
                gauge.add_metric([name, name], of(ages))
            yield gauge
