"""An edit of a typed object changes what it says, and loses nothing that the class does not know."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import field

from trimtab.kube import Struct, from_wire, to_wire
from trimtab.kube.editing import edit_patch, merge_patch
from trimtab.kube.hints import Default, ListMap, Strategic


class Item(Struct):
    name: str
    protocol: Annotated[str | None, Default("TCP")] = None
    count: int = 0
    tags: list[str] = []


class Inner(Struct):
    limit: int | None = None
    flag: bool = False
    labels: dict[str, str] = {}


class Spec(Struct):
    keyed: Annotated[list[Item], ListMap("name")] = []
    plain: list[Item] = []
    either: Item | list[Item] | None = None
    named: dict[str, Inner] = {}
    always: Inner = field(default_factory=Inner)
    pointer: Inner | None = None
    text: str = ""
    number: int | None = None


class Thing(Struct):
    spec: Spec = field(default_factory=Spec)
    data: dict[str, str] = {}


class Port(Struct):
    port: int
    protocol: Annotated[str | None, Default("TCP")] = None


class Ports(Struct):
    ports: Annotated[list[Port], ListMap("port", "protocol")] = []


class Conditions(Struct):
    conditions: Annotated[list[Item], Strategic("merge", "name")] = []


class Schema(Struct):
    default: Any = None


def edited(raw: dict[str, Any], after: Thing) -> dict[str, Any]:
    """What the server has once it has got the patch."""
    before = to_wire(from_wire(Thing, raw))
    unread = deepcopy(raw)
    patch = edit_patch(Thing, raw, before, to_wire(after))
    assert raw == unread
    return apply(raw, patch)


def apply(target: Any, patch: Any) -> Any:
    """RFC 7386, word for word."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = apply(result.get(name), value)
    return result


def text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


names = st.sampled_from("abcd")
labels = st.dictionaries(names, names, max_size=2)
items = st.builds(
    Item,
    name=names,
    protocol=st.sampled_from([None, "TCP", "UDP"]),
    count=st.integers(0, 2),
    tags=st.lists(names, max_size=2),
)
inners = st.builds(Inner, limit=st.none() | st.integers(0, 2), flag=st.booleans(), labels=labels)
specs = st.builds(
    Spec,
    keyed=st.lists(items, max_size=4, unique_by=lambda item: item.name),
    plain=st.lists(items, max_size=4),
    either=st.none() | items | st.lists(items, max_size=3),
    named=st.dictionaries(names, inners, max_size=3),
    always=inners,
    pointer=st.none() | inners,
    text=st.sampled_from(["", "x", "y"]),
    number=st.none() | st.integers(0, 2),
)
things = st.builds(Thing, spec=specs, data=labels)

scalars = st.booleans() | st.integers(-2, 2) | st.floats(0, 1) | st.text("ab", max_size=2)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3), max_leaves=8
)
objects = st.dictionaries(names, values, max_size=4)


@st.composite
def stored(draw: st.DrawFn) -> dict[str, Any]:
    """JSON of a Thing, with fields in any part of it that its class does not know."""
    raw = to_wire(draw(things))
    raw.setdefault("spec", {}).setdefault("always", {})
    spec = raw["spec"]
    either = spec.get("either", [])
    parts = [raw, spec, spec["always"], *spec.get("keyed", []), *spec.get("plain", []), *spec.get("named", {}).values()]
    parts += either if isinstance(either, list) else [either]
    parts += [spec["pointer"]] if "pointer" in spec else []
    for number, part in enumerate(parts):
        if draw(st.booleans()):
            part["unknown"] = {"part": number, "also": draw(values)}
    return raw


@st.composite
def edits(draw: st.DrawFn) -> tuple[dict[str, Any], Thing]:
    """What is stored, and what somebody made of it: some things changed, some moved, most as they were."""
    raw = draw(stored())
    after, other = from_wire(Thing, raw), draw(things)
    for name in draw(st.sets(st.sampled_from(Spec.__struct_fields__))):
        setattr(after.spec, name, getattr(other.spec, name))
    after.spec.keyed = draw(st.permutations(after.spec.keyed))
    after.spec.plain = draw(st.permutations(after.spec.plain))
    for item in [*after.spec.keyed, *after.spec.plain]:
        if draw(st.booleans()):
            item.count = draw(st.integers(0, 2))
    return raw, after


