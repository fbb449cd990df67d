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
    """What both runs of the real server say, with marks where they do not agree."""
    if isinstance(first, dict) and isinstance(second, dict):
        return {
            key: expected(first[key], second[key]) if key in first and key in second else MAY_LACK
            for key in first.keys() | second.keys()
        }
    if isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        return [expected(a, b) for a, b in zip(first, second, strict=True)]
    return first if _same(first, second) else VARIES


def differences(step: int, wanted: Any, ours: Any, way: str = "") -> list[Difference]:
    """All places where `ours` is not what is wanted."""
    if isinstance(wanted, str) and wanted in (VARIES, MAY_LACK):
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
    return [way] if isinstance(value, str) and value in (VARIES, MAY_LACK) else []


def _same(first: Any, second: Any) -> bool:
    return type(first) is type(second) and first == second


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) < 200 else f"{text[:120]} … {text[-70:]}"
