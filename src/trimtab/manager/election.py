"""Leader election: what to do next about a Lease, given the clock and what came of what was done. No I/O.

How it goes, for a candidate:

1. Read the Lease. None there: create it, with us as the holder.
2. A record that is not as it was when we last looked has changed now, whatever times stand in it.
3. Somebody holds it, and has changed it within the duration that it names: wait, then look again.
4. Nobody holds it, or nothing of it changed for that long: put us in the holder's place, if it is still what we read.
5. The answer came: we lead until the renew deadline after the moment at which we *sent* that write.

and for the leader:

6. After a retry period write the record anew, with another time in it, which moves the deadline (5).
7. It did not work: look again (1). Another holds it, or the deadline passes: we have lost, for good.
8. Asked to stop: write a record without a holder, so that the next need not wait.

The failure model. No clock is compared with another: a candidate measures with its own how long a record stood still,
the leader with its own how long ago it sent what was last confirmed. Times in the record are for people. So clocks may
differ by any offset, answers may be late or lost, a write may be carried out though its answer never came, and any
process may be paused anywhere. What has to hold is that a candidate's clock runs less than lease ÷ renew (1.5) times as
fast as the leader's. A look counts for some seconds only, so that a clock which jumps makes no lease old at once.

Then never two may write at once, as far as every write asks `deadline` right before it is sent: `fence.py` does that.
What is outside: a write that was sent in time and carried out after the lease has ended, which is why the deadline is
not the lease's end but a third earlier; and people who empty or delete the Lease of a leader that lives. A candidate
that knew the Lease waits also where it is deleted; one that just came cannot know that there was one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import TypeAlias

from trimtab.errors import TrimtabError

JITTER = 1.2
"""The renew deadline must leave room for a retry period of up to so many times its length."""

_RELEASED_SECONDS = 1  # Kubernetes refuses 0


@dataclass(frozen=True, slots=True)
class Timing:
    """How long a lease lasts, how long its holder tries to renew it, and how often everybody tries. In seconds."""

    lease: float = 15.0
    renew: float = 10.0
    retry: float = 2.0

    def __post_init__(self) -> None:
        given = f"lease {self.lease:g} s, renew deadline {self.renew:g} s, retry period {self.retry:g} s"
        if self.retry <= 0:
            raise TrimtabError(f"leader election ({given}): the retry period must be more than nothing")
        if self.renew <= JITTER * self.retry:
            raise TrimtabError(
                f"leader election ({given}): the renew deadline must be more than {JITTER:g} times the retry period, "
                f"so more than {JITTER * self.retry:g} s"
            )
        if self.lease <= self.renew:
            raise TrimtabError(
                f"leader election ({given}): the lease must last longer than the renew deadline, so that a leader "
                "stops before another begins"
            )
        if self.lease != int(self.lease):
            raise TrimtabError(f"leader election ({given}): the lease must be whole seconds, as a Lease has them")


@dataclass(frozen=True, slots=True)
class Record:
    """What a Lease says. Its times are of the holder's clock, and nobody else's business."""

    holder: str = ""
    seconds: int = 0
    acquired: datetime | None = None
    renewed: datetime | None = None
    transitions: int = 0


@dataclass(frozen=True, slots=True)
class Wait:
    """Do nothing for so long, or until somebody asks to stop."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Read:
    """Read the Lease, and report `read`, or `failed` where that takes longer than `timeout`."""

    timeout: float


@dataclass(frozen=True, slots=True)
class Write:
    """Write the record if the Lease is still at `version`; without one, create it. Report `wrote`, `refused`, `failed`.

    A write that was given up after its timeout may still be carried out.
    """

    record: Record
    version: str
    timeout: float


@dataclass(frozen=True, slots=True)
class Ended:
    """It is over: we lost the lease for this reason, or, without one, were asked to stop."""

    lost: str


Step: TypeAlias = Wait | Read | Write | Ended


class Role(Enum):
    """What we are."""

    CANDIDATE = "candidate"
    LEADER = "leader"
    LOST = "lost"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class _Seen:
    """A Lease as it was read or written last. `stood` is how long we have watched the record stand still."""

    record: Record | None
    version: str
    looked: float
    stood: float = 0.0


