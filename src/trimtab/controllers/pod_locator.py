"""pod-locator: logs and counts, once for each Pod, the node that it is scheduled on.

```
trimtab run pod-locator
```

Pods that are there already are located too. A Pod is told apart from another of its name by its uid, and is remembered
for as long as it is there. `trimtab_pod_locator_located_total` counts the Pods that were located on each node,
`trimtab_pod_locator_pods` those that are there now.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from trimtab.controller import App, Context, Options
from trimtab.kube.core.v1 import Pod

app = App("pod-locator")


class Located(Collector):
    """Where each Pod is, and how many were located on each node."""

    def __init__(self, _: Options) -> None:
        self.nodes: dict[str, tuple[str, str]] = {}  # by the Pod's key: its uid, and its node
        self.counts: Counter[str] = Counter()

    def locate(self, key: str, uid: str, node: str) -> bool:
        """Take note of where a Pod is; False where that was known."""
        if self.nodes.get(key) == (uid, node):
            return False
        self.nodes[key] = (uid, node)
        self.counts[node] += 1
        return True

    def collect(self) -> Iterator[Metric]:
        """The two metrics, for each node."""
        located = CounterMetricFamily("trimtab_pod_locator_located", "Pods located on a node.", labels=["node"])
        there = GaugeMetricFamily("trimtab_pod_locator_pods", "Pods that are on a node.", labels=["node"])
        now = Counter(node for _, node in self.nodes.values())
        for node, count in self.counts.items():
            located.add_metric([node], count)
            there.add_metric([node], now[node])
        yield located
        yield there


app.collector(Located)


async def forget(key: str, ctx: Context) -> None:
    """The Pod is gone."""
    ctx.once(Located).nodes.pop(key, None)


@app.controller(Pod, gone=forget)
async def pod_locator(pod: Pod, ctx: Context) -> None:
    """Tell where a Pod is, once it is anywhere."""
    node = pod.spec.node_name
    if node and ctx.once(Located).locate(ctx.key, pod.metadata.uid, node):
        ctx.log.info("located", pod=pod.metadata.name, namespace=pod.metadata.namespace, node=node)
