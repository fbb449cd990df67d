"""The objects that the bench works on. Pure, and the same at every run: the n-th Pod is always the n-th Pod.

Pods are of about 10 KB and come as in a cluster: ReplicaSets make most of them after a template, a controller manager
created them, and a kubelet wrote their status. One ReplicaSet in a population is large: a twentieth of all Pods.
"""

import random
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from bench.templates import Template, pod_of, status_of, template

FIELD_MANAGER = "bench"  # of all contestants, so that none of them leaves longer objects to the next

_LARGE = 20  # the large ReplicaSet has one Pod in so many
_KEYS = ("timeout", "endpoint", "region", "retries", "feature", "limit", "cache", "window")


@dataclass(frozen=True)
class Made:
    """An object to create, as whom, and what is then reported of it."""

    resource: str
    manifest: dict[str, Any]
    manager: str = FIELD_MANAGER
    status: dict[str, Any] | None = None  # written by a kubelet

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.manifest["metadata"]["name"])

    @property
    def owner(self) -> str:
        """The uid of its controller, if it has one."""
        return next((str(owner["uid"]) for owner in self.manifest["metadata"].get("ownerReferences", ())), "")


def settings_name(number: int) -> str:
    """Name one of the ConfigMaps that requests go round, as all contestants do."""
    return f"settings-{number:03d}"


def settings(count: int) -> Iterator[Made]:
    """Make small ConfigMaps whose one key is there to be patched."""
    for number in range(count):
        labels = {"app": "bench"}
        metadata = {"name": settings_name(number), "labels": labels}
        yield Made("configmaps", {"metadata": metadata, "data": {"mode": "steady", "revision": "0"}})


def config_maps(count: int) -> Iterator[Made]:
    """Make ConfigMaps of about 1 KB, some longer and some shorter."""
    for number in range(count):
        rng = random.Random(f"config {number}")  # noqa: S311
        given = template(number % max(1, count // _LARGE))
        properties = (f"{rng.choice(_KEYS)}.{n}={rng.getrandbits(48):012x}" for n in range(rng.randint(3, 25)))
        manifest = {
            "metadata": {"name": f"{given.app}-config-{number:06d}", "labels": given.labels},
            "data": {
                "application.properties": "\n".join(properties),
                "mode": rng.choice(("steady", "canary", "drain")),
                "revision": str(rng.randrange(1000)),
            },
        }
        yield Made("configmaps", manifest, manager="helm")


def pods(count: int) -> Iterator[Made]:
    """Make so many Pods, the large ReplicaSet's first."""
    for number in range(count):
        yield pod(number, count)


def pod(number: int, of: int) -> Made:
    """Make the n-th of so many Pods."""
    rng = random.Random(f"pod {number}")  # noqa: S311
    given = template(bisect_right(_ends(of), number))
    manifest = pod_of(given, number, rng)
    return Made("pods", manifest, "kube-controller-manager", status_of(given, rng))


def pods_by_name(count: int) -> Iterator[Made]:
    """Make so many Pods in the order in which a server lists them, give or take a neighbour."""
    ends = _ends(count)
    starts = [0, *ends]
    for number in sorted(range(len(ends)), key=lambda n: template(n).name):
        yield from (pod(n, count) for n in range(starts[number], ends[number]))


def large(of: int) -> tuple[Template, int]:
    """Tell the large ReplicaSet of a population, and how many Pods it has."""
    return template(0), of // _LARGE


@cache
def _ends(count: int) -> list[int]:
    """Give each ReplicaSet its Pods: the number with which those of the next begin, the last at `count`."""
    rng = random.Random(count)  # noqa: S311
    _, first = large(count)
    ends = [min(max(first, 1), count)]
    while ends[-1] < count:
        ends.append(min(ends[-1] + rng.randint(8, 30), count))
    return ends
