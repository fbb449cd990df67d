"""IntOrString: a count such as `3`, or a share of a total such as `"25%"`; elsewhere a port by number or by name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from trimtab.kube.invalid import InvalidValueError

if TYPE_CHECKING:
    from trimtab.kube.hints import IntOrString

_PERCENT: Final = re.compile(r"([+-]?[0-9]{1,18})%")


def scaled(value: IntOrString, total: int, *, round_up: bool = False) -> int:
    """Turn a count or percentage, as of `maxUnavailable`, into a count out of `total`; a plain count stays as it is."""
    if isinstance(value, int):
        return value
    percent = _PERCENT.fullmatch(value)
    if percent is None:
        raise InvalidValueError(f"{value!r} is neither a number nor a percentage: write 3 or '25%'")
    hundredths = int(percent[1]) * total
    return -(-hundredths // 100) if round_up else hundredths // 100
