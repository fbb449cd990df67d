import json
from pathlib import Path

import pytest

from trimtab.errors import TrimtabError
from trimtab.kube.intorstring import scaled

DATA = Path(__file__).parent / "data" / "percentages.jsonl"


def test_scales_as_kubernetes() -> None:
    for value, total, *expected in map(json.loads, DATA.read_text().splitlines()):
        if expected:
            assert [scaled(value, total), scaled(value, total, round_up=True)] == expected, (value, total)
        else:
            with pytest.raises(TrimtabError, match="neither a number nor a percentage"):
                scaled(value, total)


def test_is_exact_beyond_floats() -> None:
    assert scaled("99%", 10**18 + 1) == 99 * (10**18 + 1) // 100
