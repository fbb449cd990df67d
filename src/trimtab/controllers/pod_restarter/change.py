"""A change of a ConfigMap's data, and which Pods are still to be restarted for it. Pure.

What is under way is written down at the ConfigMap, in an annotation that `kubectl describe` shows:

```
trimtab.dev/pods-restarted: sha256:2c26b46b68ff… restarting 3 Pods that are as old as 2026-11-19T20:36:00Z (7f3a…)
```

Whoever takes over after a crash goes on from there. A Pod is to be restarted if it was there when the change was first
seen. That is told by its age: all are that are older than the newest of them was, and of those that were made in that
very second the ones whose uids begin as is written down. The server's clock has made all of these times, so no two
clocks are compared.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import msgspec

from trimtab.kube.conditions import is_condition_true
from trimtab.kube.core.v1 import ConfigMap, Pod
from trimtab.kube.timestamps import format_time, parse_time

RECORD: Final = "trimtab.dev/pods-restarted"

_UID: Final = 8  # characters of a uid: enough to tell Pods of one second apart
_NEVER: Final = datetime(1970, 1, 1, tzinfo=UTC)
_DONE: Final = re.compile(r"(sha256:[0-9a-f]{64}) done")
_RESTARTING: Final = re.compile(
    r"(sha256:[0-9a-f]{64}) restarting (\d{1,6}) Pods that are as old as (\S{20}) \(([\w -]*)\)"
)


@dataclass(frozen=True, slots=True)
class Change:
    """Data of this digest was seen, and the Pods that were there then are restarted; none are left where it is done."""

    digest: str
    pods: int = 0
    newest: datetime = _NEVER
    among: frozenset[str] = frozenset()
    """How the uids begin of those that are as old as the newest."""

    def __str__(self) -> str:
        if self.is_done:
            return f"{self.digest} done"
        uids = " ".join(sorted(self.among))
        return f"{self.digest} restarting {self.pods} Pods that are as old as {format_time(self.newest)} ({uids})"

    @property
    def is_done(self) -> bool:
        """Whether nothing is left to do."""
        return not self.pods

    def done(self) -> Change:
        """The same, with nothing left to do."""
        return Change(self.digest)

    def concerns(self, pod: Pod) -> bool:
        """Whether the Pod was there when the change was first seen."""
        made = _made(pod)
        return made < self.newest or (made == self.newest and pod.metadata.uid[:_UID] in self.among)


def digest_of(config_map: ConfigMap) -> str:
    """Tells one state of the data from another; nothing else counts."""
    data = msgspec.json.encode([config_map.data, config_map.binary_data], order="deterministic")
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def read(text: str) -> Change | None:
    """What is written down; None where nothing is, or what somebody spoilt."""
    if done := _DONE.fullmatch(text):
        return Change(done[1])
    if found := _RESTARTING.fullmatch(text):
        return Change(found[1], int(found[2]), parse_time(found[3]), frozenset(found[4].split()))
    return None


def begin(digest: str, pods: Iterable[Pod]) -> Change:
    """A change that was just seen, and the Pods that there are."""
    there = [pod for pod in pods if _runs(pod)]
    if not there:
        return Change(digest)
    newest = max(_made(pod) for pod in there)
    among = frozenset(pod.metadata.uid[:_UID] for pod in there if _made(pod) == newest)
    return Change(digest, len(there), newest, among)


@dataclass(frozen=True, slots=True)
class Turn:
    """What to do now: the Pods to evict, and how many of those that the change concerns are left, these included.

    `down` is how many are down now, `waits` whether that is why no more are evicted.
    """

    evict: Sequence[Pod]
    left: int
    down: int
    waits: bool


def next_turn(change: Change, pods: Iterable[Pod], most_down: int, *, expect_all: bool = True) -> Turn:
    """Whose turn it is. Those that are down already first, for that costs least; then the oldest.

    No more than `most_down` are evicted and not back at a time, not even of those that are down already: they may be
    down for a moment only. One that is up goes only where all that are down together leave room for it. One that was
    evicted and is not there anew counts as down, where all are still expected to come back.
    """
    there = [pod for pod in pods if _runs(pod)]
    old = sorted((pod for pod in there if change.concerns(pod)), key=lambda pod: (_made(pod), pod.metadata.name))
    staying = [pod for pod in old if not pod.metadata.deletion_timestamp]
    missing = max(change.pods - len(there), 0) if expect_all else 0
    down = missing + sum(not _is_up(pod) for pod in there)
    up = [pod for pod in staying if _is_up(pod)]
    already_down = [pod for pod in staying if not _is_up(pod)]
    not_back = down - len(already_down)  # missing, or about to go, or made since and not ready yet
    first, then = already_down[: max(most_down - not_back, 0)], up[: max(most_down - down, 0)]
    return Turn([*first, *then], len(old), down, waits=len(first) + len(then) < len(staying))


def _runs(pod: Pod) -> bool:
    """One that has ended has nothing to restart."""
    return pod.status.phase not in ("Succeeded", "Failed")


def _is_up(pod: Pod) -> bool:
    return not pod.metadata.deletion_timestamp and is_condition_true(pod.status.conditions, "Ready")


def _made(pod: Pod) -> datetime:
    return pod.metadata.creation_timestamp or _NEVER