@given(edits())
def test_the_patch_makes_the_edit_and_keeps_what_is_unknown(edit: tuple[dict[str, Any], Thing]) -> None:
    raw, after = edit
    result = edited(raw, after)
    assert from_wire(Thing, result) == after
    old, new = raw["spec"], result["spec"]

    def same_name(name: str) -> list[tuple[Any, Any]]:
        there = {item["name"]: item for item in new.get(name, [])}
        return [(item, there[item["name"]]) for item in old.get(name, []) if item["name"] in there]

    survivors = [(raw, result), (old, new), (old["always"], new["always"]), *same_name("keyed")]
    survivors += [(old["named"][k], new["named"][k]) for k in old.get("named", {}).keys() & new.get("named", {}).keys()]
    survivors += [(old["pointer"], new["pointer"])] if "pointer" in old.keys() & new.keys() else []
    for was, is_now in survivors:
        assert text(was.get("unknown")) == text(is_now.get("unknown"))


@given(edits())
def test_an_item_without_keys_that_stays_as_it_was_keeps_its_own(edit: tuple[dict[str, Any], Thing]) -> None:
    raw, after = edit
    old, new = raw["spec"].get("plain", []), edited(raw, after)["spec"].get("plain", [])

    def known(item: dict[str, Any]) -> str:
        return text({k: v for k, v in item.items() if k != "unknown"})

    for item in old:
        if [*map(known, old)].count(known(item)) == [*map(known, new)].count(known(item)) == 1:
            assert text(item) in map(text, new)


@given(stored())
def test_no_edit_is_no_patch(raw: dict[str, Any]) -> None:
    before = to_wire(from_wire(Thing, raw))
    assert edit_patch(Thing, raw, before, before) == {}


