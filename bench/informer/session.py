"""The harness's side of a run: what a contestant prints becomes answers, and the writer writes once it listens."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from bench.harness import Answers, BenchError, Contestant, Reading
from bench.informer.lines import READY, Followed, Read, Synced
from bench.processes import started

_SYNCED = 600.0  # seconds to sync
_HEARD = 120.0  # seconds to hear of the last change, once it is written
_READ = 600.0


@dataclass(frozen=True)
class Asked:
    """What is asked of a run. `name` begins those of the questions that it answers."""

    name: str
    objects: int
    write: Callable[[], Awaitable[None]] | None = None
    reads: bool = False

    async def __call__(self, contestant: Contestant) -> Answers:
        """Run a contestant."""
        async with started(contestant, self.name) as running:
            synced = await running.read(Synced, _SYNCED)
            if synced.n != self.objects:
                raise BenchError(f"{contestant.name} ({self.name}) knows {synced.n:,} of {self.objects:,} objects")
            if self.reads:
                return read_answers(self.name, synced, await running.read(Read, _READ))
            answers = synced_answers(self.name, synced)
            if self.write is not None:
                if (said := await running.line(_SYNCED)) != READY:
                    raise BenchError(f"{contestant.name} ({self.name}) is not ready, but says {said!r}")
                await self.write()
                answers |= followed_answers(self.name, synced.version, await running.read(Followed, _HEARD))
            return answers


def synced_answers(name: str, line: Synced) -> dict[str, Reading]:
    """Say what it took to sync, and what is held since."""
    cpu = line.cpu_s / line.n * 1e6
    return {
        f"{name} sync": Reading(each=cpu, version=line.version, wall=line.wall_s, rss=int(line.rss_mb_peak * 1e6)),
        f"{name} held": Reading(each=line.bytes_each, version=line.version),
    }


def followed_answers(name: str, version: str, line: Followed) -> dict[str, Reading]:
    """Say what an event took."""
    event = Reading(each=line.us_per_event, version=version, wall=line.wall_s, p50=line.p50_ms, p99=line.p99_ms)
    return {f"{name} event": event}


def read_answers(name: str, synced: Synced, line: Read) -> dict[str, Reading]:
    """Say what a read took."""
    each = {"label": line.label_us, "owner": line.owner_us, "get": line.get_us}
    return {f"{name} {what}": Reading(each=cpu, version=synced.version) for what, cpu in each.items()}
