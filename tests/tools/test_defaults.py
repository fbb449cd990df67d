"""Defaults that are found by trying, on a server whose rules are known."""

from __future__ import annotations

import copy
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "tools/generate"))
defaults = import_module("defaults")

TOY, SPEC, PART = "a.v1.Toy", "a.v1.Spec", "a.v1.Part"
STRING = {"type": "string"}
SCHEMAS = {
    TOY: {"properties": {"kind": STRING, "metadata": {"type": "object"}, "spec": {"$ref": f"#/{SPEC}"}}},
    SPEC: {
        "properties": {
            "size": {"type": "integer"},
            "mode": {"type": "string", "enum": ["Fast", "Slow", "Refused"]},
            "patience": {"type": "integer"},
            "copied": {"type": "integer"},
            "parts": {"type": "array", "items": {"$ref": f"#/{PART}"}},
        },
        "required": ["size"],
    },
    PART: {"properties": {"name": STRING, "colour": STRING}, "required": ["name"]},
}


def create(path: str, obj: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    assert path == "/toys"
    made = copy.deepcopy(obj)
    made["metadata"]["uid"] = "1"
    made["status"] = {"phase": "New"}
    spec = made.setdefault("spec", {})
    if spec.get("mode") == "Refused" or "size" not in spec:
        return 422, {"message": "no"}
    spec.setdefault("mode", "Fast")
    if spec["mode"] == "Slow":
        spec.setdefault("patience", 30)
    spec.setdefault("always", True)
    spec.setdefault("copied", 1 if "parts" in spec else 2)
    for part in spec.get("parts", ()):
        part.setdefault("colour", "red")
    return 201, made


def test_defaults_by_trial() -> None:
    trials = defaults.Trials(SCHEMAS, create)
    trials.kind("/toys", "a/v1", "Toy", TOY)
    assert trials.refused == ["a/v1 Toy"]  # its spec is not asked for, so the least has none
    SCHEMAS[TOY]["required"] = ["spec"]
    trials = defaults.Trials(SCHEMAS, create)
    trials.kind("/toys", "a/v1", "Toy", TOY)
    assert trials.refused == []
    assert dict(trials.found()) == {
        PART: {"always": {"colour": "red"}, "when": []},
        SPEC: {"always": {"always": True, "mode": "Fast"}, "when": [["patience", "mode", [("Slow", 30)]]]},
    }
