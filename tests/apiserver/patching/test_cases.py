"""What a real API server made of many writes, and what we make of the same. The differ writes the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.json import decode
from tests.apiserver.patching.cases import differences, remembered

LIVES = [decode(line) for line in (Path(__file__).parent / "data/lives.jsonl").read_bytes().splitlines()]


@pytest.mark.parametrize("life", LIVES, ids=lambda life: life["name"].replace(" ", "-"))
def test_a_life(life: dict[str, Any]) -> None:
    for number, step in enumerate(remembered(life)):
        assert differences(step) == [], f"step {number}: {step}"
