"""The functions and operators of CEL itself."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from trimtab.apiserver.cel import types as t
from trimtab.apiserver.cel.errors import EvaluationError
from trimtab.apiserver.cel.functions import Library
from trimtab.apiserver.cel.numbers import decimal, shortest
from trimtab.apiserver.cel.regexes import PatternError, compile_pattern
from trimtab.apiserver.cel.times import (
    SECOND,
    checked,
    format_timestamp,
    local,
    parse_duration,
    parse_timestamp,
)
from trimtab.apiserver.cel.values import (
    INT_MAX,
    INT_MIN,
    UINT_MAX,
    Duration,
    Sequence,
    Timestamp,
    TypeValue,
    Uint,
    compare,
    equal,
    find,
    kind_name,
    size,
)
from trimtab.apiserver.cel.values import MISSING as _MISSING

STANDARD: Final = Library()
_A, _B = t.param("A"), t.param("B")
_LISTS, _MAPS = t.list_of(_A), t.map_of(_A, _B)


def _int(number: int) -> int:
    if not INT_MIN <= number <= INT_MAX:
        raise EvaluationError("integer overflow")
    return number


def _uint(number: int) -> Uint:
    if not 0 <= number <= UINT_MAX:
        raise EvaluationError("unsigned integer overflow")
    return Uint(number)


def _divide(a: int, b: int) -> int:
    if b == 0:
        raise EvaluationError("division by zero")
    quotient = abs(a) // abs(b)
    return _int(quotient if (a < 0) == (b < 0) else -quotient)


def _remainder(a: int, b: int) -> int:
    if b == 0:
        raise EvaluationError("modulus by zero")
    return int(math.copysign(1, a)) * (abs(a) % abs(b))


def _quotient(a: float, b: float) -> float:
    if b:
        return a / b
    if a == 0 or math.isnan(a):
        return math.nan
    return math.copysign(math.inf, a) * math.copysign(1, b)


def _concatenated(a: Any, b: Any) -> Any:
    return a.plus(b) if isinstance(a, Sequence) else [*a, *b]


def _duration(nanos: int) -> Duration:
    if not INT_MIN <= nanos <= INT_MAX:
        raise EvaluationError("integer overflow")
    return Duration(nanos)


def _arithmetic() -> None:
    add, subtract = STANDARD.function, STANDARD.function
    add("_+_", "add_bytes", [t.BYTES, t.BYTES], t.BYTES, lambda a, b: a + b)
    add("_+_", "add_double", [t.DOUBLE, t.DOUBLE], t.DOUBLE, lambda a, b: a + b)
    add("_+_", "add_duration_duration", [t.DURATION] * 2, t.DURATION, lambda a, b: _duration(a.nanos + b.nanos))
    add(
        "_+_", "add_duration_timestamp", [t.DURATION, t.TIMESTAMP], t.TIMESTAMP, lambda a, b: checked(a.nanos + b.nanos)
    )
    add(
        "_+_", "add_timestamp_duration", [t.TIMESTAMP, t.DURATION], t.TIMESTAMP, lambda a, b: checked(a.nanos + b.nanos)
    )
    add("_+_", "add_int64", [t.INT, t.INT], t.INT, lambda a, b: _int(a + b))
    add("_+_", "add_list", [_LISTS, _LISTS], _LISTS, _concatenated)
    add("_+_", "add_string", [t.STRING, t.STRING], t.STRING, lambda a, b: a + b)
    add("_+_", "add_uint64", [t.UINT, t.UINT], t.UINT, lambda a, b: _uint(int(a) + int(b)))
    STANDARD.function("_/_", "divide_double", [t.DOUBLE, t.DOUBLE], t.DOUBLE, _quotient)
    STANDARD.function("_/_", "divide_int64", [t.INT, t.INT], t.INT, _divide)
    STANDARD.function("_/_", "divide_uint64", [t.UINT, t.UINT], t.UINT, lambda a, b: _uint(_divide(int(a), int(b))))
    STANDARD.function("_%_", "modulo_int64", [t.INT, t.INT], t.INT, _remainder)
    STANDARD.function("_%_", "modulo_uint64", [t.UINT, t.UINT], t.UINT, lambda a, b: Uint(_remainder(int(a), int(b))))
    STANDARD.function("_*_", "multiply_double", [t.DOUBLE, t.DOUBLE], t.DOUBLE, lambda a, b: a * b)
    STANDARD.function("_*_", "multiply_int64", [t.INT, t.INT], t.INT, lambda a, b: _int(a * b))
    STANDARD.function("_*_", "multiply_uint64", [t.UINT, t.UINT], t.UINT, lambda a, b: _uint(int(a) * int(b)))
    STANDARD.function("-_", "negate_double", [t.DOUBLE], t.DOUBLE, lambda a: -a)
    STANDARD.function("-_", "negate_int64", [t.INT], t.INT, lambda a: _int(-a))
    subtract("_-_", "subtract_double", [t.DOUBLE, t.DOUBLE], t.DOUBLE, lambda a, b: a - b)
    subtract(
        "_-_", "subtract_duration_duration", [t.DURATION] * 2, t.DURATION, lambda a, b: _duration(a.nanos - b.nanos)
    )
    subtract("_-_", "subtract_int64", [t.INT, t.INT], t.INT, lambda a, b: _int(a - b))
    subtract(
        "_-_",
        "subtract_timestamp_duration",
        [t.TIMESTAMP, t.DURATION],
        t.TIMESTAMP,
        lambda a, b: checked(a.nanos - b.nanos),
    )
    subtract(
        "_-_", "subtract_timestamp_timestamp", [t.TIMESTAMP] * 2, t.DURATION, lambda a, b: _duration(a.nanos - b.nanos)
    )
    subtract("_-_", "subtract_uint64", [t.UINT, t.UINT], t.UINT, lambda a, b: _uint(int(a) - int(b)))


_COMPARED: Final = (
    ("bool", t.BOOL, t.BOOL), ("int64", t.INT, t.INT), ("int64_double", t.INT, t.DOUBLE),
    ("int64_uint64", t.INT, t.UINT), ("uint64", t.UINT, t.UINT), ("uint64_double", t.UINT, t.DOUBLE),
    ("uint64_int64", t.UINT, t.INT), ("double", t.DOUBLE, t.DOUBLE), ("double_int64", t.DOUBLE, t.INT),
    ("double_uint64", t.DOUBLE, t.UINT), ("string", t.STRING, t.STRING), ("bytes", t.BYTES, t.BYTES),
    ("timestamp", t.TIMESTAMP, t.TIMESTAMP), ("duration", t.DURATION, t.DURATION),
)  # fmt: skip


def _comparisons() -> None:
    orders: tuple[tuple[str, str, Callable[[Any, Any], bool]], ...] = (
        ("_<_", "less", lambda a, b: compare(a, b) < 0),
        ("_<=_", "less_equals", lambda a, b: compare(a, b) <= 0),
        ("_>_", "greater", lambda a, b: compare(a, b) > 0),
        ("_>=_", "greater_equals", lambda a, b: compare(a, b) >= 0),
    )
    for name, word, run in orders:
        for suffix, left, right in _COMPARED:
            STANDARD.function(name, f"{word}_{suffix}", [left, right], t.BOOL, run)
    STANDARD.function("_==_", "equals", [_A, _A], t.BOOL, equal)
    STANDARD.function("_!=_", "not_equals", [_A, _A], t.BOOL, lambda a, b: not equal(a, b))


def in_list(element: Any, container: Any) -> bool:
    """Whether a list holds an equal element."""
    return any(equal(element, candidate) for candidate in container)


def _structure() -> None:
    """Conditions and access, which the evaluation does itself."""
    define = STANDARD.function
    define("_?_:_", "conditional", [t.BOOL, _A, _A], _A, None)
    define("_&&_", "logical_and", [t.BOOL, t.BOOL], t.BOOL, None)
    define("_||_", "logical_or", [t.BOOL, t.BOOL], t.BOOL, None)
    define("!_", "logical_not", [t.BOOL], t.BOOL, lambda a: not a)
    define("@not_strictly_false", "not_strictly_false", [t.BOOL], t.BOOL, None)
    define("@in", "in_list", [_A, _LISTS], t.BOOL, in_list)
    define("@in", "in_map", [_A, _MAPS], t.BOOL, lambda key, container: find(container, key) is not _MISSING)
    define("_[_]", "index_list", [_LISTS, t.INT], _A, None)
    define("_[_]", "index_map", [_MAPS, _A], _B, None)
    for kind, of in (("bytes", t.BYTES), ("list", _LISTS), ("map", _MAPS), ("string", t.STRING)):
        define("size", f"size_{kind}", [of], t.INT, size)
        STANDARD.member("size", f"{kind}_size", [of], t.INT, size)
    define("type", "type", [_A], t.type_of(_A), lambda value: TypeValue(kind_name(value)))
    define("dyn", "to_dyn", [_A], t.DYN, lambda value: value)


def _conversion_error(source: str, target: str) -> EvaluationError:
    return EvaluationError(f"type conversion error from '{source}' to '{target}'")


def _string_to_int(text: str) -> int:
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 64 or not INT_MIN <= int(text) <= INT_MAX:
        raise _conversion_error("string", "int")
    return int(text)


def _string_to_uint(text: str) -> Uint:
    if not (text.isascii() and text.isdigit()) or len(text) > 64 or int(text) > UINT_MAX:
        raise _conversion_error("string", "uint")
    return Uint(text)


def _string_to_double(text: str) -> float:
    try:
        number = float(text if text == text.strip() and "_" not in text else "none")
    except ValueError:
        raise _conversion_error("string", "double") from None
    if math.isinf(number) and "inf" not in text.lower():
        raise _conversion_error("string", "double")
    return number


def _double_to_int(number: float) -> int:
    if math.isnan(number) or not -(2.0**63) < number < 2.0**63:
        raise EvaluationError("integer overflow")
    return int(number)


def _double_to_uint(number: float) -> Uint:
    if math.isnan(number) or not 0 <= number < 2.0**64:
        raise EvaluationError("unsigned integer overflow")
    return Uint(number)


def _string_to_bool(text: str) -> bool:
    if text in ("1", "t", "T", "true", "TRUE", "True"):
        return True
    if text in ("0", "f", "F", "false", "FALSE", "False"):
        return False
    raise _conversion_error("string", "bool")


def _bytes_to_string(octets: bytes) -> str:
    try:
        return octets.decode()
    except UnicodeDecodeError:
        raise EvaluationError("invalid UTF-8 in bytes, cannot convert to string") from None


def _string_to_duration(text: str) -> Duration:
    duration = parse_duration(text)
    if duration is None:
        raise _conversion_error("string", "google.protobuf.Duration")
    return duration


def _string_to_timestamp(text: str) -> Timestamp:
    moment = parse_timestamp(text)
    if moment is None:
        raise _conversion_error("string", "google.protobuf.Timestamp")
    return moment


def duration_text(duration: Duration) -> str:
    """How a duration is written as a string: in seconds."""
    return f"{decimal(duration.nanos / SECOND)}s"


def to_string(value: Any) -> str:
    """What `string(value)` gives, for the scalars."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        return shortest(value)
    if isinstance(value, bytes):
        return _bytes_to_string(value)
    if isinstance(value, Duration):
        return duration_text(value)
    if isinstance(value, Timestamp):
        return format_timestamp(value)
    return value.name if isinstance(value, TypeValue) else str(value)


