"""What a piece of work costs the process that does it: what every contestant prints."""

import gc
import resource
import time
from dataclasses import dataclass

import msgspec

from bench.memory import peak_memory


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """One measurement, and the line that carries it from a contestant to the harness."""

    cpu: float  # seconds of the whole process, user and system, all threads
    wall: float  # seconds
    count: int  # requests made, or objects listed
    rss: int  # the process's peak, in bytes, set-up included; 0 where it cannot be told
    version: str  # what was measured, such as "aiohttp 3.14.5"

    @property
    def each(self) -> float:
        """CPU for each request or object, in microseconds."""
        return self.cpu / self.count * 1e6

    @classmethod
    def parse(cls, line: bytes) -> "Cost":
        """Read what a contestant printed; raises msgspec.MsgspecError when that is something else."""
        return msgspec.json.decode(line, type=cls)

    def line(self) -> bytes:
        """Write what a contestant prints."""
        return msgspec.json.encode(self) + b"\n"


@dataclass(slots=True)
class Meter:
    """Measures from here until `stop`."""

    _cpu: float
    _wall: float

    @classmethod
    def start(cls) -> "Meter":
        """Start measuring, after the garbage of the set-up is gone. The collector itself stays as users have it."""
        gc.collect()
        return cls(cpu_seconds(), time.perf_counter())

    def stop(self, count: int, version: str) -> Cost:
        """Say what it took."""
        wall = time.perf_counter() - self._wall
        cpu = cpu_seconds() - self._cpu
        return Cost(cpu=cpu, wall=wall, count=count, rss=peak_memory(), version=version)


def cpu_seconds() -> float:
    """Tell what this process has used so far, user and system, in all its threads."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
