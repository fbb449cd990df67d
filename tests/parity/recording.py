"""What the real servers answered, by minor: `make parity ARGS=--record` writes it, `--recorded` and make test use it.

Each recording adds to the places where two runs of the real server differ. Delete the file to begin anew, after a
change of how answers are made comparable.
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
_EVERY = 10


class Recording:
    """The expected answers to scripts, as long as these are what they were when they were played."""

    def __init__(self, minor: str) -> None:
        self._path = _FOLDER / f"{minor}.json.zst"
        self._kept: dict[str, tuple[int, list[Any]]] = {}
        if self._path.exists():
            self._kept = json.loads(zstandard.ZstdDecompressor().decompress(self._path.read_bytes()))

    def answers(self, key: str, script: Script) -> list[Any] | None:
        """What the real server said, if it was asked this."""
        digest, answers = self._kept.get(key, (0, None))
        return renewed(answers) if digest == _digest(script) else None

    def add(self, key: str, script: Script, answers: list[Any]) -> None:
        """Keep what it said now: where that differs from before, the place varies."""
        before = self.answers(key, script)
        self._kept[key] = (_digest(script), answers if before is None else expected(before, answers))

    def write(self, keys: set[str]) -> None:
        """Write down what is kept of the scripts that there are."""
        kept = {key: each for key, each in sorted(self._kept.items()) if key in keys}
        content = json.dumps(kept, sort_keys=True, separators=(",", ":")).encode()
        _FOLDER.mkdir(exist_ok=True)
        self._path.write_bytes(zstandard.ZstdCompressor(19).compress(content))


def chosen(key: str) -> bool:
    """Whether a script is one of the tenth that make test plays."""
    return zlib.crc32(key.encode()) % _EVERY == 0


def _digest(script: Script) -> int:
    return zlib.crc32(repr(script.steps).encode())
