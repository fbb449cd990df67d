"""What was seen on the real control plane, generated: `make scenarios ARGS=--record` writes it, make test compares.

Each recording adds to what was seen before: what differs between two runs of the real one is not compared.
Delete the file to begin anew, after a change of what is looked at.
"""

from __future__ import annotations

import json
import zlib
from pathlib import Path

import zstandard
from tests.scenarios.observing import Observed
from tests.scenarios.reading import Scenario

_PATH = Path(__file__).parent / "recorded" / "1.36.json.zst"

Expected = dict[str, list[str]]
"""Place → all that was seen there; `""` where it was not seen at all."""


class Recording:
    """What is expected of scenarios, as long as these are what they were when they were played."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[int, Expected]] = {}
        if _PATH.exists():
            self._kept = json.loads(zstandard.ZstdDecompressor().decompress(_PATH.read_bytes()))

    def expected(self, scenario: Scenario) -> Expected | None:
        """What the real one did, if it was asked this."""
        digest, expected = self._kept.get(scenario.key, (0, None))
        return expected if digest == _digest(scenario) else None

    def add(self, scenario: Scenario, expected: Expected) -> None:
        """Keep what was expected."""
        self._kept[scenario.key] = (_digest(scenario), expected)

    def write(self, keys: set[str]) -> None:
        """Write down what is kept of the scenarios that there are."""
        kept = {key: each for key, each in sorted(self._kept.items()) if key in keys}
        content = json.dumps(kept, sort_keys=True, separators=(",", ":")).encode()
        _PATH.parent.mkdir(exist_ok=True)
        _PATH.write_bytes(zstandard.ZstdCompressor(19).compress(content))


def merged(before: Expected | None, runs: list[Observed]) -> Expected:
    """What was seen in runs of the real one, beside what was seen before."""
    places = dict.fromkeys([*(before or {}), *(place for run in runs for place in run)])
    found: Expected = {}
    for place in places:
        values = [*([] if before is None else before.get(place, [""])), *(run.get(place, "") for run in runs)]
        found[place] = sorted(set(values))
    return found


def differences(scenario: Scenario, expected: Expected, ours: Observed) -> list[tuple[str, str, str]]:
    """Place, what the real one had there, and what we have, where the real one agrees with itself and we do not."""
    every = dict.fromkeys([*expected, *ours])
    places = [place for place in every if not any(text in place for text in scenario.unseen)]
    pairs = ((place, expected.get(place, [""]), ours.get(place, "")) for place in places)
    return [(place, real[0], own) for place, real, own in pairs if len(real) == 1 and real[0] != own]


def masked(expected: Expected) -> list[str]:
    """The places that differ between runs of the real one."""
    return [place for place, values in expected.items() if len(values) > 1]


def _digest(scenario: Scenario) -> int:
    return zlib.crc32(repr(scenario.steps).encode())
