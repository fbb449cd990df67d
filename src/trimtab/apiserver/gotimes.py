"""Why a text is no time, in Go's words: how far it could be read, and which part of the layout the rest is not."""

from __future__ import annotations

import calendar
import re
from typing import Final

from trimtab.apiserver.causes import quoted

TIME: Final = "2006-01-02T15:04:05Z07:00"
MICRO_TIME: Final = "2006-01-02T15:04:05.000000Z07:00"

_PARTS: Final = re.compile(r"2006|01|02|15|04|05|\.000000|Z07:00|[-T:]")
_DIGITS: Final = {"2006": r"[0-9]{4}", "01": r"[0-9]{2}", "02": r"[0-9]{2}", "04": r"[0-9]{2}", "05": r"[0-9]{2}"}
_OTHERS: Final = {"15": r"[0-9]{2}", ".000000": r"[.,][0-9]{6}", "Z07:00": r"Z|[+-][0-9]{2}:[0-9]{2}"}
_BOUNDS: Final = {"01": ("month", 1, 12), "15": ("hour", 0, 23), "04": ("minute", 0, 59), "05": ("second", 0, 59)}


def wrong_time(text: str, layout: str) -> str:
    """The sentence for a text that is no time of a layout."""
    head = f"parsing time {quoted(text)}"
    left = text
    read: dict[str, int] = {}
    for part in _PARTS.findall(layout):
        found = re.match(_DIGITS.get(part) or _OTHERS.get(part) or re.escape(part), left)
        if found is None:
            return f"{head} as {quoted(layout)}: cannot parse {quoted(left)} as {quoted(part)}"
        left = left[found.end() :]
        if part in _BOUNDS or part in _DIGITS:
            read[part] = int(found[0])
        what, low, high = _BOUNDS.get(part, ("", 0, 0))
        if what and not low <= read[part] <= high:
            return f"{head}: {what} out of range"
        if part == "05" and ".000000" not in layout and (more := re.match(r"[.,][0-9]+", left)):
            left = left[more.end() :]
    if left:
        return f"{head}: extra text: {quoted(left)}"
    days = calendar.monthrange(max(read["2006"], 1), read["01"])[1]
    return f"{head}: day out of range" if not 1 <= read["02"] <= days else f"{head}: out of range"
