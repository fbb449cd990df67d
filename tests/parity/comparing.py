"""What two answers do not have in common, and what two runs of the real server teach to leave out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

VARIES = "<varies>"
MAY_LACK = "<varies, or is absent>"
ABSENT = "<absent>"


@dataclass(frozen=True)
class Difference:
    """One place where the embedded server does not say what the real one says."""

    step: int
    way: str
    real: Any
    ours: Any

    def line(self) -> str:
        """Tell it in one line."""
        return f"[{self.step}] {self.way}: {_short(self.real)} became {_short(self.ours)}"


def expected(first: Any, second: Any) -> Any:
    """What both runs of the real server say, with marks where they do not agree. Marks that are there already stay."""
    if MAY_LACK in (_mark(first), _mark(second)):
        return MAY_LACK
    if isinstance(first, dict) and isinstance(second, dict):
        return {
            key: expected(first[key], second[key]) if key in first and key in second else MAY_LACK
            for key in first.keys() | second.keys()
        }
    if isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        return [expected(a, b) for a, b in zip(first, second, strict=True)]
    return first if _same(first, second) else VARIES


def masked_too(wanted: Any, recorded: Any) -> Any:
    """What is wanted, without the places that varied when others of the real server's answers were recorded."""
    if _mark(recorded):
        return recorded
    if isinstance(wanted, dict) and isinstance(recorded, dict):
        lacking = {key for key, item in recorded.items() if key not in wanted and item == MAY_LACK}
        return {
            **{key: masked_too(item, recorded.get(key)) for key, item in wanted.items()},
            **dict.fromkeys(lacking, MAY_LACK),
        }
    if isinstance(wanted, list) and isinstance(recorded, list) and len(wanted) == len(recorded):
        return [masked_too(a, b) for a, b in zip(wanted, recorded, strict=True)]
    return wanted


def differences(step: int, wanted: Any, ours: Any, way: str = "") -> list[Difference]:
    """All places where `ours` is not what is wanted."""
    if _mark(wanted):
        return [Difference(step, way, wanted, ours)] if ours is ABSENT and wanted == VARIES else []
    if isinstance(wanted, dict) and isinstance(ours, dict):
        found: list[Difference] = []
        for key in sorted(wanted.keys() | ours.keys()):
            found += differences(step, wanted.get(key, ABSENT), ours.get(key, ABSENT), f"{way}.{key}".lstrip("."))
        return found
    if isinstance(wanted, list) and isinstance(ours, list) and len(wanted) == len(ours):
        found = []
        for number, (a, b) in enumerate(zip(wanted, ours, strict=True)):
            found += differences(step, a, b, f"{way}[{number}]")
        return found
    return [] if _same(wanted, ours) else [Difference(step, way, wanted, ours)]


def masked(value: Any, way: str = "") -> list[str]:
    """The places that are left out."""
    if isinstance(value, dict):
        return [place for key, item in value.items() for place in masked(item, f"{way}.{key}".lstrip("."))]
    if isinstance(value, list):
        return [place for number, item in enumerate(value) for place in masked(item, f"{way}[{number}]")]
    return [way] if _mark(value) else []


def _mark(value: Any) -> str:
    return value if isinstance(value, str) and value in (VARIES, MAY_LACK) else ""


def _same(first: Any, second: Any) -> bool:
    return type(first) is type(second) and first == second


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) < 200 else f"{text[:120]} … {text[-70:]}"
