"""What one contestant is asked to do, and the line that it prints."""

from dataclasses import dataclass

import msgspec

from bench.cost import Cost

WORKED_ON = "trimtab.dev/worked-on"
"""The annotation that `patch` writes."""


@dataclass(frozen=True)
class Job:
    """What one contestant is asked to do."""

    kubeconfig: str
    namespace: str
    mode: str  # noop: read each object and do nothing; patch: write an annotation, and see it come back
    workers: int = 16
    objects: int = 0  # how many there are; who can tell needs not be told
    uvloop: bool = False


class Reconciled(msgspec.Struct, frozen=True, kw_only=True):
    """Each object is as it should be. From the start of the manager on, imports apart; MB are 10⁶ bytes."""

    n: int
    wall_s: float
    cpu_s: float  # of the whole process, user and system
    us_cpu_per_object: float
    rss_mb: float  # the peak
    version: str

    @classmethod
    def of(cls, cost: Cost) -> "Reconciled":
        """Say it of what was measured."""
        return cls(
            n=cost.count,
            wall_s=cost.wall,
            cpu_s=cost.cpu,
            us_cpu_per_object=cost.each,
            rss_mb=cost.rss / 1e6,
            version=cost.version,
        )