@given(objects, objects)
def test_a_merge_patch_leads_from_one_object_to_the_other(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert text(apply(old, merge_patch(old, new))) == text(new)


@given(objects)
def test_a_merge_patch_between_equal_objects_is_empty(obj: dict[str, Any]) -> None:
    assert merge_patch(obj, deepcopy(obj)) == {}


def list_of(*names: str) -> list[dict[str, Any]]:
    return [{"name": name, "count": 1, "unknown": f"of {name}"} for name in names]


@pytest.mark.parametrize("field_name", ["keyed", "plain"])
def test_items_that_move_come_or_go_keep_their_unknown_fields(field_name: str) -> None:
    raw = {"spec": {field_name: list_of("a", "b", "c")}}
    after = from_wire(Thing, raw)
    a, b, c = getattr(after.spec, field_name)
    setattr(after.spec, field_name, [Item(name="new"), c, b])
    assert edited(raw, after)["spec"][field_name] == [{"name": "new"}, *list_of("c", "b")]
    setattr(after.spec, field_name, [c, Item(name="new"), a, b])
    assert edited(raw, after)["spec"][field_name] == [*list_of("c"), {"name": "new"}, *list_of("a", "b")]


def test_an_edited_item_without_keys_is_known_by_its_place() -> None:
    raw = {"spec": {"plain": list_of("a", "b")}}
    after = from_wire(Thing, raw)
    after.spec.plain[0] = Item(name="z", count=9, protocol="UDP", tags=["t"])
    assert [item.get("unknown") for item in edited(raw, after)["spec"]["plain"]] == ["of a", "of b"]


def test_an_edited_item_without_keys_is_known_by_its_likeness_where_others_come_or_go() -> None:
    raw = {"spec": {"plain": list_of("a", "b")}}
    after = from_wire(Thing, raw)
    after.spec.plain[1].count = 2
    after.spec.plain.insert(0, Item(name="z", count=7))
    assert [item.get("unknown") for item in edited(raw, after)["spec"]["plain"]] == [None, "of a", "of b"]
    del after.spec.plain[:2]
    assert [item.get("unknown") for item in edited(raw, after)["spec"]["plain"]] == ["of b"]


def test_a_new_item_takes_nothing_from_the_one_whose_place_it_has() -> None:
    raw = {"spec": {"plain": list_of("a", "b")}}
    after = from_wire(Thing, raw)
    after.spec.plain = [Item(name="z"), after.spec.plain[0]]
    assert edited(raw, after)["spec"]["plain"] == [{"name": "z"}, *list_of("a")]


def test_an_item_with_other_keys_is_another_item() -> None:
    raw = {"spec": {"keyed": list_of("a", "b")}}
    after = from_wire(Thing, raw)
    after.spec.keyed[0].name = "z"
    assert edited(raw, after)["spec"]["keyed"] == [{"name": "z", "count": 1}, *list_of("b")]


def test_the_key_of_strategic_merge_patches_tells_items_apart_where_appliers_have_none() -> None:
    raw = {"conditions": list_of("a", "b")}
    changed = {"count": 9, "protocol": "UDP", "tags": ["t"]}
    after = Conditions(conditions=[Item(name=name, **changed) for name in ("b", "new", "a")])
    laid = apply(raw, edit_patch(Conditions, raw, to_wire(from_wire(Conditions, raw)), to_wire(after)))
    assert [item.get("unknown") for item in laid["conditions"]] == ["of b", None, "of a"]


def test_a_key_that_is_left_out_is_the_one_that_the_server_puts_there() -> None:
    raw = {"ports": [{"port": 53, "protocol": p, "unknown": p} for p in ("UDP", "TCP")]}
    after = Ports(ports=[Port(port=53)])
    laid = apply(raw, edit_patch(Ports, raw, to_wire(from_wire(Ports, raw)), to_wire(after)))
    assert laid == {"ports": [{"port": 53, "unknown": "TCP"}]}


def test_a_value_that_is_always_there_keeps_its_unknown_fields_when_its_known_ones_come_and_go() -> None:
    raw = {"spec": {"always": {"unknown": 1}}}
    after = from_wire(Thing, raw)
    after.spec.always.limit = 3
    with_limit = edited(raw, after)
    assert with_limit == {"spec": {"always": {"unknown": 1, "limit": 3}}}
    after.spec.always.limit = None
    assert edited(with_limit, after) == raw


def test_a_field_is_set_to_its_zero_and_back() -> None:
    raw = {"spec": {"always": {"flag": True}, "text": "x", "number": 3, "keyed": [{"name": "a", "count": 3}]}}
    after = from_wire(Thing, raw)
    after.spec.always.flag, after.spec.text, after.spec.number, after.spec.keyed[0].count = False, "", 0, 0
    zeros = edited(raw, after)
    assert from_wire(Thing, zeros) == after
    assert zeros["spec"]["number"] == 0  # a pointer in Go: zero is not absent
    assert edited(zeros, from_wire(Thing, raw)) == raw


def test_zeros_and_nulls_that_the_server_sent_are_left_as_they_are() -> None:
    raw = {"spec": {"text": "", "keyed": [], "plain": None, "pointer": {}, "always": None}, "data": {}}
    after = from_wire(Thing, raw)
    after.spec.number = 1
    assert edit_patch(Thing, raw, to_wire(from_wire(Thing, raw)), to_wire(after)) == {"spec": {"number": 1}}


def test_a_required_field_that_the_server_lacks_is_not_added() -> None:
    raw = {"spec": {"either": {"count": 1}}}
    after = from_wire(Thing, raw)
    after.spec.either = Item(name="", count=2)
    assert edit_patch(Thing, raw, to_wire(from_wire(Thing, raw)), to_wire(after)) == {"spec": {"either": {"count": 2}}}


def test_the_order_of_fields_is_no_difference() -> None:
    assert merge_patch({"list": [{"a": 1, "b": 2}]}, {"list": [{"b": 2, "a": 1}]}) == {}


def test_true_is_not_one() -> None:
    assert edit_patch(Schema, {"default": 1}, {"default": 1}, {"default": True}) == {"default": True}
    assert merge_patch({"enum": [1]}, {"enum": [True]}) == {"enum": [True]}
