"""What the recorder says of itself, for Prometheus."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from trimtab.controller.events.recorder import Recorder


class EventsCollector(Collector):
    """Collects from a recorder; register it with prometheus-client."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def collect(self) -> Iterator[Metric]:
        """Say how things are now."""
        yield GaugeMetricFamily(
            "trimtab_events_waiting", "Events that wait or are being sent.", value=self._recorder.waiting
        )
        written = CounterMetricFamily("trimtab_events_written", "Events written to the server.", labels=["verb"])
        for verb, count in self._recorder.written.items():
            written.add_metric([verb], count)
        yield written
        dropped = CounterMetricFamily("trimtab_events_dropped", "Events that the server never got.", labels=["cause"])
        for cause, count in self._recorder.dropped.items():
            dropped.add_metric([cause], count)
        yield dropped
