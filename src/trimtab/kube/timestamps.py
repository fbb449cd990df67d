"""Times as Kubernetes writes them: to the second (`Time`) or with exactly six digits after it (`MicroTime`), in UTC."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

from trimtab.kube.invalid import InvalidValueError

_RFC3339: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]+)?(?:Z|[+-][0-9]{2}:[0-5][0-9])"
)
_MICRO_DIGITS: Final = len(".000000")


def format_time(time: datetime) -> str:
    """Write a `Time`: `2026-07-01T12:00:00Z`, what is finer than a second dropped."""
    return _utc(time).isoformat(timespec="seconds") + "Z"


def format_micro_time(time: datetime) -> str:
    """Write a `MicroTime`: `2026-07-01T12:00:00.000000Z`, always with six digits, for Kubernetes refuses others."""
    return _utc(time).isoformat(timespec="microseconds") + "Z"


def parse_time(text: str) -> datetime:
    """Read a time of RFC 3339, such as a `Time`, with any number of digits after the second; the result is in UTC."""
    return _parse(text, _RFC3339.fullmatch(text))


def parse_micro_time(text: str) -> datetime:
    """Read a `MicroTime`, which must have exactly six digits after the second; the result is in UTC."""
    written = _RFC3339.fullmatch(text)
    if written and len(written[1] or "") != _MICRO_DIGITS:
        raise InvalidValueError(f"time {text!r} must have exactly six digits after the second, as 12:00:00.000000Z")
    return _parse(text, written)


def _parse(text: str, written: re.Match[str] | None) -> datetime:
    if written:
        try:
            return datetime.fromisoformat(text).astimezone(UTC)
        except (ValueError, OverflowError):
            pass
    raise InvalidValueError(f"{text!r} is not a time of RFC 3339, such as 2026-07-01T12:00:00Z")


def _utc(time: datetime) -> datetime:
    if time.tzinfo is None:
        raise InvalidValueError(f"time {time.isoformat()} has no time zone: make it with datetime.now(UTC)")
    return time.astimezone(UTC).replace(tzinfo=None)
