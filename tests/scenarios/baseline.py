"""The differences that are known, each with its reason: `area/scenario => places` in known.txt."""

from __future__ import annotations

import re
from pathlib import Path

_PATH = Path(__file__).parent / "known.txt"
_HEAD = "# Scenarios that do not go as on the real control plane, with the first difference. ARGS=--accept writes it.\n"

Found = dict[str, list[tuple[str, str, str]]]


def read() -> dict[str, str]:
    """Scenario → what differs."""
    lines = _PATH.read_text().splitlines() if _PATH.exists() else []
    pairs = (line.partition(" => ") for line in lines if line and not line.startswith("#"))
    return {key: reason for key, _, reason in pairs}


def write(found: Found) -> None:
    """Write down what differs now; what was not played stays as it is."""
    listed = {key: reason for key, reason in read().items() if key not in found}
    listed |= {key: _reason(differs) for key, differs in found.items() if differs}
    _PATH.write_text(_HEAD + "".join(f"{key} => {reason}\n" for key, reason in sorted(listed.items())))


def complaints(found: Found) -> list[str]:
    """A line for each scenario that is not as it is listed."""
    listed = read()
    worse = [f"DIFFERS: {key}: {_reason(differs)}" for key, differs in found.items() if differs and key not in listed]
    better = [
        f"EQUAL now: {key}: take it out of known.txt" for key, differs in found.items() if not differs and key in listed
    ]
    return worse + better


def _reason(differs: list[tuple[str, str, str]]) -> str:
    place, real, ours = differs[0]
    more = f" (and {len(differs) - 1} more)" if len(differs) > 1 else ""
    return re.sub(r"\s+", " ", f"{place}: {real[:120] or 'nothing'} -> {ours[:120] or 'nothing'}{more}")
