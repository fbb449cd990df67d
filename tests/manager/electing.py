"""A world in which candidates compete for a Lease: one server, clocks of their own, pauses, and answers that are lost.

Time is simulated: whatever happens next, by anybody's clock, happens. Who may write at the moment is looked at whenever
something happened.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count

from trimtab.manager.election import Election, Ended, Read, Record, Role, Timing, Wait, Write

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass
class Clock:
    """A clock that runs at a rate of its own, beside a calendar that is wrong."""

    world: World
    rate: float
    offset: float

    def __call__(self) -> float:
        return self.offset + self.rate * self.world.now

    def wall(self) -> datetime:
        return EPOCH + timedelta(seconds=-self.offset)  # it stands still

    def real(self, local: float) -> float:
        return (local - self.offset) / self.rate + 1e-6  # surely after it, however it was rounded


@dataclass(frozen=True)
class Fate:
    """What becomes of a request: seconds until it is carried out, and then until the answer is there; or never."""

    there: float | None
    back: float | None


QUICK = Fate(0.01, 0.01)
LATE = 3.9  # seconds, of the 5 s of the slowest clock that an answer may take


@dataclass
class Server:
    """It has one Lease, or none."""

    record: Record | None = None
    version: int = 0

    def get(self) -> tuple[Record | None, str]:
        return self.record, str(self.version) if self.record is not None else ""

    def put(self, write: Write) -> str | None:
        """The new version, or None where it is a conflict."""
        if (str(self.version) if self.record is not None else "") != write.version:
            return None
        if write.record != self.record:
            self.version += 1
        self.record = write.record
        return str(self.version)

    def delete(self) -> None:
        self.record = None
        self.version += 1


@dataclass
class Candidate:
    """A process: it does what its election says. While it is paused it does nothing, and its clock goes on."""

    world: World
    election: Election
    clock: Clock
    paused_until: float = 0.0
    cut_off_until: float = 0.0  # its requests get nowhere
    slow_until: float = 0.0  # its answers come as late as can be
    deaf_until: float = 0.0  # its requests get there, and the answers are lost
    turn: int = 0  # answers and timers of earlier steps are not waited for any more
    waits: bool = False
    alive: bool = True
    lost: str = ""
    led: list[float] = field(default_factory=list)

    @property
    def may_write(self) -> bool:
        deadline = self.election.deadline
        return self.alive and deadline is not None and self.clock() < deadline

    def act(self) -> None:
        """Take the next step."""
        self.turn += 1
        step = self.election.step()
        self.waits = isinstance(step, Wait)
        match step:
            case Wait(seconds):
                self.world.at(self.clock.real(self.clock() + seconds), self.resume(self.turn, lambda: None))
            case Read(timeout) | Write(_, _, timeout):
                late = self.resume(self.turn, lambda: self.election.failed("too late"))
                self.world.at(self.clock.real(self.clock() + timeout), late)
                self.world.send(self, self.turn, step)
            case Ended(lost):
                self.alive = False
                self.lost = lost

    def resume(self, turn: int, report: Callable[[], None]) -> Callable[[], None]:
        """Report, if that is still waited for, and act on; once the process is awake."""

        def go_on() -> None:
            if not self.alive or turn != self.turn:
                return
            if self.world.now < self.paused_until:
                self.world.at(self.paused_until, go_on)
                return
            report()
            if self.election.role is Role.LEADER:
                self.led.append(self.world.now)
            self.act()

        return go_on

    def stop(self) -> None:
        """Ask it to let go: a wait ends at once, an answer is waited for."""
        self.election.stop()
        if self.waits:
            self.world.at(self.world.now, self.resume(self.turn, lambda: None))


class World:
    """`run_until` lets time pass."""

    def __init__(self, fates: Iterator[Fate] | None = None, timing: Timing | None = None) -> None:
        self.now = 0.0
        self.server = Server()
        self.candidates: list[Candidate] = []
        self.timing = timing or Timing()
        self.sent: list[Read | Write] = []
        self._fates = fates or iter(())
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._number = count()

    def at(self, when: float, what: Callable[[], None]) -> None:
        heapq.heappush(self._events, (max(when, self.now), next(self._number), what))

    def start(self, rate: float = 1.0, offset: float = 0.0, random: float = 0.5) -> Candidate:
        clock = Clock(self, rate, offset)
        name = f"candidate-{len(self.candidates)}"
        election = Election(name, self.timing, clock=clock, wall=clock.wall, random=lambda: random)
        candidate = Candidate(self, election, clock)
        self.candidates.append(candidate)
        self.at(self.now, candidate.resume(0, lambda: None))
        return candidate

    def send(self, who: Candidate, turn: int, step: Read | Write) -> None:
        self.sent.append(step)
        fate = next(self._fates, QUICK)
        if fate.there is None or self.now < who.cut_off_until:
            return

        def carry_out() -> None:
            if isinstance(step, Read):
                record, version = self.server.get()
                report = who.resume(turn, lambda: who.election.read(record, version))
            else:
                new = self.server.put(step)
                if new is None:
                    report = who.resume(turn, who.election.refused)
                else:
                    report = who.resume(turn, lambda: who.election.wrote(new))
            if fate.back is not None and self.now >= who.deaf_until:
                self.at(self.now + (LATE if self.now < who.slow_until else fate.back), report)

        self.at(self.now + fate.there, carry_out)

    def run_until(self, when: float) -> None:
        while self._events and self._events[0][0] <= when:
            self.now, _, what = heapq.heappop(self._events)
            what()
            writers = [c.election.identity for c in self.candidates if c.may_write]
            assert len(writers) <= 1, f"at {self.now:.2f} s two may write: {writers}"
        self.now = when

    def disturb(self, what: str, who: int, seconds: float) -> None:
        """Do that to one of them."""
        candidate = self.candidates[who % len(self.candidates)]
        match what:
            case "pause":
                candidate.paused_until = self.now + seconds
            case "cut off":
                candidate.cut_off_until = self.now + seconds
            case "deaf":
                candidate.deaf_until = self.now + seconds
            case "slow":
                candidate.slow_until = self.now + seconds
            case "jump":
                candidate.clock.offset += seconds
            case "kill":
                candidate.alive = False
            case _:
                assert what == "stop"
                if candidate.alive and candidate.paused_until <= self.now:
                    candidate.stop()

    def peace(self) -> None:
        """From now on everything is quick, and nothing is lost."""
        self._fates = iter(())

    @property
    def leader(self) -> Candidate | None:
        return next((c for c in self.candidates if c.may_write), None)
