"""Optionals: values that may be missing, without errors."""

from __future__ import annotations

from typing import Any, Final

from trimtab.apiserver.cel import types as t
from trimtab.apiserver.cel.errors import EvaluationError
from trimtab.apiserver.cel.functions import Library
from trimtab.apiserver.cel.values import NONE, Optional, zero

OPTIONALS: Final = Library()

_K, _V = t.param("K"), t.param("V")
_OPTIONAL, _LIST, _MAP = t.optional_of(_V), t.list_of(_V), t.map_of(_K, _V)


def _value(optional: Optional) -> Any:
    if not optional.present:
        raise EvaluationError("optional.none() dereference")
    return optional.value


def _end(items: Any, index: int) -> Optional:
    values = list(items)
    return Optional(values[index]) if values else NONE


def _unwrap(items: Any) -> list[Any]:
    values = list(items)
    if not all(isinstance(item, Optional) for item in values):
        raise EvaluationError("value is not optional")
    return [item.value for item in values if item.present]


OPTIONALS.function("optional.of", "optional_of", [_V], _OPTIONAL, Optional)
OPTIONALS.function(
    "optional.ofNonZeroValue",
    "optional_ofNonZeroValue",
    [_V],
    _OPTIONAL,
    lambda value: NONE if zero(value) else Optional(value),
)
OPTIONALS.function("optional.none", "optional_none", [], _OPTIONAL, lambda: NONE)
OPTIONALS.member("value", "optional_value", [_OPTIONAL], _V, _value)
OPTIONALS.member("hasValue", "optional_hasValue", [_OPTIONAL], t.BOOL, lambda optional: optional.present)
OPTIONALS.member("or", "optional_or_optional", [_OPTIONAL, _OPTIONAL], _OPTIONAL, None)
OPTIONALS.member("orValue", "optional_orValue_value", [_OPTIONAL, _V], _V, None)
OPTIONALS.function("_?._", "select_optional_field", [t.DYN, t.STRING], _OPTIONAL, None)
OPTIONALS.function("_[?_]", "list_optindex_optional_int", [_LIST, t.INT], _OPTIONAL, None)
OPTIONALS.function("_[?_]", "optional_list_optindex_optional_int", [t.optional_of(_LIST), t.INT], _OPTIONAL, None)
OPTIONALS.function("_[?_]", "map_optindex_optional_value", [_MAP, _K], _OPTIONAL, None)
OPTIONALS.function("_[?_]", "optional_map_optindex_optional_value", [t.optional_of(_MAP), _K], _OPTIONAL, None)
OPTIONALS.function("_[_]", "optional_list_index_int", [t.optional_of(_LIST), t.INT], _OPTIONAL, None)
OPTIONALS.function("_[_]", "optional_map_index_value", [t.optional_of(_MAP), _K], _OPTIONAL, None)
OPTIONALS.member("first", "list_first", [_LIST], _OPTIONAL, lambda items: _end(items, 0))
OPTIONALS.member("last", "list_last", [_LIST], _OPTIONAL, lambda items: _end(items, -1))
OPTIONALS.function("optional.unwrap", "optional_unwrap", [t.list_of(_OPTIONAL)], _LIST, _unwrap)
OPTIONALS.member("unwrapOpt", "optional_unwrapOpt", [t.list_of(_OPTIONAL)], _LIST, _unwrap)
