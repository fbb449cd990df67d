"""What a process says of itself, beside its caches, queues and controllers: whether it leads, and what it takes."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, GCCollector, Metric, PlatformCollector, ProcessCollector
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from trimtab.manager.leading import LeaderElector
from trimtab.manager.serving import Asked, Said


def process_registry() -> CollectorRegistry:
    """A registry of a manager's own, with what Prometheus' clients tell of any process."""
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    PlatformCollector(registry=registry)
    GCCollector(registry=registry)
    return registry


def answer_metrics(registry: CollectorRegistry, asked: Asked) -> Said | None:
    """`/metrics`, in the form that is asked for; `name[]` chooses some of them."""
    if asked.path != "/metrics":
        return None
    encode, content_type = choose_encoder(asked.accept)
    some = registry.restricted_registry(asked.query["name[]"]) if "name[]" in asked.query else registry
    return Said(200, encode(some), content_type)


class LeaderCollector(Collector):
    """`leader_election_master_status` of an elector."""

    def __init__(self, elector: LeaderElector) -> None:
        self._elector = elector

    def collect(self) -> Iterator[Metric]:
        """Say how things are now."""
        status = GaugeMetricFamily(
            "leader_election_master_status", "1 where this process leads, 0 where it stands by.", labels=["name"]
        )
        status.add_metric([self._elector.name], float(self._elector.leads))
        yield status
