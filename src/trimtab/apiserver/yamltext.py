"""Writes YAML as Kubernetes writes it: keys in their natural order, quotes only where text would be read otherwise."""

from __future__ import annotations

import re
from decimal import Decimal
from functools import cmp_to_key
from itertools import count
from typing import Any, Final, cast

import yaml

_TEXT: Final = "tag:yaml.org,2002:str"
_OTHERWISE: Final = frozenset(
    spelled
    for word in ("y", "yes", "n", "no", "true", "false", "on", "off", "null", ".nan", ".inf", "+.inf", "-.inf")
    for spelled in (word, word.capitalize(), word.upper(), re.sub("nan", "NaN", word), re.sub("inf", "Inf", word))
) | {"", "~", "<<", "="}
_NUMBER: Final = re.compile(
    r"""[-+]?0b[01_]+ | [-+]?0o?[0-7_]+ | [-+]?0x[0-9a-fA-F_]+ | [-+]?[0-9][0-9_]*
      | [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?
      | [-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?""",
    re.VERBOSE,
)
_TIME: Final = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt ][^ ]*([ ].*)?)?")


def to_yaml(value: Any) -> bytes:
    """The value as YAML."""
    return yaml.dump(value, Dumper=_Dumper, allow_unicode=True, default_flow_style=False, sort_keys=False).encode()


class _Dumper(yaml.CSafeDumper):
    """Knows no types: whatever it is given is text already, with or without quotes."""

    def ignore_aliases(self, data: Any) -> bool:
        """What is the same is written twice."""
        del data
        return True


_Dumper.yaml_implicit_resolvers = {}


def _text(dumper: _Dumper, text: str) -> yaml.Node:
    if "\n" in text:
        return _scalar(dumper, text, "|")
    return _scalar(dumper, text, '"' if _reads_otherwise(text) else None)


def _reads_otherwise(text: str) -> bool:
    """Whether a reader would take it for something else than text, if it stood there without quotes."""
    if text in _OTHERWISE:
        return True
    return text[0] in "+-.0123456789" and bool(_NUMBER.fullmatch(text) or _TIME.fullmatch(text))


def _plain(dumper: _Dumper, text: str) -> yaml.Node:
    return _scalar(dumper, text, None)


def _scalar(dumper: _Dumper, text: str, style: str | None) -> yaml.Node:
    return cast("Any", dumper).represent_scalar(_TEXT, text, style)


def _number(number: float) -> str:
    """As Go prints it: with an exponent from a million on."""
    sign, digits, exponent = Decimal(repr(number)).normalize().as_tuple()
    size = len(digits) - 1 + int(exponent)
    if -4 <= size < 6:
        return repr(number).removesuffix(".0") if size >= 0 else f"{Decimal(repr(number)):f}"
    rest = "".join(map(str, digits[1:]))
    return f"{'-' * sign}{digits[0]}{'.' * bool(rest)}{rest}e{'-' if size < 0 else '+'}{abs(size):02}"


def _map(dumper: _Dumper, value: dict[str, Any]) -> yaml.Node:
    return dumper.represent_mapping("tag:yaml.org,2002:map", [(k, value[k]) for k in sorted(value, key=_natural)])


_Dumper.add_representer(str, _text)
_Dumper.add_representer(bool, lambda dumper, value: _plain(dumper, "true" if value else "false"))
_Dumper.add_representer(int, lambda dumper, value: _plain(dumper, str(value)))
_Dumper.add_representer(float, lambda dumper, value: _plain(dumper, _number(value)))
_Dumper.add_representer(type(None), lambda dumper, _: _plain(dumper, "null"))
_Dumper.add_representer(dict, _map)


def _compare(one: str, other: str) -> int:
    """Which key comes first: signs before letters, and numbers in them by how large they are."""
    after_digits = False
    for place, (a, b) in enumerate(zip(one, other, strict=False)):
        if a == b:
            after_digits = a.isdecimal()
            continue
        if a.isalpha() and b.isalpha():
            return -1 if a < b else 1
        if a.isalpha() or b.isalpha():
            return -1 if a.isalpha() == after_digits else 1
        left, right = _digits(one, place), _digits(other, place)
        leading = "1" if "0" in (a, b) and _follows_a_number(one, place) else ""
        by_size = int(leading + left or "0") - int(leading + right or "0")
        return by_size or len(left) - len(right) or (-1 if a < b else 1)
    return len(one) - len(other)


def _digits(text: str, start: int) -> str:
    end = next(place for place in count(start) if place == len(text) or not text[place].isdecimal())
    return text[start:end]


def _follows_a_number(text: str, place: int) -> bool:
    """Whether digits stand before, that are not all zero."""
    before = text[:place]
    return bool(before[len(before.rstrip("0123456789")) :].strip("0"))


_natural: Final = cmp_to_key(cast("Any", _compare))
