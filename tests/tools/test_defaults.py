"""Defaults that are found by trying, on a server whose rules are known."""

from __future__ import annotations

import copy
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

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
    spec.setdefault("held", {})
    spec.setdefault("pointed", {})
    spec.setdefault("copied", 1 if "parts" in spec else 2)
    for part in spec.get("parts", ()):
        part.setdefault("colour", "red")
    return 201, made


def tried() -> Any:
    trials = defaults.Trials(SCHEMAS, create, frozenset({(SPEC, "pointed")}))
    trials.kind("/toys", trials.seed("apis/a/v1", "Toy", TOY), TOY)
    return trials


def test_defaults_by_trial() -> None:
    with pytest.raises(SystemExit, match="does not take"):
        tried()  # its spec is not asked for, so the least has none
    SCHEMAS[TOY]["required"] = ["spec"]
    assert dict(tried().found()) == {
        PART: {"always": {"colour": "red"}, "when": []},
        # An empty struct is a default where there might have been none: behind a pointer.
        SPEC: {
            "always": {"always": True, "mode": "Fast", "pointed": {}},
            "when": [["patience", "mode", [("Slow", 30)]]],
        },
    }
