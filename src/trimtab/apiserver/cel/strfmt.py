"""The formats that OpenAPI schemas can ask of strings, as the API server tells them."""

from __future__ import annotations

import ipaddress
import re
from typing import TYPE_CHECKING, Final

from trimtab.apiserver.cel.regexes import compile_pattern
from trimtab.apiserver.cel.times import parse_duration, parse_timestamp
from trimtab.apiserver.cel.uris import UriError, parse_request_uri
from trimtab.apiserver.cel.values import Duration, Timestamp

if TYPE_CHECKING:
    from collections.abc import Callable

_UNITS: Final = (
    (1, ("ns", "nano")), (10**3, ("us", "µs", "micro")), (10**6, ("ms", "milli")), (10**9, ("s", "sec")),
    (60 * 10**9, ("m", "min")), (3600 * 10**9, ("h", "hr", "hour")), (86400 * 10**9, ("d", "day")),
    (7 * 86400 * 10**9, ("w", "wk", "week")),
)  # fmt: skip
_WORDED_DURATION: Final = re.compile(r"(\d+)\s*([A-Za-zµ]+)", re.ASCII)
_CLOCK: Final = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:.[0-9]+)?(?:z|[+-][0-9]{2}:[0-9]{2})")
_LOCAL_TIME: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}")
_HEXCOLOR: Final = re.compile(r"#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})")
_CHANNEL: Final = r"(?:0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])"
_RGBCOLOR: Final = re.compile(rf"rgb\(\s*{_CHANNEL}\s*,\s*{_CHANNEL}\s*,\s*{_CHANNEL}\s*\)", re.ASCII)
_BASE64: Final = re.compile(r"(?:[A-Za-z0-9+\\/]{4})*(?:[A-Za-z0-9+\\/]{2}==|[A-Za-z0-9+\\/]{3}=|[A-Za-z0-9+\\/]{4})")
_SSN: Final = re.compile(r"\d{3}[- ]?\d{2}[- ]?\d{4}", re.ASCII)
_CARD: Final = re.compile(
    r"(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|(?:222[1-9]|22[3-9][0-9]|2[3-6][0-9]{2}|27[01][0-9]|2720)[0-9]{12}"
    r"|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\d{3})\d{11}"
    r"|6[27][0-9]{14})",
    re.ASCII,
)
_MAC: Final = re.compile(r"[0-9a-fA-F]{2}([:-])(?:[0-9a-fA-F]{2}\1)*[0-9a-fA-F]{2}|[0-9a-fA-F]{4}(?:\.[0-9a-fA-F]{4})+")
_MAC_BYTES: Final = (6, 8, 20)
_EMAIL: Final = re.compile(r"[^\s@<>()\[\]\\,;:\"]+@[^\s@<>()\\,;:\"]+")
_NAMED_EMAIL: Final = re.compile(r"[^<>@]*<([^<>]+)>\s*")
_HOSTNAME: Final = (
    r"^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)|([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9-\p{S}\p{L}]{0,61}"
    r"[a-zA-Z0-9\p{S}\p{L}])?)(\.)){1,}([a-zA-Z\p{L}]){2,63})$"
)
_SHORT_NAME: Final = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?")
_LONG_NAME: Final = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")
_OBJECT_ID: Final = re.compile(r"[0-9a-fA-F]{24}")


def parse_lenient_duration(text: str) -> Duration | None:
    """Read Go's durations, and `3 days`."""
    duration = parse_duration(text)
    if duration is not None or len(text) > 1000:
        return duration
    nanos: int | None = None
    for amount, word in _WORDED_DURATION.findall(text):
        unit = word.lower()
        for size, names in _UNITS:
            if unit in names[:-1] or unit.startswith(names[-1]):
                nanos = (nanos or 0) + int(amount) * size
    return None if nanos is None else Duration(nanos)


def parse_date(text: str) -> Timestamp | None:
    """Read a day."""
    return parse_timestamp(f"{text}T00:00:00Z")


def parse_date_time(text: str) -> Timestamp | None:
    """Read RFC 3339, or that without a zone."""
    if not text:
        return Timestamp(0)
    return parse_timestamp(f"{text}Z" if _LOCAL_TIME.fullmatch(text) else text)


def _is_date_time(text: str) -> bool:
    day, t, rest = text.lower().partition("t")
    if not t or parse_date(day) is None:
        return False
    clock = _CLOCK.fullmatch(rest.split("t")[0])
    return clock is not None and clock[1] <= "23" and clock[2] <= "59" and clock[3] <= "59"


