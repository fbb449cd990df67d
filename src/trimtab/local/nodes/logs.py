"""What simulated containers have said, for `kubectl logs`.

A log is made of what the Pod's status says: when a container was started and how it ended, and between that a line
every few seconds. So nothing is kept of a log that nobody reads.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeAlias, cast
from weakref import WeakSet

from trimtab.apiserver.subresources.logs import Line
from trimtab.controller import Options
from trimtab.kube.timestamps import parse_time
from trimtab.local.nodes.behaviour import LOG, words_of

Json: TypeAlias = dict[str, Any]

BEAT: Final = 5.0
"""Seconds between two lines of a container that runs."""
_MOST_BEATS: Final = 10_000
_STATUSES: Final = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")


class ContainerLog:
    """What one run of a container said so far. It only grows."""

    def __init__(
        self, uid: str, container: str, greeting: Sequence[str], started: datetime, now: Callable[[], datetime]
    ) -> None:
        self.uid = uid
        self.container = container
        self.ended = False
        self._started = started
        self._now = now
        self._lines = [Line(started, text.encode()) for text in greeting]
        self._beats = 0
        self._listeners: set[Callable[[], None]] = set()
        self._timer: asyncio.TimerHandle | None = None

    @property
    def lines(self) -> Sequence[Line]:
        """All of it, the oldest first."""
        if not self.ended:
            self._catch_up(self._now())
        return self._lines

    @property
    def listeners(self) -> set[Callable[[], None]]:
        """Who is to be called when there is another line, and when it has ended."""
        if self._timer is None and not self.ended:
            self._set_timer()
        return self._listeners

    def end(self, at: datetime, last: str) -> None:
        """Nothing more will come."""
        if self.ended:
            return
        self._catch_up(at)
        self._lines.append(Line(at, last.encode()))
        self.ended = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for told in list(self._listeners):
            told()

    def _catch_up(self, until: datetime) -> None:
        while self._beats < _MOST_BEATS:
            at = self._started + timedelta(seconds=BEAT * (self._beats + 1))
            if at > until:
                break
            self._beats += 1
            self._lines.append(Line(at, f"still running, {BEAT * self._beats:g} s after the start".encode()))

    def _set_timer(self) -> None:
        at = self._started + timedelta(seconds=BEAT * (self._beats + 1))
        left = max(0.0, (at - self._now()).total_seconds())
        self._timer = asyncio.get_running_loop().call_later(left + 0.001, self._beat)

    def _beat(self) -> None:
        self._timer = None
        self._catch_up(self._now())
        for told in list(self._listeners):
            told()
        if self._listeners and not self.ended and self._beats < _MOST_BEATS:
            self._set_timer()


class Logs:
    """The logs of all simulated nodes, as a server asks for them."""

    def __init__(self, _: Options | None = None, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._now = now
        self._read: WeakSet[ContainerLog] = WeakSet()  # those that somebody may follow

    def log(self, pod: Json, container: str, *, previous: bool) -> ContainerLog | None:
        """What a container of a Pod said, or the one that was there before it; None where there was none yet."""
        status = _status(cast("Json", pod.get("status") or {}), container)
        state: Json = status.get("lastState" if previous else "state") or {}
        if not previous and "waiting" in state:  # of one that waits to be started again, that is what there is
            state = status.get("lastState") or {}
        run: Json | None = state.get("running") or state.get("terminated")
        if run is None or "startedAt" not in run:
            return None
        meta = pod["metadata"]
        log = ContainerLog(meta["uid"], container, _greeting(pod, container), parse_time(run["startedAt"]), self._now)
        if "running" in state:
            self._read.add(log)
        else:
            log.end(parse_time(run["finishedAt"]), _farewell(run))
        return log

    def changed(self, uid: str, status: Mapping[str, Any]) -> None:
        """A Pod's status was written: some of its containers may have ended."""
        for log in [each for each in self._read if each.uid == uid]:
            state: Json = _status(status, log.container).get("state") or {}
            if (ended := state.get("terminated")) is not None:
                self._read.discard(log)
                log.end(parse_time(ended["finishedAt"]), _farewell(ended))

    def ended(self, uid: str) -> None:
        """A Pod goes."""
        for log in [each for each in self._read if each.uid == uid]:
            self._read.discard(log)
            log.end(self._now(), "stopped: the Pod is deleted")


def _status(status: Mapping[str, Any], container: str) -> Json:
    for part in _STATUSES:
        for each in cast("list[Json]", status.get(part) or []):
            if each["name"] == container:
                return each
    return {}


def _greeting(pod: Json, container: str) -> list[str]:
    """The first lines: what stands in the annotation, or what it is that runs."""
    meta, spec = cast("Json", pod["metadata"]), cast("Json", pod.get("spec") or {})
    if said := cast("dict[str, str]", meta.get("annotations") or {}).get(LOG):
        return said.splitlines()
    there = [each for part in ("initContainers", "containers") for each in cast("list[Json]", spec.get(part) or [])]
    own: Json = next((each for each in there if each["name"] == container), cast("Json", {}))
    if (words := words_of([*(own.get("command") or []), *(own.get("args") or [])])) is not None:
        return words.splitlines()
    image = own.get("image", "")
    where = f"Pod {meta['namespace']}/{meta['name']} on node {spec.get('nodeName', '')}"
    return [f"container {container} of {where}", f"image {image}; it is simulated, nothing really runs"]


def _farewell(ended: Json) -> str:
    return f"ended with exit code {ended.get('exitCode', 0)}"
