"""The lines that a contestant prints, in their order, each one object of JSON; between the first two, `ready`."""

import msgspec

READY = b"ready\n"
"""Says that a contestant listens: a writer may begin."""

STAMP = "trimtab.dev/written-at"
"""The annotation in which a writer says when it wrote, in seconds since 1970."""


class Synced(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An informer knows all. MB are 10⁶ bytes; `before` is before it was made, `after` is after a collection."""

    n: int
    wall_s: float
    cpu_s: float  # of the whole process, user and system
    rss_mb_before: float
    rss_mb_after: float
    rss_mb_peak: float
    version: str
    heap_mb_held: float | None = None  # where a runtime can tell: growth of the live heap

    @property
    def bytes_each(self) -> float:
        """Memory held for each object."""
        return (self.rss_mb_after - self.rss_mb_before) * 1e6 / self.n


class Followed(msgspec.Struct, frozen=True, kw_only=True):
    """A handler has heard of so many updates. Latencies: from a writer's stamp to the handler; null without."""

    events: int
    cpu_s: float
    us_per_event: float
    p50_ms: float | None
    p99_ms: float | None
    wall_s: float


class Read(msgspec.Struct, frozen=True, kw_only=True):
    """CPU of lists and gets from what is held, in microseconds each."""

    listed: int  # objects in each of the lists
    label_us: float
    owner_us: float
    get_us: float
