"""Where a contestant written in Python shows what it costs: it says what it has come to, and the lines are printed."""

import sys
import time
from array import array
from collections.abc import Callable, Sequence

import msgspec

from bench.cost import Cost, Meter
from bench.informer.lines import READY, STAMP, Followed, Read, Synced
from bench.memory import held_memory


class Stage:
    """Call `begin` when all but the informer is made; `synced`, `show`; `follow`, with `updated` from a handler."""

    def __init__(
        self, version: str, show: Callable[[bytes], object] | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        self._version = version
        self._print = show or _print
        self._clock = clock
        self._meter: Meter
        self._before = 0
        self._synced: Cost
        self._wanted = 0
        self._finished: Callable[[], object]
        self._latencies = array("d")
        self._heard = 0

    def begin(self) -> None:
        """The set-up is done; the informer is about to be made."""
        self._before = held_memory()
        self._meter = Meter.start()

    def synced(self, count: int) -> None:
        """All objects are known and the handler has heard of them."""
        self._synced = self._meter.stop(count, self._version)

    def show(self) -> None:
        """Say what it took. Apart from `synced` for those who have to come to rest first: this looks at the memory."""
        cost = self._synced
        line = Synced(
            n=cost.count,
            wall_s=cost.wall,
            cpu_s=cost.cpu,
            rss_mb_before=self._before / 1e6,
            rss_mb_after=held_memory() / 1e6,
            rss_mb_peak=cost.rss / 1e6,
            version=self._version,
        )
        self._print(msgspec.json.encode(line) + b"\n")

    def follow(self, wanted: int, finished: Callable[[], object]) -> None:
        """From now on `updated` counts, and the last one that is wanted calls `finished`."""
        self._wanted, self._finished = wanted, finished
        self._meter = Meter.start()
        self._print(READY)

    def updated(self, stamp: str | None) -> None:
        """The handler hears of an update, with what the writer stamped on it. Of one thread at a time."""
        if self._heard >= self._wanted:
            return
        if stamp is not None:
            self._latencies.append(self._clock() - float(stamp))
        self._heard += 1
        if self._heard == self._wanted:
            cost = self._meter.stop(self._wanted, self._version)
            latencies = sorted(self._latencies)
            line = Followed(
                events=cost.count,
                cpu_s=cost.cpu,
                us_per_event=cost.each,
                p50_ms=percentile(latencies, 0.50),
                p99_ms=percentile(latencies, 0.99),
                wall_s=cost.wall,
            )
            self._print(msgspec.json.encode(line) + b"\n")
            self._finished()

    def read(
        self,
        reads: int,
        names: Sequence[str],
        *,
        label: Callable[[], Sequence[object]],
        owner: Callable[[], Sequence[object]],
        get: Callable[[str], object],
    ) -> None:
        """Measure lists, which give the same objects by label and by owner, and a hundred times as many gets."""
        if not names:
            raise ValueError("nothing to read")
        listed = {len(label()), len(owner())}
        if len(listed) != 1:
            raise ValueError(f"by label and by owner, lists are of {listed}")
        line = Read(
            listed=listed.pop(),
            label_us=self._each(reads, lambda _: label()),
            owner_us=self._each(reads, lambda _: owner()),
            # A stride that has no divisor in common with round numbers: all objects in turn, neighbours far apart.
            get_us=self._each(reads * 100, lambda i: get(names[i * 7919 % len(names)])),
        )
        self._print(msgspec.json.encode(line) + b"\n")

    def _each(self, count: int, do: Callable[[int], object]) -> float:
        meter = Meter.start()
        for i in range(count):
            do(i)
        return meter.stop(count, self._version).each


def percentile(ordered: Sequence[float], share: float) -> float | None:
    """Give in milliseconds the value below which that share of these seconds lies; None where there are none."""
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)] * 1e3 if ordered else None


def stamp_of(annotations: dict[str, str] | None) -> str | None:
    """Find what a writer stamped on an object."""
    return (annotations or {}).get(STAMP)


def _print(line: bytes) -> None:
    sys.stdout.buffer.write(line)
    sys.stdout.flush()
