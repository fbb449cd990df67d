"""The generated modules as a whole: every class works, and none shares anything between its objects."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any, get_args, get_origin

import msgspec
import pytest

from trimtab.kube import Object, Struct, class_for, decode, encode, from_wire
from trimtab.kube._index import MODULES
from trimtab.kube.core.v1 import Container, Pod, PodSpec

CLASSES: list[type[Struct]] = [
    getattr(module, name)
    for module in (import_module(f"trimtab.kube.{name}") for name in sorted({"meta.v1", *MODULES.values()}))
    for name in module.__all__
]

SCALARS = {str: "x", int: 7, float: 1.5, bool: True, bytes: b"\xff", datetime: datetime(2026, 7, 1, tzinfo=UTC)}


@pytest.mark.parametrize("key", MODULES)
def test_the_index_leads_to_the_kind(key: str) -> None:
    api_version, _, kind = key.rpartition("/")
    cls = class_for(api_version, kind)
    assert issubclass(cls, Object)
    assert cls.__module__ == f"trimtab.kube.{MODULES[key]}"
    assert (cls.resource.api_version, cls.resource.kind) == (api_version, kind)


def test_all_kinds_are_there() -> None:
    kinds = {cls for cls in CLASSES if issubclass(cls, Object)}
    assert len(kinds) == len(MODULES) > 90
    assert len({cls.resource for cls in kinds}) == len(kinds)


def test_every_class_reads_what_it_writes_when_nothing_is_set() -> None:
    for cls in CLASSES:
        zero = from_wire(cls, {})
        assert decode(cls, encode(zero)) == zero, cls


def test_every_class_reads_what_it_writes_when_everything_is_set() -> None:
    for cls in CLASSES:
        full = fill(cls, 2)
        assert decode(cls, encode(full)) == full, cls


def fill(hint: Any, depth: int) -> Any:
    """A value of the type, with nothing absent, empty or zero down to that depth."""
    origin, args = get_origin(hint), get_args(hint)
    if origin is list:
        return [fill(args[0], depth)]
    if origin is dict:
        return {"key": fill(args[1], depth)}
    if args:  # of a union or an Annotated, the first is what it is about
        return fill(args[0], depth)
    if hint is Any:
        return {"any": [None, 0]}
    if issubclass(hint, Struct):
        known = msgspec.structs.fields(hint) if depth else ()
        return msgspec.structs.replace(from_wire(hint, {}), **{f.name: fill(f.type, depth - 1) for f in known})
    return SCALARS[hint]


def test_objects_share_nothing() -> None:
    for cls in CLASSES:
        one, other = from_wire(cls, {}), from_wire(cls, {})
        for name in cls.__struct_fields__:
            value = getattr(one, name)
            assert not isinstance(value, list | dict | Struct) or value is not getattr(other, name), f"{cls}.{name}"


def test_absent_lists_and_nested_values_can_be_used_at_once() -> None:
    pod = Pod(spec=PodSpec(containers=[Container(name="c")]))
    assert [c.type for c in pod.status.conditions] == []
    pod.metadata.labels["app"] = "web"
    pod.spec.containers[0].env.clear()
    assert Pod(spec=PodSpec(containers=[])).metadata.labels == {}


def test_a_required_field_has_to_be_given() -> None:
    with pytest.raises(TypeError, match="containers"):
        PodSpec()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="spec"):
        Pod()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="positional"):
        Container("c")  # type: ignore[misc]


def test_types_are_as_they_are_meant_to_be() -> None:
    root = Path(__file__).parents[2]
    pyright = [
        Path(sys.executable).with_name("pyright"),
        "--project",
        root,
        Path(__file__).with_name("typing_cases.py"),
    ]
    checked = subprocess.run(pyright, check=False, cwd=root, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout
