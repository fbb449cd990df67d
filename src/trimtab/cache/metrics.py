"""What the cache says of itself, for Prometheus. It is asked when somebody looks, and costs nothing meanwhile."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, Final

from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from trimtab.cache.informers import Informers
from trimtab.cache.watched import Watched

_OF_A_WATCH: Final[tuple[tuple[type[Metric], str, str, Callable[[Watched[Any]], float]], ...]] = (
    (GaugeMetricFamily, "objects", "Objects in the cache.", lambda w: len(w.store)),
    (GaugeMetricFamily, "bytes", "Bytes of the objects in the cache.", lambda w: sum(len(e.data) for e in w.store)),
    (GaugeMetricFamily, "synced", "Whether the first state was read.", lambda w: w.synced.is_set()),
    (CounterMetricFamily, "loads", "Times that the whole state was read.", lambda w: w.pulse.loads),
    (CounterMetricFamily, "events", "Events that came.", lambda w: w.pulse.events),
    (CounterMetricFamily, "skipped", "What was of another kind or no JSON.", lambda w: w.pulse.skipped),
    (CounterMetricFamily, "stalls", "Watches cut because they were silent.", lambda w: w.pulse.stalls),
    (GaugeMetricFamily, "ahead", "Writes that the watch has not shown yet.", lambda w: len(w.overlay)),
    (CounterMetricFamily, "forgotten", "Writes given up before the watch showed them.", lambda w: w.overlay.forgotten),
)


class CacheCollector(Collector):
    """Collects from all watches and handlers of a process; register it with prometheus-client."""

    def __init__(self, informers: Informers) -> None:
        self._informers = informers

    def collect(self) -> Iterator[Metric]:
        """Say how things are now. No label names an object."""
        for family, name, text, value in _OF_A_WATCH:
            metric: Any = family(f"trimtab_cache_{name}", text, labels=["kind", "scope"])  # type: ignore[call-arg]
            for watched in self._informers.watches:
                metric.add_metric([_kind(watched), str(watched.scope)], float(value(watched)))
            yield metric
        heard = GaugeMetricFamily(
            "trimtab_cache_heard_seconds", "Seconds since the server last said something.", labels=["kind", "scope"]
        )
        for watched, health in zip(self._informers.watches, self._informers.health(), strict=True):
            if health.heard is not None:
                heard.add_metric([_kind(watched), str(watched.scope)], health.heard)
        yield heard
        yield from self._of_handlers()
        yield GaugeMetricFamily(
            "trimtab_cache_hot_bytes", "Estimated bytes of what is kept decoded.", value=self._informers.hot.size
        )

    def _of_handlers(self) -> Iterator[Metric]:
        labels = ["kind", "handler"]
        backlog = GaugeMetricFamily(
            "trimtab_handler_backlog", "Changes that a handler was not told of yet.", labels=labels
        )
        failures = CounterMetricFamily("trimtab_handler_failures", "Changes on which a handler failed.", labels=labels)
        waiting: Counter[tuple[str, str]] = Counter()  # handlers may share a name
        failed: Counter[tuple[str, str]] = Counter()
        for informer in self._informers.all:
            for handler in informer.handlers:
                waiting[informer.kind.resource.kind, handler.name] += handler.backlog
                failed[informer.kind.resource.kind, handler.name] += handler.failures
        for who in waiting:
            backlog.add_metric(who, waiting[who])
            failures.add_metric(who, failed[who])
        yield backlog
        yield failures


def _kind(watched: Watched[Any]) -> str:
    return watched.scope.kind.resource.kind
