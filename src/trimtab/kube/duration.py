"""Durations as Go and Kubernetes write them: `300ms`, `1.5h`, `1h2m3s`."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Final

from trimtab.kube.invalid import InvalidValueError

_SECOND: Final = 10**9
_UNITS: Final = {
    "ns": 1,
    "us": 10**3,
    "\N{MICRO SIGN}s": 10**3,
    "\N{GREEK SMALL LETTER MU}s": 10**3,
    "ms": 10**6,
    "s": _SECOND,
    "m": 60 * _SECOND,
    "h": 3600 * _SECOND,
}
_PART: Final = re.compile(r"(?=\.?[0-9])([0-9]*+)\.?([0-9]*)([^0-9.]+)")
_LONGEST_TEXT: Final = 200
_MOST: Final = 2**63 - 1  # nanoseconds: 292 years, all that Go can hold


def parse_duration(text: str) -> timedelta:
    """Read a duration; what is finer than a microsecond is dropped, for a timedelta cannot hold it."""
    nanoseconds = parse_nanoseconds(text)
    microseconds = timedelta(microseconds=abs(nanoseconds) // 1000)
    return -microseconds if nanoseconds < 0 else microseconds


def format_duration(duration: timedelta | float) -> str:
    """Write a timedelta, or a number of seconds, as Go does: `1h0m0s`, `1.5s`, `300ms`, `0s`."""
    if not isinstance(duration, timedelta):
        duration = timedelta(seconds=duration)
    return format_nanoseconds(duration // timedelta(microseconds=1) * 1000)


def parse_nanoseconds(text: str) -> int:
    """Read a duration exactly, in nanoseconds."""
    unsigned = text[1:] if text[:1] in ("+", "-") else text
    if unsigned == "0":
        return 0
    nanoseconds = position = 0
    while position < len(unsigned) <= _LONGEST_TEXT:
        part = _PART.match(unsigned, position)
        if part is None or (unit := _UNITS.get(part[3])) is None:
            break
        nanoseconds += int(part[1] or 0) * unit
        if decimals := part[2][:19]:
            nanoseconds += int(int(decimals) * (unit / 10 ** len(decimals)))  # a float, for Go does that too
        position = part.end()
    if not unsigned or position < len(unsigned):
        raise InvalidValueError(
            f"{text[:_LONGEST_TEXT]!r} is not a duration: write numbers and units (ns us ms s m h), such as 1h30m"
        )
    if nanoseconds > _MOST:
        raise InvalidValueError(f"duration {text!r} is too long: Kubernetes holds at most 292 years")
    return -nanoseconds if text[0] == "-" else nanoseconds


def format_nanoseconds(nanoseconds: int) -> str:
    """Write a number of nanoseconds as Go does, exactly."""
    amount = abs(nanoseconds)
    if amount > _MOST:
        raise InvalidValueError(f"a duration of {amount // _SECOND} s is too long: Kubernetes holds at most 292 years")
    sign = "-" if nanoseconds < 0 else ""
    for unit, name in ((1, "ns"), (10**3, "\N{MICRO SIGN}s"), (10**6, "ms")):
        if 0 < amount < 1000 * unit:
            return f"{sign}{_decimal(amount, unit)}{name}"
    minutes, rest = divmod(amount, 60 * _SECOND)
    hours, minutes = divmod(minutes, 60)
    return "".join(
        (
            sign,
            f"{hours}h" if hours else "",
            f"{minutes}m" if hours or minutes else "",
            f"{_decimal(rest, _SECOND)}s",
        )
    )


def _decimal(amount: int, unit: int) -> str:
    whole, rest = divmod(amount, unit)
    return f"{whole}.{str(unit + rest)[1:].rstrip('0')}" if rest else str(whole)
