"""What the real server answered to a tenth of the scripts: `make parity ARGS=--record` writes it, for `make test`."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import zstandard

_FOLDER = Path(__file__).parent / "recorded"
_EVERY = 10


def chosen(key: str) -> bool:
    """Whether a script is one of the tenth."""
    return zlib.crc32(key.encode()) % _EVERY == 0


def write(minor: str, answers: dict[str, Any]) -> None:
    """Keep the tenth."""
    kept = {key: answer for key, answer in sorted(answers.items()) if chosen(key)}
    _FOLDER.mkdir(exist_ok=True)
    content = json.dumps(kept, sort_keys=True, separators=(",", ":")).encode()
    (_FOLDER / f"{minor}.json.zst").write_bytes(zstandard.ZstdCompressor(19).compress(content))


def read(minor: str) -> dict[str, list[Any]]:
    """Script → expected answers."""
    return json.loads(zstandard.ZstdDecompressor().decompress((_FOLDER / f"{minor}.json.zst").read_bytes()))
