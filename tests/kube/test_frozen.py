"""What many read cannot be changed by any of them, and is in all else what it would be otherwise."""

from __future__ import annotations

import copy
import json
import operator
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib import import_module
from types import MappingProxyType
from typing import Annotated, Any, get_args, get_origin

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import field

from trimtab.errors import TrimtabError
from trimtab.kube import Struct, decode, encode, from_wire, to_wire
from trimtab.kube._index import MODULES
from trimtab.kube.apiextensions.v1 import CustomResourceDefinition
from trimtab.kube.apps.v1 import ControllerRevision
from trimtab.kube.coordination.v1 import Lease
from trimtab.kube.core.v1 import ConfigMap, Pod, Secret
from trimtab.kube.frozen import FrozenDict, FrozenError, FrozenList, frozen, plain_class
from trimtab.kube.meta.v1 import ObjectMeta

CLASSES: list[type[Struct]] = [
    getattr(module, name)
    for module in (import_module(f"trimtab.kube.{name}") for name in sorted({"meta.v1", *MODULES.values()}))
    for name in module.__all__
]
SCALARS = {str: "x", int: 7, float: 1.5, bool: True, bytes: b"\xff", datetime: datetime(2026, 7, 1, tzinfo=UTC)}
POD = (
    b'{"metadata":{"name":"web","labels":{"app":"web"}},"spec":{"containers":[{"name":"c","image":"i",'
    b'"env":[{"name":"A","value":"1"}],"resources":{"limits":{"cpu":2}}}]}}'
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


def full(hint: Any, depth: int) -> Any:
    """A value of the type, with nothing absent, empty or zero down to that depth."""
    origin, args = get_origin(hint), get_args(hint)
    if origin is list:
        return [full(args[0], depth)]
    if origin is dict:
        return {"key": full(args[1], depth)}
    if args:  # of a union or an Annotated, the first is what it is about
        return full(args[0], depth)
    if hint is Any:
        return {"any": [None, {"list": [0]}]}
    if issubclass(hint, Struct):
        known = msgspec.structs.fields(hint) if depth else ()
        return msgspec.structs.replace(from_wire(hint, {}), **{f.name: full(f.type, depth - 1) for f in known})
    return SCALARS[hint]


def changeable(value: Any, path: str = "it") -> Iterator[str]:
    """What in a value a reader could change."""
    if isinstance(value, msgspec.Struct):
        if not value.__struct_config__.frozen:
            yield f"{path}, a {type(value).__name__}"
        inside = [(f"{path}.{name}", getattr(value, name)) for name in value.__struct_fields__]
    elif isinstance(value, list | tuple | frozenset):
        if isinstance(value, list) and type(value) is not FrozenList:
            yield f"{path}, a list"
        inside = [(f"{path}[{n}]", item) for n, item in enumerate(value)]
    elif isinstance(value, dict):
        if type(value) is not FrozenDict:
            yield f"{path}, a dict"
        inside = [(f"{path}[{name!r}]", item) for name, item in value.items()]
    else:
        if not isinstance(value, None | str | int | float | bytes | datetime | msgspec.UnsetType):
            yield f"{path}, a {type(value).__name__}"
        return
    for name, item in inside:
        yield from changeable(item, name)


@pytest.mark.parametrize("depth", [0, 3])
def test_every_class_has_a_twin_that_is_like_it_and_frozen_to_the_depth(depth: int) -> None:
    for cls in CLASSES:
        plain = full(cls, depth)
        data = encode(plain)
        twin = decode(frozen(cls), data)
        assert isinstance(twin, cls), cls
        assert type(twin) is frozen(cls) is not cls
        assert plain_class(frozen(cls)) is plain_class(cls) is cls
        assert list(changeable(twin)) == [], cls
        assert twin == plain, cls
        assert plain == twin, cls
        assert encode(twin) == data, cls
        mine = copy.deepcopy(twin)
        assert mine == plain
        assert type(mine) is cls


def test_a_minimal_object_reads_as_go_reads_it() -> None:
    """Required fields that are missing, nulls and nested values that are there and empty."""
    for cls in CLASSES:
        nested = {
            f.encode_name: {} if isinstance(f.default_factory, type) and issubclass(f.default_factory, Struct) else None
            for f in msgspec.structs.fields(cls)
            if f.type is not Any
        }
        for data in (b"{}", json.dumps(nested).encode()):
            plain, twin = decode(cls, data), decode(frozen(cls), data)
            assert twin == plain, cls
            assert to_wire(twin) == to_wire(plain), cls
            assert list(changeable(twin)) == [], cls


def test_equal_is_not_unequal() -> None:
    plain, twin, other = decode(Pod, POD), decode(frozen(Pod), POD), decode(frozen(Pod), b"{}")
    for one in (plain, twin):
        for same in (plain, twin, copy.deepcopy(twin)):
            assert one == same
            assert not one != same  # noqa: SIM202  # another method than ==
        assert one != other
        assert not one == other  # noqa: SIM201
    assert twin != decode(frozen(ConfigMap), b"{}")
    assert twin != "web"


def test_it_can_be_no_key_as_little_as_its_class() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(decode(frozen(Pod), POD))


def test_a_time_of_six_digits_is_sent_with_them() -> None:
    lease = decode(frozen(Lease), b'{"spec":{"renewTime":"2026-07-01T12:00:00Z"}}')
    assert to_wire(lease)["spec"] == {"renewTime": "2026-07-01T12:00:00.000000Z"}


# -- Nothing changes it


def pod() -> Pod:
    return decode(frozen(Pod), POD)


@pytest.mark.parametrize(
    "change",
    [
        lambda: setattr(pod(), "spec", None),
        lambda: setattr(pod(), "spek", None),
        lambda: delattr(pod(), "spec"),
        lambda: setattr(pod().metadata, "name", "db"),
        lambda: setattr(pod().spec.containers[0], "image", "j"),
        lambda: setattr(pod().spec.containers[0].env[0], "value", "2"),
        lambda: setattr(pod().status, "phase", "Running"),  # which is not in the JSON
        lambda: operator.setitem(pod().metadata.labels, "app", "db"),
        lambda: operator.setitem(pod().metadata.annotations, "app", "db"),  # nor is this
        lambda: operator.setitem(pod().spec.containers, slice(None), []),
        lambda: operator.setitem(pod().spec.containers[0].resources.limits, "cpu", 3),
        lambda: pod().spec.containers[0].env.append(1),
        lambda: pod().status.conditions.append(1),
        lambda: decode(frozen(ControllerRevision), b'{"data":{"a":[{}]}}').data["a"][0].update(b=1),
        lambda: decode(frozen(ControllerRevision), b'{"data":[[1]]}').data[0].append(2),
        lambda: operator.setitem(decode(frozen(Secret), b'{"data":{"a":"AA=="}}').data, "a", b"1"),
    ],
)
def test_nothing_in_it_can_be_changed_wherever_it_stands(change: Callable[[], object]) -> None:
    with pytest.raises(FrozenError, match=r"^a \w+ that was read from the cache is shared .*: change a copy.*deepcopy"):
        change()


@pytest.mark.parametrize("name", sorted({*dir(list)} - {*dir(tuple)} - {"copy", "__reversed__"}))
def test_whatever_a_list_has_and_a_tuple_has_not_is_refused(name: str) -> None:
    items = FrozenList([1, 2])
    with pytest.raises(FrozenError, match="a FrozenList that was read from the cache"):
        getattr(items, name)(0)
    assert items == [1, 2]


@pytest.mark.parametrize("name", sorted({*dir(dict)} - {*dir(MappingProxyType)} - {"fromkeys"}))
def test_whatever_a_dict_has_and_a_read_only_one_has_not_is_refused(name: str) -> None:
    entries = FrozenDict({"a": 1})
    with pytest.raises(FrozenError, match="a FrozenDict that was read from the cache"):
        getattr(entries, name)("a")
    assert entries == {"a": 1}


def test_operators_that_change_in_place_are_refused() -> None:
    items, entries = FrozenList([1]), FrozenDict({"a": 1})
    for change in (operator.iadd, operator.imul):
        with pytest.raises(FrozenError):
            change(items, [2])
    with pytest.raises(FrozenError):
        operator.ior(entries, {"b": 2})
    with pytest.raises(FrozenError):
        del items[0]
    with pytest.raises(FrozenError):
        del entries["a"]
    assert (items, entries) == ([1], {"a": 1})


def test_the_refusal_is_an_error_of_ours_and_of_types() -> None:
    assert issubclass(FrozenError, TrimtabError)  # a TypeError too, as msgspec raises for its own frozen Structs
    assert issubclass(FrozenError, TypeError)


def test_what_is_made_of_it_is_plain() -> None:
    items, entries = FrozenList([1]), FrozenDict({"a": 1})
    made: list[Any] = [operator.add(items, [2]), items * 2, items[:], items.copy(), entries | {"b": 2}, entries.copy()]
    assert made == [[1, 2], [1, 1], [1], [1], {"a": 1, "b": 2}, {"a": 1}]
    assert {type(each) for each in made} == {list, dict}


# -- A copy is its holder's own


def test_a_deep_copy_is_plain_to_the_depth_and_changing_it_changes_nothing_else() -> None:
    twin = pod()
    mine = copy.deepcopy(twin)
    mine.metadata.labels["app"] = "db"
    mine.spec.containers[0].env[0].value = "2"
    mine.spec.containers[0].env.append(mine.spec.containers[0].env[0])
    mine.status.phase = "Running"
    mine.metadata.annotations["new"] = "1"
    assert mine != twin
    assert twin == decode(Pod, POD)
    assert decode(frozen(Pod), b"{}").metadata.annotations == {}  # what absent fields share


def test_a_part_of_it_can_be_copied_too() -> None:
    twin = pod()
    containers = copy.deepcopy(twin.spec.containers)
    assert type(containers) is list
    containers[0].env[0].value = "2"
    by_name = copy.deepcopy(FrozenDict({"a": twin.spec.containers[0], "b": FrozenList([twin.spec.containers[0]])}))
    assert type(by_name) is dict
    by_name["b"][0].resources.limits["cpu"] = 3
    together = copy.deepcopy({"all": [twin, twin.metadata.labels]})
    together["all"][1]["app"] = "db"
    assert twin == decode(Pod, POD)


def test_it_goes_through_pickle_as_a_plain_object() -> None:
    twin = pod()
    read = pickle.loads(pickle.dumps([twin, twin.spec.containers, twin.metadata.labels]))
    assert read == [twin, twin.spec.containers, twin.metadata.labels]
    assert [type(each) for each in read] == [Pod, list, dict]


@settings(deadline=None)
@given(value=JSON)
def test_json_of_any_shape_is_frozen_to_the_depth_and_copied_so(value: Any) -> None:
    data = json.dumps({"revision": 1, "data": value}).encode()
    twin = decode(frozen(ControllerRevision), data)
    assert list(changeable(twin)) == []
    assert twin.data == value
    assert to_wire(twin) == to_wire(decode(ControllerRevision, data))
    mine = copy.deepcopy(twin)
    assert mine.data == value
    if isinstance(value, list | dict):
        assert set(changeable(mine.data)) >= {f"it, a {type(value).__name__}"}


def test_another_one_can_be_made_of_what_it_holds() -> None:
    data = b'{"labels":{"app":"web"},"annotations":{"at":"1"},"finalizers":["f"]}'
    twin, plain = decode(frozen(ObjectMeta), data), decode(ObjectMeta, data)
    made = msgspec.structs.replace(twin, labels={"app": "other"})
    assert made == msgspec.structs.replace(plain, labels={"app": "other"})
    assert list(changeable(made)) == []


def test_classes_that_contain_themselves_have_twins() -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"deep": {"items": {"not": {"anyOf": [{"enum": [[1]]}]}}}},
    }
    crd = {"spec": {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": schema}}]}}
    data = json.dumps(crd).encode()
    plain, twin = decode(CustomResourceDefinition, data), decode(frozen(CustomResourceDefinition), data)
    assert twin == plain
    assert to_wire(twin) == to_wire(plain)
    assert list(changeable(twin)) == []
    mine = copy.deepcopy(twin)
    found = mine.spec.versions[0].schema
    assert found is not None
    assert found.open_api_v3_schema is not None
    found.open_api_v3_schema.properties["deep"].type = "array"
    assert twin == plain


# -- Structs of users


class Part(Struct):
    size: int = 1


class Tree(Struct):
    branches: list[Tree] = []
    by_name: dict[str, Tree] = {}


class View(Struct):
    """Part of an object, as somebody wants to read it."""

    spec: Part = field(default_factory=Part)
    renamed: int = field(default=3, name="other")
    count: Annotated[int, msgspec.Meta(ge=0)] = 0


@pytest.mark.parametrize(
    ("hint", "default", "given"),
    [
        (Part, field(default_factory=Part), {"size": 3}),
        (Part, field(default_factory=lambda: Part(size=2)), {"size": 3}),
        (list[Part], field(default_factory=lambda: [Part()]), [{"size": 3}]),
        (Part | list[Part] | None, None, [{"size": 3}]),
        (Annotated[dict[str, Part], "marked"], {}, {"a": {"size": 3}}),
        (set[str], set(), ["a"]),
        (frozenset[str], frozenset(), ["a"]),
        (tuple[tuple[str, Part], ...], (), [["a", {"size": 3}]]),
        (tuple[list[int], ...], (), [[1]]),
        (list[tuple[list[int], dict[str, int]]], [], [[[1], {"a": 1}]]),
        (list, [], [[1]]),
        (dict, {}, {"a": [1]}),
        (Mapping[str, list[int]], {}, {"a": [1]}),
        (Sequence[list[int]], [], [[1]]),
        (dict[int, str], {}, {"1": "a"}),
        (Any, None, {"a": [[1]]}),
        (Tree, field(default_factory=Tree), {"branches": [{"byName": {"a": {"branches": [{}]}}}]}),
    ],
)
def test_a_struct_of_a_user_is_frozen_to_the_depth_whatever_it_holds(hint: Any, default: Any, given: Any) -> None:
    cls = type(Struct)("Made", (Struct,), {"__annotations__": {"it": hint}, "it": default, "__module__": __name__})
    for data in (b"{}", json.dumps({"it": given}).encode()):
        plain, twin = decode(cls, data), decode(frozen(cls), data)
        assert list(changeable(twin)) == []
        assert twin == plain
        assert encode(twin) == encode(plain)
        mine = copy.deepcopy(twin)
        assert mine == plain
        assert type(mine.it) is type(plain.it)


def test_a_twin_takes_what_its_class_takes_and_no_more() -> None:
    assert decode(frozen(View), b'{"other":4,"renamed":5}').renamed == 4
    for cls in (View, frozen(View)):
        with pytest.raises(msgspec.ValidationError, match="count"):
            decode(cls, b'{"count":-1}')
        with pytest.raises(msgspec.ValidationError, match="size"):
            decode(cls, b'{"spec":{"size":"large"}}')


class Computed(Struct):
    items: list[int] = []

    def __post_init__(self) -> None:
        if sum(self.items) > 9:
            raise ValueError("too many")


def test_a_twin_checks_what_its_class_checks_by_a_function_of_its_own() -> None:
    for cls in (Computed, frozen(Computed)):
        assert decode(cls, b'{"items":[4]}').items == [4]
        with pytest.raises(msgspec.ValidationError, match="too many"):
            decode(cls, b'{"items":[10]}')
