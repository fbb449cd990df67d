"""The scripts, by area: text, a file for each, or cases (kinds), and what text cannot say (large)."""

from pathlib import Path

from tests.parity import reading
from tests.parity.playing import Script
from tests.parity.scripts import kinds, large


def areas(minor: str) -> dict[str, list[Script]]:
    """All scripts for a minor of Kubernetes. No two of an area have one name."""
    found = {"errors": list(large.SCRIPTS), "kinds": list(kinds.scripts())}
    for path in sorted(Path(__file__).parent.glob("*.txt")):
        found.setdefault(path.stem, []).extend(reading.read(path))
    for area, scripts in found.items():
        names = [script.name for script in scripts]
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise ValueError(f"{area} has two scripts with one name: {', '.join(sorted(twice))}")
        found[area] = [script for script in scripts if _number(script.since) <= _number(minor)]
    return found


def _number(minor: str) -> tuple[int, ...]:
    return tuple(map(int, minor.split("."))) if minor else ()
