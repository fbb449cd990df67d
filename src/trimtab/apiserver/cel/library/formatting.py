"""`'%d of %s'.format([1, 'x'])`: the clauses, what each takes, and how values are written."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, Final, Protocol

from trimtab.apiserver.cel.errors import EvaluationError
from trimtab.apiserver.cel.times import format_timestamp
from trimtab.apiserver.cel.uris import go_quote
from trimtab.apiserver.cel.values import (
    Duration,
    Mapping,
    Timestamp,
    TypeValue,
    find,
    is_list,
    is_map,
    keys,
    kind_name,
)

_DEFAULT_PRECISION: Final = 6
_MOST_PRECISION: Final = 1000
_INFINITE: Final = ("NaN", "Infinity", "-Infinity")


class FormatError(EvaluationError):
    """A format string cannot be read, or a value does not fit its clause."""


class Formatter(Protocol):
    """What is done with each clause: formatted when evaluating, or only checked by type."""

    def clause(self, letter: str, precision: int | None, index: int) -> str:
        """Format the argument of that index."""
        ...

    def has(self, index: int) -> bool:
        """Whether there is an argument of that index."""
        ...


def expand(text: str, formatter: Formatter) -> tuple[str, int]:
    """Replace the clauses in a text; tells how many there were."""
    parts: list[str] = []
    index = at = 0
    while (percent := text.find("%", at)) >= 0:
        parts.append(text[at:percent])
        if text[percent + 1 : percent + 2] == "%":
            parts.append("%")
            at = percent + 2
            continue
        if not formatter.has(index):
            raise FormatError(f"index {index} out of range")
        if percent + 1 >= len(text):
            raise FormatError("unexpected end of string")
        precision, at = _precision(text, percent + 1)
        letter = text[at : at + 1]
        at += 1
        if letter not in _CLAUSES:
            raise FormatError(f'could not parse formatting clause: unrecognized formatting clause "{letter}"')
        parts.append(formatter.clause(letter, precision, index))
        index += 1
    parts.append(text[at:])
    return "".join(parts), index


def _precision(text: str, at: int) -> tuple[int | None, int]:
    if text[at] != ".":
        return None, at
    end = at + 1
    while end < len(text) and text[end] in "0123456789":
        end += 1
    prefix = "could not parse formatting clause: error while parsing precision: "
    if end >= len(text):
        raise FormatError(prefix + "could not find end of precision specifier")
    digits = text[at + 1 : end]
    if not digits:
        raise FormatError(
            f'{prefix}error while converting precision to integer: strconv.Atoi: parsing "": invalid syntax'
        )
    if len(digits) > 9 or int(digits) > _MOST_PRECISION:
        raise FormatError(f"{prefix}at most {_MOST_PRECISION} digits are written")
    return int(digits), end


class _Values:
    def __init__(self, values: list[Any]) -> None:
        self._values = values

    def has(self, index: int) -> bool:
        return index < len(self._values)

    def clause(self, letter: str, precision: int | None, index: int) -> str:
        try:
            return _CLAUSES[letter](self._values[index], _DEFAULT_PRECISION if precision is None else precision)
        except EvaluationError as error:
            raise FormatError(f"error during formatting: {error}") from None


def format_string(text: str, values: Iterable[Any]) -> str:
    """Format values into a text."""
    return expand(text, _Values(list(values)))[0]


def misfit(letter: str, name: str) -> FormatError:
    """What is said of a value that does not fit its clause."""
    return FormatError(f"{_TAKES[letter]}, was given {name}")


_TAKES: Final = {
    "s": "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and "
    "timestamps",
    "d": "decimal clause can only be used on integers",
    "f": "fixed-point clause can only be used on doubles",
    "e": "scientific clause can only be used on doubles",
    "b": "only integers and bools can be formatted as binary",
    "x": "only integers, byte buffers, and strings can be formatted as hex",
    "X": "only integers, byte buffers, and strings can be formatted as hex",
    "o": "octal clause can only be used on integers",
}


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _string(value: Any, _precision: int = 0) -> str:
    from trimtab.apiserver.cel.library.standard import to_string  # noqa: PLC0415 - which needs no formatting itself

    if is_list(value):
        return "[" + ", ".join(_element(item) for item in value) + "]"
    if is_map(value):
        return _map(value)
    if value is None:
        return "null"
    if isinstance(value, (str, int, float, bytes, Timestamp, Duration, TypeValue)):
        return to_string(value)
    raise misfit("s", kind_name(value))


def _element(value: Any) -> str:
    """A value inside a list or map is written as it would be in an expression."""
    if isinstance(value, str):
        return go_quote(value)
    if isinstance(value, bytes):
        return "b" + go_quote(_text(value))
    if isinstance(value, float):
        text = _fixed(value)
        return f'"{text}"' if math.isnan(value) or math.isinf(value) else text
    if isinstance(value, Timestamp):
        return f"timestamp({go_quote(format_timestamp(value))})"
    if isinstance(value, Duration):
        return f"duration({go_quote(_string(value))})"
    if not (value is None or isinstance(value, (int, TypeValue)) or is_list(value) or is_map(value)):
        raise FormatError(f"no formatting function for {kind_name(value)}")
    return _string(value)


def _text(octets: bytes) -> str:
    try:
        return octets.decode()
    except UnicodeDecodeError:
        problem = "invalid UTF-8 in bytes, cannot convert to string"
        raise FormatError(f'could not convert argument "{problem}" to string') from None


def _map(value: Any) -> str:
    pairs: list[tuple[str, str]] = []
    for key in keys(value) if isinstance(value, Mapping) else list(value):
        if not isinstance(key, (str, int)):
            raise FormatError(f"no formatting function for map key of type {kind_name(key)}")
        pairs.append((_element(key), _element(find(value, key))))
    return "{" + ", ".join(f"{key}:{text}" for key, text in sorted(pairs, key=lambda pair: pair[0])) + "}"


def _fixed(value: float, precision: int = _DEFAULT_PRECISION) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return f"{value:.{precision}f}"


def _localized_fixed(value: Any, precision: int) -> str:
    number = _double(value, "f")
    return _special(number) or f"{number:,.{precision}f}"


def _scientific(value: Any, precision: int) -> str:
    number = _double(value, "e")
    if special := _special(number):
        return special
    mantissa, _, exponent = f"{number:e}".partition("e")  # the precision is taken for a width
    sign = "⁻" if exponent.startswith("-") else ""
    digits = "".join(_SUPERSCRIPTS[int(c)] for c in f"{abs(int(exponent)):02d}")
    return f"{mantissa}×10{sign}{digits}".rjust(precision)  # noqa: RUF001 - it is a multiplication sign


_SUPERSCRIPTS: Final = "⁰¹²³⁴⁵⁶⁷⁸⁹"


def _special(number: float) -> str:
    if math.isnan(number):
        return "NaN"
    return "" if not math.isinf(number) else "∞" if number > 0 else "-∞"


def _double(value: Any, letter: str) -> float:
    if isinstance(value, str) and value in _INFINITE:
        return float(value)
    if not isinstance(value, float):
        raise misfit(letter, kind_name(value))
    return value


def _decimal(value: Any, _precision: int) -> str:
    if not _is_int(value):
        raise misfit("d", kind_name(value))
    return str(int(value))


def _binary(value: Any, _precision: int) -> str:
    if not isinstance(value, int):
        raise misfit("b", kind_name(value))
    return f"{int(value):b}"


def _hex(letter: str) -> Callable[[Any, int], str]:
    def run(value: Any, _precision: int) -> str:
        if isinstance(value, str):
            value = value.encode()
        if isinstance(value, bytes):
            return value.hex().upper() if letter == "X" else value.hex()
        if not _is_int(value):
            raise misfit(letter, kind_name(value))
        return f"{int(value):{letter}}"

    return run


def _octal(value: Any, _precision: int) -> str:
    if not _is_int(value):
        raise misfit("o", kind_name(value))
    return f"{int(value):o}"


_CLAUSES: Final[dict[str, Callable[[Any, int], str]]] = {
    "s": _string,
    "d": _decimal,
    "f": _localized_fixed,
    "e": _scientific,
    "b": _binary,
    "x": _hex("x"),
    "X": _hex("X"),
    "o": _octal,
}