class Election:
    """Call `step`, do what it says, and report what came of it; then `step` again. See the module for the rules.

    `clock` counts seconds also while the machine sleeps; `wall` is the time of day, for the record.
    """

    def __init__(
        self,
        identity: str,
        timing: Timing,
        *,
        clock: Callable[[], float],
        wall: Callable[[], datetime],
        random: Callable[[], float],
    ) -> None:
        self.identity = identity
        self.timing = timing
        self.role = Role.CANDIDATE
        self.problem = ""
        """What went wrong last; empty where nothing did."""
        self._clock = clock
        self._wall = wall
        self._random = random
        self._until = 0.0  # of the leader's right to write
        self._seen: _Seen | None = None
        self._known_holder = ""  # by the last record that was there: a Lease that is deleted may still be held
        self._current = False  # whether `_seen` may still be so: we may write without looking
        self._pause = 0.0
        self._sent: tuple[float, Record] | None = None
        self._refusals = 0
        self._stopping = False
        self._most_a_look_counts = max(2 * timing.retry, timing.lease / 4)

    @property
    def deadline(self) -> float | None:
        """By our clock, until when we may write. None for whoever does not lead, or is letting go."""
        return self._until if self.role is Role.LEADER and not self._stopping else None

    @property
    def holder(self) -> str:
        """Who leads, as far as we saw."""
        return self._seen.record.holder if self._seen is not None and self._seen.record is not None else ""

    def step(self) -> Step:
        """What to do next."""
        now = self._clock()
        if self.role is Role.LEADER and now >= self._until:
            since = now - self._until + self.timing.renew
            self._lose(f"it was not renewed for {since:.1f} s ({self.problem or 'this process did not run'})")
        if self.role is Role.LOST or (self._stopping and self.role is not Role.LEADER):
            return Ended(self.problem if self.role is Role.LOST else "")
        if self._pause:
            pause, self._pause = self._pause, 0.0
            return Wait(min(pause, self._until - now) if self.role is Role.LEADER else pause)
        timeout = self.timing.renew / 2
        if self.role is Role.LEADER:
            timeout = min(timeout, self._until - now)
        if self._seen is None or not self._current:
            return Read(timeout)
        return self._write(self._seen, now, timeout)

    def read(self, record: Record | None, version: str = "") -> None:
        """This is the Lease, at this version; None where there is none."""
        now, before = self._clock(), self._seen
        self.problem = ""
        stood = 0.0
        if before is not None and before.record == record:
            stood = before.stood + min(now - before.looked, self._most_a_look_counts)
        self._seen = _Seen(record, version, now, stood)
        ours = record is not None and record.holder == self.identity
        if self.role is not Role.LEADER:
            self._current = ours or self._is_free(self._seen)
            if not self._current:
                self._rest()
        elif self._stopping and not ours:
            self.role = Role.STOPPED
        elif record is not None and not ours:
            self._lose(f"{record.holder} took it" if record.holder else "somebody emptied it")
        else:
            self._current = True
        if record is not None:
            self._known_holder = record.holder

    def wrote(self, version: str) -> None:
        """What was to be written is in the Lease, which is at this version now."""
        assert self._sent is not None
        sent, record = self._sent
        self.problem, self._refusals = "", 0
        self._seen, self._current = _Seen(record, version, self._clock()), True
        self._known_holder = record.holder
        if not record.holder:
            self.role = Role.STOPPED
        elif sent + self.timing.renew > self._clock() and self.role is not Role.LOST:
            self._until = sent + self.timing.renew
            self.role = Role.LEADER
            self._pause = 0.0 if self._stopping else self.timing.retry
        # else the answer came too late to be of use: a candidate writes once more, a leader has lost.

    def refused(self) -> None:
        """The Lease is not at the version that we knew, or is gone, or is there already: we have to look."""
        self._current = False
        self._refusals += 1
        if self._refusals > 1:
            self._rest()

    def failed(self, why: str) -> None:
        """No answer, or a failure: what was to be written may be in the Lease, or get there later."""
        self.problem = why
        self._current = False
        self._rest()

    def stop(self) -> None:
        """Let go: from now on the steps lead to the end. The work that needs the lease must be over."""
        self._stopping = True
        self._pause = 0.0

    def _write(self, seen: _Seen, now: float, timeout: float) -> Write:
        old = seen.record or Record()
        # Were the clock to stand still, a renewal would change nothing, and so be none.
        today = max(self._wall(), (old.renewed or _LONG_AGO) + timedelta(microseconds=1))
        if self._stopping:
            record = Record("", _RELEASED_SECONDS, today, today, old.transitions)
        elif old.holder == self.identity:
            record = replace(old, renewed=today, seconds=int(self.timing.lease))
        else:
            transitions = old.transitions + 1 if seen.record is not None else 0
            record = Record(self.identity, int(self.timing.lease), today, today, transitions)
        self._sent = now, record
        return Write(record, seen.version, timeout)

    def _is_free(self, seen: _Seen) -> bool:
        """Whether nobody leads: there is no record or no holder, or it stood still for as long as it says."""
        if seen.record is None:
            return self._known_holder in ("", self.identity) or seen.stood >= self.timing.lease
        return not seen.record.holder or seen.stood >= (seen.record.seconds or self.timing.lease)

    def _rest(self) -> None:
        spread = 1 + (JITTER - 1) * self._random()  # so that candidates do not come all at once
        self._pause = self.timing.retry * (spread if self.role is Role.CANDIDATE else 1)

    def _lose(self, why: str) -> None:
        self.role = Role.LOST
        self.problem = why


_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