def _conversions() -> None:
    def convert(name: str, result: t.Type, sources: tuple[tuple[str, t.Type, Callable[[Any], Any]], ...]) -> None:
        for id_, source, run in sources:
            STANDARD.function(name, id_, [source], result, run)

    def same(value: Any) -> Any:
        return value

    convert("bool", t.BOOL, (("bool_to_bool", t.BOOL, same), ("string_to_bool", t.STRING, _string_to_bool)))
    convert("bytes", t.BYTES, (("bytes_to_bytes", t.BYTES, same), ("string_to_bytes", t.STRING, str.encode)))
    convert("double", t.DOUBLE, (
        ("double_to_double", t.DOUBLE, same), ("int64_to_double", t.INT, float),
        ("string_to_double", t.STRING, _string_to_double), ("uint64_to_double", t.UINT, float),
    ))  # fmt: skip
    convert("duration", t.DURATION, (
        ("duration_to_duration", t.DURATION, same), ("int64_to_duration", t.INT, Duration),
        ("string_to_duration", t.STRING, _string_to_duration),
    ))  # fmt: skip
    convert("int", t.INT, (
        ("int64_to_int64", t.INT, same), ("double_to_int64", t.DOUBLE, _double_to_int),
        ("duration_to_int64", t.DURATION, lambda d: d.nanos), ("string_to_int64", t.STRING, _string_to_int),
        ("timestamp_to_int64", t.TIMESTAMP, lambda m: m.nanos // SECOND),
        ("uint64_to_int64", t.UINT, lambda n: _int(int(n))),
    ))  # fmt: skip
    convert("string", t.STRING, (
        ("string_to_string", t.STRING, same), ("bool_to_string", t.BOOL, to_string),
        ("bytes_to_string", t.BYTES, to_string), ("double_to_string", t.DOUBLE, to_string),
        ("duration_to_string", t.DURATION, to_string), ("int64_to_string", t.INT, to_string),
        ("timestamp_to_string", t.TIMESTAMP, to_string), ("uint64_to_string", t.UINT, to_string),
    ))  # fmt: skip
    convert("timestamp", t.TIMESTAMP, (
        ("timestamp_to_timestamp", t.TIMESTAMP, same), ("int64_to_timestamp", t.INT, lambda n: checked(n * SECOND)),
        ("string_to_timestamp", t.STRING, _string_to_timestamp),
    ))  # fmt: skip
    convert("uint", t.UINT, (
        ("uint64_to_uint64", t.UINT, same), ("double_to_uint64", t.DOUBLE, _double_to_uint),
        ("int64_to_uint64", t.INT, _uint), ("string_to_uint64", t.STRING, _string_to_uint),
    ))  # fmt: skip


def matches(text: str, pattern: str) -> bool:
    """Whether a regular expression is found in a text."""
    try:
        return compile_pattern(pattern).matches(text)
    except PatternError as error:
        raise EvaluationError(str(error)) from None


def _strings() -> None:
    two = [t.STRING, t.STRING]
    STANDARD.member("contains", "contains_string", two, t.BOOL, lambda text, part: part in text)
    STANDARD.member("endsWith", "ends_with_string", two, t.BOOL, str.endswith)
    STANDARD.member("startsWith", "starts_with_string", two, t.BOOL, str.startswith)
    STANDARD.function("matches", "matches", two, t.BOOL, matches)
    STANDARD.member("matches", "matches_string", two, t.BOOL, matches)


def _part(pick: Callable[[Any], int]) -> Callable[..., int]:
    def run(moment: Timestamp, zone: str | None = None) -> int:
        return pick(local(moment, zone))

    return run


def _times() -> None:
    parts: tuple[tuple[str, str, Callable[[Any], int]], ...] = (
        ("getFullYear", "year", lambda d: d.year),
        ("getMonth", "month", lambda d: d.month - 1),
        ("getDayOfYear", "day_of_year", lambda d: d.timetuple().tm_yday - 1),
        ("getDayOfMonth", "day_of_month", lambda d: d.day - 1),
        ("getDate", "day_of_month_1_based", lambda d: d.day),
        ("getDayOfWeek", "day_of_week", lambda d: d.isoweekday() % 7),
        ("getHours", "hours", lambda d: d.hour),
        ("getMinutes", "minutes", lambda d: d.minute),
        ("getSeconds", "seconds_tz", lambda d: d.second),
    )
    for name, word, pick in parts:
        STANDARD.member(name, f"timestamp_to_{word}", [t.TIMESTAMP], t.INT, _part(pick))
        STANDARD.member(name, f"timestamp_to_{word}_with_tz", [t.TIMESTAMP, t.STRING], t.INT, _part(pick))

    def milliseconds(moment: Timestamp, zone: str | None = None) -> int:
        local(moment, zone)  # for its error
        return moment.nanos % SECOND // 10**6

    name = "getMilliseconds"
    STANDARD.member(name, "timestamp_to_milliseconds", [t.TIMESTAMP], t.INT, milliseconds)
    STANDARD.member(name, "timestamp_to_milliseconds_with_tz", [t.TIMESTAMP, t.STRING], t.INT, milliseconds)
    for name, word, unit in (
        ("getHours", "hours", 3600 * SECOND),
        ("getMinutes", "minutes", 60 * SECOND),
        ("getSeconds", "seconds", SECOND),
    ):
        STANDARD.member(name, f"duration_to_{word}", [t.DURATION], t.INT, lambda d, u=unit: _divide(d.nanos, u))
    STANDARD.member(
        "getMilliseconds", "duration_to_milliseconds", [t.DURATION], t.INT, lambda d: _divide(d.nanos, 10**6)
    )


_arithmetic()
_comparisons()
_structure()
_conversions()
_strings()
_times()
