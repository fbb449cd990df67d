"""The work queue: which key is worked on next, and when. A state machine without I/O, its clock given.

Its guarantees are those of client-go's and of controller-runtime's priority queue:

- A key waits at most once, however often it is added, and is never with two workers. Added while a worker has it, it
  waits until `done`, which puts it back once, behind what is ready by then.
- Added again while it waits, it has the higher of the priorities and the earlier of the ready times. So an event makes
  a key run at once that was backing off, and that counts as no failure.
- The highest priority goes first; within one, who was ready first. A key whose priority rises goes behind its new
  equals.

A key is in one of four states: not known, delayed (in `_items` and the heap), ready (in `_items` and the lane of its
priority) or held (in `_items` alone, until the worker who has the key is done with it). What a worker has is in
`_working`, whatever the state of its key is.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Mapping
from heapq import heapify, heappop, heappush
from types import MappingProxyType
from typing import Final, TypeAlias

import msgspec

from trimtab.errors import TrimtabError
from trimtab.queue.causes import NONE, Cause, Causes
from trimtab.queue.histogram import BOUNDS, Histogram
from trimtab.queue.limiters import ItemExponential, Limiter

LOW_PRIORITY: Final = -100
"""What is there at the start, and what a resync looks at again: a change that somebody makes now overtakes it."""

_SPARE: Final = 64  # dead entries that the heap may hold beside as many as there are living


class Item(msgspec.Struct, gc=False):
    """A key with what is known of it: while it waits, and then in the hands of a worker."""

    key: str
    priority: int
    ready_at: float  # when it was or will be ready, by the queue's clock
    causes: Causes
    delayed: bool = False
    taken_at: float = 0.0


_Lane: TypeAlias = "OrderedDict[str, Item]"


class WorkQueue:
    """Add keys; `take` the next, work on it, and say that it is `done`.

    Everything happens in one thread. `adds` and `delays` count keys that became ready and additions with a delay;
    `waited` and `worked` are how long keys waited when they were ready, and how long they were worked on.
    """

    def __init__(self, *, clock: Callable[[], float] = time.monotonic, limiter: Limiter | None = None) -> None:
        self.adds = 0
        self.delays = 0
        self.waited = Histogram()
        self.worked = Histogram()
        self.listener: Callable[[], None] | None = None  # is told when `take` or `next_ready` may answer otherwise
        self._clock = clock
        self._limiter: Limiter = ItemExponential() if limiter is None else limiter
        self._items: dict[str, Item] = {}
        self._working: dict[str, Item] = {}
        self._lanes: dict[int, _Lane] = {}  # by priority, and in its order: the highest first
        self._heap: list[tuple[float, int, Item]] = []  # by ready time; what is not valid any more is skipped
        self._delayed = 0  # how many there really are
        self._sequence = 0
        self._promoting = False
        self._ends_at: float | None = None  # shut down: nothing is handed out from then on
        self._open_lane(0)
        self._open_lane(LOW_PRIORITY)

    def __len__(self) -> int:
        """How many keys `take` would give now."""
        self._promote()
        return sum(map(len, self._lanes.values()))

    @property
    def working(self) -> Mapping[str, Item]:
        """What workers have, by key."""
        return MappingProxyType(self._working)

    def now(self) -> float:
        """What time it is to the queue."""
        return self._clock()

    def depth(self) -> dict[int, int]:
        """How many keys are ready, by priority; those that wait for their worker's end included."""
        self._promote()
        depth = {priority: len(lane) for priority, lane in self._lanes.items()}
        for key in self._working:
            held = self._items.get(key)
            if held is not None and not held.delayed:
                depth[held.priority] = depth.get(held.priority, 0) + 1
        return depth

    def add(self, key: str, cause: Cause | None = None, *, priority: int = 0) -> None:
        """Have a key worked on as soon as can be."""
        if self._ends_at is not None:
            return
        now = self._clock()
        if self._heap and self._heap[0][0] <= now:
            self._promote()
        item = self._items.get(key)
        if item is None:
            item = Item(key, priority, now, NONE if cause is None else Causes((cause,)))
            self._items[key] = item
            self._now_ready(item)
            return
        self._again(item, cause, priority)
        if item.delayed:
            item.delayed = False
            item.ready_at = now
            self._delayed -= 1
            self._now_ready(item)

    def add_after(self, key: str, seconds: float, cause: Cause | None = None, *, priority: int = 0) -> None:
        """Have a key worked on in so many seconds, or earlier if it is added otherwise."""
        if seconds <= 0:
            self.add(key, cause, priority=priority)
            return
        if self._ends_at is not None:
            return
        self.delays += 1
        self._promote()
        ready_at = self._clock() + seconds
        item = self._items.get(key)
        if item is None:
            item = Item(key, priority, ready_at, NONE if cause is None else Causes((cause,)), delayed=True)
            self._items[key] = item
            self._delayed += 1
            self._push(item)
            return
        self._again(item, cause, priority)
        if item.delayed and ready_at < item.ready_at:
            item.ready_at = ready_at
            self._push(item)

    def add_rate_limited(self, key: str, cause: Cause | None = None, *, priority: int = 0) -> None:
        """Have a key worked on again after a failure, when the limiter says so."""
        if self._ends_at is None:
            self.add_after(key, self._limiter.when(key), cause, priority=priority)

    def forget(self, key: str) -> None:
        """Let the failures of a key be forgotten: the next is its first. It does not take the key out of the queue."""
        self._limiter.forget(key)

    def retries(self, key: str) -> int:
        """How often a key failed since it was forgotten."""
        return self._limiter.retries(key)

    def take(self) -> Item | None:
        """Take the next key to work on, if one is ready. It is this worker's until `done`."""
        now = self._clock()
        if self._ends_at is not None and now >= self._ends_at:
            return None
        if self._heap and self._heap[0][0] <= now:
            self._promote()
        for lane in self._lanes.values():
            if lane:
                key, item = lane.popitem(last=False)
                del self._items[key]
                self._working[key] = item
                item.taken_at = now
                waited = now - item.ready_at
                self.waited.counts[bisect_left(BOUNDS, waited)] += 1  # observe(), without the call
                self.waited.total += waited
                return item
        return None

    def done(self, key: str) -> None:
        """Give a key back. If it was added meanwhile, it is put back into the queue."""
        now = self._clock()
        if self._heap and self._heap[0][0] <= now:
            self._promote()
        item = self._working.pop(key, None)
        if item is None:
            raise TrimtabError(f"{key} is done, and nobody had taken it: call done once for each take")
        worked = now - item.taken_at
        self.worked.counts[bisect_left(BOUNDS, worked)] += 1
        self.worked.total += worked
        held = self._items.get(key)
        if held is not None and not held.delayed:
            self._line_up(held)
        elif self._ends_at is not None and self.listener is not None:
            self.listener()  # those who wait for the end may have it

    def next_ready(self) -> float | None:
        """When to ask again, if nothing is ready and nothing else happens: a time, or None for never."""
        if self._ends_at is not None:
            return None if self.finished else self._ends_at
        while self._heap and not _valid(self._heap[0]):
            heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def shut_down(self, *, drain: float = 0.0) -> None:
        """Take in nothing more. For `drain` seconds what is ready is still handed out; what is delayed is dropped.

        What workers have, they finish; what was added to it before is ready when they are done.
        """
        self._promote()
        end = self._clock() + drain
        self._ends_at = end if self._ends_at is None else min(self._ends_at, end)
        for _, _, item in self._heap:
            if item.delayed:
                self._items.pop(item.key, None)
        self._heap.clear()
        self._delayed = 0
        if self.listener is not None:
            self.listener()

    @property
    def finished(self) -> bool:
        """Whether it was shut down and `take` will never give anything again."""
        return self._ends_at is not None and (not self._items or self._clock() >= self._ends_at)

    def _again(self, item: Item, cause: Cause | None, priority: int) -> None:
        """Note that a key was added that waits already."""
        if cause is not None:
            item.causes = item.causes.joined(cause)
        if priority > item.priority:
            lane = self._lanes.get(item.priority)
            in_line = lane is not None and lane.pop(item.key, None) is not None
            item.priority = priority
            if in_line:
                self._line_up(item)

    def _now_ready(self, item: Item) -> None:
        self.adds += 1
        if item.key not in self._working:
            self._line_up(item)

    def _line_up(self, item: Item) -> None:
        lane = self._lanes.get(item.priority)
        if lane is None:
            lane = self._open_lane(item.priority)
        lane[item.key] = item
        if self.listener is not None:
            self.listener()

    def _open_lane(self, priority: int) -> _Lane:
        self._lanes[priority] = OrderedDict()
        self._lanes = {each: self._lanes[each] for each in sorted(self._lanes, reverse=True)}
        return self._lanes[priority]

    def _push(self, item: Item) -> None:
        if len(self._heap) > 2 * self._delayed + _SPARE:
            self._heap = [entry for entry in self._heap if _valid(entry)]
            heapify(self._heap)
        self._sequence += 1
        heappush(self._heap, (item.ready_at, self._sequence, item))
        if self.listener is not None and self._heap[0][2] is item:
            self.listener()

    def _promote(self) -> None:
        """Let what was delayed and is due be ready, in the order in which it was due.

        The listener is told of each and may ask how many are ready, which does not begin this anew: as many keys may
        be due at once as there are.
        """
        heap = self._heap
        if not heap or self._promoting:
            return
        now = self._clock()
        self._promoting = True
        try:
            while heap and heap[0][0] <= now:
                entry = heappop(heap)
                if _valid(entry):
                    item = entry[2]
                    item.delayed = False
                    self._delayed -= 1
                    self._now_ready(item)
        finally:
            self._promoting = False


def _valid(entry: tuple[float, int, Item]) -> bool:
    """Whether the key still waits for this moment: not for an earlier one, and not ready since."""
    ready_at, _, item = entry
    return item.ready_at == ready_at
