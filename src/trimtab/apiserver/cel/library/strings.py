"""The string functions that CEL's extensions add, and Kubernetes' of regular expressions and JSON patches."""

from __future__ import annotations

from typing import Any, Final

from trimtab.apiserver.cel import types as t
from trimtab.apiserver.cel.errors import CostExceededError, EvaluationError
from trimtab.apiserver.cel.functions import Library
from trimtab.apiserver.cel.library.formatting import format_string
from trimtab.apiserver.cel.regexes import PatternError, compile_pattern

STRINGS: Final = Library()
REGEX: Final = Library()
JSON_PATCH: Final = Library()

_LARGEST_RESULT: Final = 1 << 24
_UPPER: Final = {c: c - 32 for c in range(ord("a"), ord("z") + 1)}
_LOWER: Final = {c: c + 32 for c in range(ord("A"), ord("Z") + 1)}
_QUOTED: Final = str.maketrans(
    {
        "\a": "\\a",
        "\b": "\\b",
        "\f": "\\f",
        "\n": "\\n",
        "\r": "\\r",
        "\t": "\\t",
        "\v": "\\v",
        "\\": "\\\\",
        '"': '\\"',
    }
)


def _out_of_range(index: int) -> EvaluationError:
    return EvaluationError(f"index out of range: {index}")


def _char_at(text: str, index: int) -> str:
    if not 0 <= index <= len(text):
        raise _out_of_range(index)
    return text[index : index + 1]


def _index_of(text: str, part: str, offset: int = 0) -> int:
    if not part:
        return offset
    if offset < 0:
        raise _out_of_range(offset)
    return text.find(part, offset)


def _last_index_of(text: str, part: str, offset: int | None = None) -> int:
    if not part:
        return len(text) if offset is None else offset
    if offset is None:
        return text.rfind(part)
    if offset < 0:
        raise _out_of_range(offset)
    if offset >= len(text):
        return -1
    return text.rfind(part, 0, offset + len(part))


def _replace(text: str, old: str, new: str, most: int = -1) -> str:
    times = text.count(old) if most < 0 else min(text.count(old), most)
    if len(text) + times * len(new) > _LARGEST_RESULT:
        raise CostExceededError
    return text.replace(old, new, max(most, -1))


def _split(text: str, separator: str, most: int = -1) -> list[str]:
    if most == 0:
        return []
    if not separator:
        return list(text) if most < 0 or most >= len(text) else [*text[: most - 1], text[most - 1 :]]
    return text.split(separator, most - 1 if most > 0 else -1)


def _substring(text: str, start: int, end: int | None = None) -> str:
    if end is not None and start > end:
        raise EvaluationError(f"invalid substring range. start: {start}, end: {end}")
    for index in (start, end):
        if index is not None and not 0 <= index <= len(text):
            raise _out_of_range(index)
    return text[start:end]


def _join(parts: Any, separator: str = "") -> str:
    texts: list[str] = []
    for part in parts:
        if not isinstance(part, str):
            raise EvaluationError(f"join: invalid input: {part}")
        texts.append(part)
    if sum(len(text) for text in texts) + len(separator) * len(texts) > _LARGEST_RESULT:
        raise CostExceededError
    return separator.join(texts)


# What Go's TrimSpace takes for space; Python's strip also takes the ASCII separators 0x1c to 0x1f.
_SPACE: Final = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)

_S, _I = t.STRING, t.INT
STRINGS.member("charAt", "string_char_at_int", [_S, _I], _S, _char_at)
STRINGS.member("indexOf", "string_index_of_string", [_S, _S], _I, _index_of)
STRINGS.member("indexOf", "string_index_of_string_int", [_S, _S, _I], _I, _index_of)
STRINGS.member("lastIndexOf", "string_last_index_of_string", [_S, _S], _I, _last_index_of)
STRINGS.member("lastIndexOf", "string_last_index_of_string_int", [_S, _S, _I], _I, _last_index_of)
STRINGS.member("lowerAscii", "string_lower_ascii", [_S], _S, lambda text: text.translate(_LOWER))
STRINGS.member("upperAscii", "string_upper_ascii", [_S], _S, lambda text: text.translate(_UPPER))
STRINGS.member("replace", "string_replace_string_string", [_S, _S, _S], _S, _replace)
STRINGS.member("replace", "string_replace_string_string_int", [_S, _S, _S, _I], _S, _replace)
STRINGS.member("split", "string_split_string", [_S, _S], t.list_of(_S), _split)
STRINGS.member("split", "string_split_string_int", [_S, _S, _I], t.list_of(_S), _split)
STRINGS.member("substring", "string_substring_int", [_S, _I], _S, _substring)
STRINGS.member("substring", "string_substring_int_int", [_S, _I, _I], _S, _substring)
STRINGS.member("trim", "string_trim", [_S], _S, lambda text: text.strip(_SPACE))
STRINGS.member("format", "string_format", [_S, t.list_of(t.DYN)], _S, format_string)
STRINGS.function("strings.quote", "strings_quote", [_S], _S, lambda text: f'"{text.translate(_QUOTED)}"')
STRINGS.member("join", "list_join", [t.list_of(_S)], _S, _join)
STRINGS.member("join", "list_join_string", [t.list_of(_S), _S], _S, _join)


def _pattern(pattern: str) -> Any:
    try:
        return compile_pattern(pattern)
    except PatternError as error:
        raise EvaluationError(f"Illegal regex: {error}") from None


def _find_all(text: str, pattern: str, most: int = -1) -> list[str]:
    return _pattern(pattern).every(text, most)


REGEX.member("find", "string_find_string", [_S, _S], _S, lambda text, pattern: _pattern(pattern).first(text))
REGEX.member("findAll", "string_find_all_string", [_S, _S], t.list_of(_S), _find_all)
REGEX.member("findAll", "string_find_all_string_int", [_S, _S, _I], t.list_of(_S), _find_all)

JSON_PATCH.function(
    "jsonpatch.escapeKey",
    "string_jsonpatch_escapeKey_string",
    [_S],
    _S,
    lambda key: key.replace("~", "~0").replace("/", "~1"),
)
