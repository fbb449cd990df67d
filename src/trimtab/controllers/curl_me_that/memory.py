"""What a run knows and need not outlive it: which fetches failed, what people were told, what could not be written.

Lost with the process: then what failed is tried once more, and people are told once more. That a URL was fetched is
not kept here but beside the value (`record.py`). Pure: clock and dice are given.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

from trimtab.controllers.curl_me_that.pairs import Pair, Problem

FIRST_PAUSE: Final = timedelta(seconds=5)
LONGEST_PAUSE: Final = timedelta(minutes=15)
REMIND: Final = timedelta(minutes=30)
"""How often people are told of what does not change: the server forgets events after an hour."""
MOST_UNWRITTEN: Final = 64 << 20
"""Bytes of answers that wait for the server. What is more is fetched again."""
_FAR: Final = datetime(9999, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Trouble:
    """A fetch failed, so often, and is not tried again before `until`."""

    url: str
    tries: int
    until: datetime
    problem: Problem
    while_it_is: str = ""
    """The digest of the value that is the trouble; empty where it is not about that."""


@dataclass(slots=True)
class Notes:
    """What is remembered of one object."""

    uid: str
    troubles: dict[str, Trouble] = field(default_factory=dict[str, Trouble])
    told: dict[Problem, datetime] = field(default_factory=dict[Problem, datetime])
    unwritten: dict[str, tuple[Pair, bytes]] = field(default_factory=dict[str, tuple[Pair, bytes]])
    """Answers that could not be written: the server was not there. They are not fetched again for that."""

    def keep_only(self, pairs: dict[str, Pair]) -> None:
        """Forget what is of pairs that are wanted no longer."""
        same = {key for key, trouble in self.troubles.items() if key in pairs and pairs[key].url == trouble.url}
        self.troubles = {key: self.troubles[key] for key in same}
        self.unwritten = {key: kept for key, kept in self.unwritten.items() if pairs.get(key) == kept[0]}

    def to_tell(self, problems: list[Problem], now: datetime) -> list[Problem]:
        """Those that people have not been told of lately. What is no problem any more is forgotten."""
        self.told = {problem: at for problem, at in self.told.items() if problem in problems}
        fresh = [p for p in problems if p not in self.told or now - self.told[p] >= REMIND]
        self.told.update(dict.fromkeys(fresh, now))
        return fresh

    def next_reminder(self) -> datetime | None:
        """When people are to be told again, if nothing changes."""
        return min(self.told.values()) + REMIND if self.told else None


class Memory:
    """Notes of all objects with which something is not as it should be, by key."""

    def __init__(self, *, now: Callable[[], datetime], random: Callable[[], float]) -> None:
        self.now = now
        self._random = random
        self._notes: dict[str, Notes] = {}

    def __len__(self) -> int:
        return len(self._notes)

    def of(self, key: str, uid: str) -> Notes:
        """The notes of an object. One that was made anew under its name begins anew."""
        notes = self._notes.get(key)
        return notes if notes is not None and notes.uid == uid else Notes(uid)

    def keep(self, key: str, notes: Notes) -> None:
        """Remember these, if there is anything in them."""
        if notes.troubles or notes.told or notes.unwritten:
            self._notes[key] = notes
            if notes.unwritten and self._unwritten() > MOST_UNWRITTEN:
                notes.unwritten.clear()
        else:
            self.forget(key)

    def _unwritten(self) -> int:
        return sum(len(body) for notes in self._notes.values() for _, body in notes.unwritten.values())

    def forget(self, key: str) -> None:
        """The object is gone, or all is well."""
        self._notes.pop(key, None)

    def trouble(
        self,
        notes: Notes,
        pair: Pair,
        problem: Problem,
        *,
        for_good: bool = False,
        at_least: float = 0.0,
        while_it_is: str = "",
    ) -> Trouble:
        """A fetch failed: when is it to be tried again? Each time later, and by other pairs at other times."""
        before = notes.troubles.get(pair.key)
        tries = before.tries + 1 if before is not None and before.url == pair.url else 1
        pause = min(FIRST_PAUSE * 2 ** min(tries - 1, 20), LONGEST_PAUSE) * (1 + 0.25 * self._random())
        pause = max(pause, timedelta(seconds=at_least))
        return Trouble(pair.url, tries, _FAR if for_good else self.now() + pause, problem, while_it_is)
