"""What is asked of a server about built-in kinds: data/cases says what, data/answers what a real one answered."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

DATA = Path(__file__).parent / "data"
CASES = DATA / "cases"
ANSWERS = DATA / "answers"
KEPT = ("labels", "annotations", "finalizers", "generation", "ownerReferences")
"""What of the metadata is compared."""


def cases(group: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The kinds of a group, each with its path, base and changes."""
    yield from yaml.safe_load((CASES / f"{group}.yaml").read_text()).items()


def changed(base: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    """The object with what is to be set in it, by path; None takes out."""
    made = copy.deepcopy(base)
    for path, value in change.items():
        at: Any = made
        *way, last = path.split(".")
        for step in way:
            at = at[int(step)] if isinstance(at, list) else at.setdefault(step, {})
        if isinstance(at, list):
            at[int(last) :] = [value]
        elif value is None:
            at.pop(last, None)
        else:
            at[last] = value
    return made
