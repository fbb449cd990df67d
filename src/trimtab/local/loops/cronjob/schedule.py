"""Schedules as cron writes them: `*/5 8-18 * * MON-FRI`, `@hourly`, `@every 90m`, in a time zone.

Where both a day of the month and a day of the week are given, either will do. An hour that a clock leaves out in spring
has no times; one that it has twice in autumn has them twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final, Protocol
from zoneinfo import ZoneInfo

from trimtab.errors import TrimtabError
from trimtab.kube.duration import parse_duration

_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_MINUTE: Final = timedelta(minutes=1)
_FAR: Final = timedelta(days=5 * 366)
_SHORTHANDS: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_MOST_MISSED: Final = 100


class BadSchedule(TrimtabError):
    """A schedule, or its time zone, makes no sense."""


class Schedule(Protocol):
    """Says when the next time is."""

    def after(self, moment: datetime) -> datetime | None:
        """The first time after a moment; None where there is none within five years."""
        ...

    def before(self, moment: datetime) -> datetime | None:
        """The last time that is not after a moment."""
        ...


@dataclass(frozen=True, slots=True)
class Every:
    """At an interval, from wherever one begins."""

    interval: timedelta

    def after(self, moment: datetime) -> datetime | None:
        """One interval on, to the second."""
        return moment.replace(microsecond=0) + self.interval

    def before(self, moment: datetime) -> datetime | None:
        """Now: it has no times of its own."""
        return moment.replace(microsecond=0)


@dataclass(frozen=True, slots=True)
class Cron:
    """The minutes, hours, days and months that are meant."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    either_day: bool
    zone: tzinfo

    def after(self, moment: datetime) -> datetime | None:
        """The first time after a moment."""
        at = moment.astimezone(UTC).replace(second=0, microsecond=0) + _MINUTE
        end = at + _FAR
        while at < end:
            local = at.astimezone(self.zone)
            if local.month not in self.months:
                ahead = local.replace(day=1, hour=0, minute=0, fold=0) + timedelta(days=32)
                at = max(_utc(ahead.replace(day=1)), at + _MINUTE)
            elif not self._has_day(local):
                at = max(_utc(local.replace(hour=0, minute=0, fold=0) + timedelta(days=1)), at + _MINUTE)
            elif local.hour not in self.hours:
                at += timedelta(minutes=60 - local.minute)
            elif local.minute not in self.minutes:
                at += _MINUTE
            else:
                return at
        return None

    def before(self, moment: datetime) -> datetime | None:
        """The last time that is not after a moment."""
        at = moment.astimezone(UTC).replace(second=0, microsecond=0)
        end = at - _FAR
        while at > end:
            local = at.astimezone(self.zone)
            if local.month not in self.months:
                at = min(_utc(local.replace(day=1, hour=0, minute=0, fold=0)), at) - _MINUTE
            elif not self._has_day(local):
                at = min(_utc(local.replace(hour=0, minute=0, fold=0)), at) - _MINUTE
            elif local.hour not in self.hours:
                at -= timedelta(minutes=local.minute + 1)
            elif local.minute not in self.minutes:
                at -= _MINUTE
            else:
                return at
        return None

    def _has_day(self, local: datetime) -> bool:
        day, weekday = local.day in self.days, (local.weekday() + 1) % 7 in self.weekdays
        return day or weekday if self.either_day else day and weekday


def _utc(local: datetime) -> datetime:
    return local.astimezone(UTC)


def parse_schedule(text: str, zone: str | None = None) -> Schedule:
    """Read a schedule. BadSchedule says what is wrong with it."""
    where = _zone(zone)
    said = text.strip()
    if said.startswith("@every "):
        try:
            interval = parse_duration(said.removeprefix("@every ").strip())
        except ValueError as error:
            raise BadSchedule(f"schedule {text!r}: {error}") from error
        return Every(max(interval - timedelta(microseconds=interval.microseconds), timedelta(seconds=1)))
    words = _SHORTHANDS.get(said, said).split()
    if len(words) != 5:
        raise BadSchedule(f"schedule {text!r} has {len(words)} fields: write minute, hour, day, month and weekday")
    try:
        return Cron(
            minutes=_field(words[0], 0, 59),
            hours=_field(words[1], 0, 23),
            days=_field(words[2], 1, 31),
            months=_field(words[3], 1, 12, _MONTHS, 1),
            weekdays=_field(words[4], 0, 6, _DAYS),
            either_day=not (_is_any(words[2]) or _is_any(words[4])),
            zone=where,
        )
    except ValueError as error:
        raise BadSchedule(f"schedule {text!r}: {error}") from None


def _zone(name: str | None) -> tzinfo:
    if not name:
        return UTC
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise BadSchedule(f"unknown time zone {name}") from error


def _is_any(word: str) -> bool:
    return any(part.partition("/")[0] in ("*", "?") for part in word.split(","))


def _field(word: str, low: int, high: int, names: tuple[str, ...] = (), first: int = 0) -> frozenset[int]:
    found: set[int] = set()
    for part in word.split(","):
        span, slash, step = part.partition("/")
        begin, dash, end = span.partition("-")
        if begin in ("*", "?"):
            if dash:
                raise ValueError(f"{part!r} is no range")
            start, stop = low, high
        else:
            start = _number(begin, names, first)
            stop = _number(end, names, first) if dash else high if slash else start
        width = int(step) if step.isascii() and step.isdecimal() else 0
        if slash and not width:
            raise ValueError(f"{part!r} has no step that is a number above zero")
        if not low <= start <= stop <= high:
            raise ValueError(f"{part!r} is not within {low} and {high}")
        found.update(range(start, stop + 1, width or 1))
    return frozenset(found)


def _number(word: str, names: tuple[str, ...], first: int) -> int:
    if word.lower() in names:
        return names.index(word.lower()) + first
    if not (word.isascii() and word.isdecimal()) or len(word) > 2:
        raise ValueError(f"{word!r} is no number")
    return int(word)


@dataclass(frozen=True, slots=True)
class Due:
    """The last time that was missed, if any, and whether too many were."""

    at: datetime | None
    too_many: int = 0


def due(schedule: Schedule, earliest: datetime, now: datetime, deadline: float | None = None) -> Due:
    """The last time since `earliest` that has come; with a deadline, since so many seconds ago at most.

    More than a hundred missed times hint at a clock that went wrong: people are told how many.
    """
    if deadline is not None:
        earliest = max(earliest, now - timedelta(seconds=deadline))
    first = schedule.after(earliest)
    if first is None or first > now:
        return Due(None)
    if isinstance(schedule, Every):
        missed = (now - first) // schedule.interval
        return Due(first + missed * schedule.interval, missed + 1 if missed >= _MOST_MISSED and deadline is None else 0)
    missed, at = 1, first
    while missed <= _MOST_MISSED and (following := schedule.after(at)) is not None and following <= now:
        missed, at = missed + 1, following
    if missed <= _MOST_MISSED:
        return Due(at)
    return Due(schedule.before(now), missed if deadline is None else 0)