def _is_uri(text: str) -> bool:
    try:
        parse_request_uri(text)
    except UriError:
        return False
    return True


def _is_email(text: str) -> bool:
    named = _NAMED_EMAIL.fullmatch(text)
    return _EMAIL.fullmatch((named[1] if named else text).strip()) is not None


def _is_hostname(text: str) -> bool:
    if not compile_pattern(_HOSTNAME).matches(text) or len(text.encode()) > 255:
        return False
    return all(len(part.encode()) <= 63 for part in text.split("."))


def _is_ipv4(text: str) -> bool:
    parts = text.split(".")
    if text.lower().startswith("::ffff:"):
        parts = text[7:].split(".")
    return len(parts) == 4 and all(p.isascii() and p.isdigit() and int(p[:9]) < 256 and len(p) < 10 for p in parts)


def _is_ipv6(text: str) -> bool:
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return "%" not in text


def _is_cidr(text: str) -> bool:
    address, slash, bits = text.partition("/")
    if not slash or not bits.isascii() or not bits.isdigit() or len(bits) > 4:
        return False
    if _is_ipv4(address) and ":" not in address:
        return int(bits) <= 32
    return _is_ipv6(address) and int(bits) <= 128


def _is_mac(text: str) -> bool:
    return _MAC.fullmatch(text) is not None and len(re.sub("[^0-9a-fA-F]", "", text)) // 2 in _MAC_BYTES


def _is_isbn10(text: str) -> bool:
    digits = re.sub(r"[\s-]+", "", text)
    if not re.fullmatch(r"[0-9]{9}[0-9X]", digits):
        return False
    return sum((10 if d == "X" else int(d)) * n for n, d in enumerate(digits, 1)) % 11 == 0


def _is_isbn13(text: str) -> bool:
    digits = re.sub(r"[\s-]+", "", text)
    if not re.fullmatch(r"[0-9]{13}", digits):
        return False
    return sum(int(d) * (3 if n % 2 else 1) for n, d in enumerate(digits)) % 10 == 0


def _is_credit_card(text: str) -> bool:
    digits = re.sub("[^0-9]+", "", text)
    if not _CARD.fullmatch(digits):
        return False
    doubled = (int(d) * (2 if n % 2 else 1) for n, d in enumerate(reversed(digits)))
    return sum(d - 9 if d > 9 else d for d in doubled) % 10 == 0


def _uuid(version: str, variant: str = "") -> Callable[[str], bool]:
    last = rf"{variant}[0-9a-f]{{{3 if variant else 4}}}"
    third = rf"{version}[0-9a-f]{{{3 if version else 4}}}"
    pattern = re.compile(rf"[0-9a-f]{{8}}-?[0-9a-f]{{4}}-?{third}-?{last}-?[0-9a-f]{{12}}", re.IGNORECASE)
    return lambda text: pattern.fullmatch(text) is not None


FORMATS: Final[dict[str, Callable[[str], bool]]] = {
    "bsonobjectid": lambda text: _OBJECT_ID.fullmatch(text) is not None,
    "uri": _is_uri,
    "email": _is_email,
    "hostname": _is_hostname,
    "ipv4": _is_ipv4,
    "ipv6": _is_ipv6,
    "cidr": _is_cidr,
    "mac": _is_mac,
    "uuid": _uuid(""),
    "uuid3": _uuid("3"),
    "uuid4": _uuid("4", "[89ab]"),
    "uuid5": _uuid("5", "[89ab]"),
    "isbn": lambda text: _is_isbn10(text) or _is_isbn13(text),
    "isbn10": _is_isbn10,
    "isbn13": _is_isbn13,
    "creditcard": _is_credit_card,
    "ssn": lambda text: _SSN.fullmatch(text) is not None,
    "hexcolor": lambda text: _HEXCOLOR.fullmatch(text) is not None,
    "rgbcolor": lambda text: _RGBCOLOR.fullmatch(text) is not None,
    "byte": lambda text: _BASE64.fullmatch(text) is not None,
    "password": lambda _: True,
    "date": lambda text: parse_date(text) is not None,
    "duration": lambda text: parse_lenient_duration(text) is not None,
    "datetime": _is_date_time,
    "k8sshortname": lambda text: len(text) <= 63 and _SHORT_NAME.fullmatch(text) is not None,
    "k8slongname": lambda text: len(text) <= 253 and _LONG_NAME.fullmatch(text) is not None,
}
"""Whether a text has a format, by its name without dashes. What is not here is not checked by the server either."""
