"""What the real servers answered, by minor: `make parity ARGS=--record` writes it, `--recorded` and make test use it.

Each recording adds to the places where two runs of the real server differ. Delete an area's file to begin it anew,
after a change of how answers are made comparable.
"""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import zstandard
from tests.parity.canonical import renewed
from tests.parity.comparing import expected
from tests.parity.playing import Script

_FOLDER = Path(__file__).parent / "recorded"
_ENDING = ".json.zst"
_EVERY = 10
_WHOLE = frozenset({"kinds"})
"""Areas of which make test plays all: their scripts are short, and each is about something else."""


class Recording:
    """The expected answers to scripts, as long as these are what they were when they were played."""

    def __init__(self, minor: str) -> None:
        self._folder = _FOLDER / minor
        self._kept: dict[str, tuple[int, list[Any]]] = {}
        self._changed: set[str] = set()
        for path in sorted(self._folder.glob("*" + _ENDING)):
            self._kept |= json.loads(zstandard.ZstdDecompressor().decompress(path.read_bytes()))

    def answers(self, key: str, script: Script) -> list[Any] | None:
        """What the real server said, if it was asked this."""
        digest, answers = self._kept.get(key, (0, None))
        return renewed(answers) if digest == _digest(script) else None

    def add(self, key: str, script: Script, answers: list[Any]) -> None:
        """Keep what it said now: where that differs from before, the place varies."""
        before = self.answers(key, script)
        self._kept[key] = (_digest(script), answers if before is None else expected(before, answers))

        self._changed.add(_area(key))

    def write(self, keys: set[str]) -> None:
        """Write down what is kept of the scripts that there are, in a file for each area that was played."""
        self._folder.mkdir(parents=True, exist_ok=True)
        for area in self._changed:
            kept = {key: each for key, each in sorted(self._kept.items()) if key in keys and _area(key) == area}
            content = json.dumps(kept, sort_keys=True, separators=(",", ":")).encode()
            (self._folder / (area + _ENDING)).write_bytes(zstandard.ZstdCompressor(19).compress(content))


def chosen(key: str) -> bool:
    """Whether a script is one of those that make test plays."""
    return _area(key) in _WHOLE or zlib.crc32(key.encode()) % _EVERY == 0


def _area(key: str) -> str:
    return key.partition("/")[0]


def _digest(script: Script) -> int:
    return zlib.crc32(repr(script.steps).encode())
