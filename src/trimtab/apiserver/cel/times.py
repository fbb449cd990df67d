"""Moments and lengths of time, read and written as Go does."""

from __future__ import annotations

import re
import zoneinfo
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from typing import Final

from trimtab.apiserver.cel.errors import EvaluationError
from trimtab.apiserver.cel.values import INT_MAX, INT_MIN, Duration, Timestamp

SECOND: Final = 10**9
EARLIEST: Final = -62135596800 * SECOND
LATEST: Final = 253402300800 * SECOND - 1

_UNITS: Final = {
    "ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": SECOND, "m": 60 * SECOND, "h": 3600 * SECOND,
}  # fmt: skip
_PART: Final = re.compile(r"([0-9]*)(?:\.([0-9]*))?(ns|us|µs|μs|ms|s|m|h)")
_TIMESTAMP: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:[.,]([0-9]+))?(?:Z|([+-])([0-9]{2}):([0-9]{2}))"
)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LONGEST: Final = 1000
_LAST_HOUR, _LAST_MINUTE = 23, 59


def parse_duration(text: str) -> Duration | None:
    """Read `1h30m`; None where it is no duration, or longer than there are."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    if digits == "0":
        return Duration(0)
    if not digits or len(digits) > _LONGEST:
        return None
    nanos = at = 0
    while at < len(digits):
        part = _PART.match(digits, at)
        if part is None or not (part[1] or part[2]):
            return None
        unit = _UNITS[part[3]]
        nanos += int(part[1] or 0) * unit
        if part[2]:
            nanos += int(part[2]) * unit // 10 ** len(part[2])
        at = part.end()
    nanos = -nanos if text[0] == "-" else nanos
    return Duration(nanos) if INT_MIN <= nanos <= INT_MAX else None


def parse_timestamp(text: str) -> Timestamp | None:
    """Read RFC 3339; None where it is not that, or no day of the calendar."""
    found = _TIMESTAMP.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second = (int(part) for part in found.groups()[:6])
    fraction, sign, hours, minutes = found.groups()[6:]
    offset = 0
    if sign:
        if int(hours) > _LAST_HOUR + 1 or int(minutes) > _LAST_MINUTE + 1:
            return None
        offset = (int(hours) * 3600 + int(minutes) * 60) * (-1 if sign == "-" else 1)
    try:
        days = date(year, month, day).toordinal() - _EPOCH.toordinal()
    except ValueError:
        return None
    if hour > _LAST_HOUR or minute > _LAST_MINUTE or second > _LAST_MINUTE:
        return None
    nanos = (days * 86400 + hour * 3600 + minute * 60 + second - offset) * SECOND
    return Timestamp(nanos + int((fraction or "0")[:9].ljust(9, "0")))


def format_timestamp(moment: Timestamp) -> str:
    """Write RFC 3339 in UTC, with no more digits than needed."""
    seconds, nanos = divmod(moment.nanos, SECOND)
    text = (_EPOCH + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S").rjust(19, "0")
    fraction = f".{nanos:09d}".rstrip("0") if nanos else ""
    return f"{text}{fraction}Z"


def checked(moment: int) -> Timestamp:
    """A moment, if it is one of the years 1 to 9999."""
    if not EARLIEST <= moment <= LATEST:
        raise EvaluationError("timestamp overflow")
    return Timestamp(moment)


def local(moment: Timestamp, zone: str | None) -> datetime:
    """The moment on the clock and calendar of a zone: a name, or an offset such as `+02:00`."""
    return (_EPOCH + timedelta(seconds=moment.nanos // SECOND)).astimezone(_zone(zone))


def _zone(name: str | None) -> tzinfo:
    if not name or name == "UTC":
        return UTC
    if ":" in name:
        hours, _, minutes = name.partition(":")
        try:
            offset = timedelta(hours=int(hours), minutes=int(minutes) * (-1 if hours.startswith("-") else 1))
            return timezone(offset)
        except ValueError:
            raise EvaluationError(f"unknown time zone {name}") from None
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise EvaluationError(f"unknown time zone {name}") from None
