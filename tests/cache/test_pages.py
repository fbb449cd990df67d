"""A list is cut into its items as it arrives, however it is written, and is never held whole."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.cache.pages import PageCutter
from trimtab.kube.meta.v1 import ListMeta

# Of few letters, those that JSON is made of: what looks like a list, but is none, should come up all the time.
TEXT = st.text(st.sampled_from('[]{}",:\\ aé😀')) | st.sampled_from(
    ['"items":[{"a":', ',{"a":', '{"metadata":{}},{"metadata":{']
)
KEYS = st.sampled_from(["a", "metadata", "items", "spec"]) | TEXT
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=4)
TEMPLATED = st.builds(  # items that hold lists of what looks like an item
    lambda name, inner: {"metadata": {"name": name}, "spec": {"templates": [{"metadata": each} for each in inner]}},
    TEXT,
    st.lists(VALUES, max_size=4),
)
METADATA = st.fixed_dictionaries(
    {"resourceVersion": st.sampled_from(["", "7"])},
    optional={"continue": TEXT, "remainingItemCount": st.integers(0, 9)},
)
COMPACT = (",", ":")
SPACED = (", ", ": ")


def cut(body: bytes, sizes: Iterable[int] = ()) -> tuple[list[Any], ListMeta]:
    """The items of a body that comes in chunks of these sizes, the last of them being the rest."""
    cutter, items = PageCutter(), list[bytes]()
    for size in sizes:
        items += cutter.feed(body[:size])
        body = body[size:]
    items += cutter.feed(body)
    last, metadata = cutter.end()
    return [json.loads(item) for item in items + last], metadata


@settings(deadline=None)
@given(
    items=st.lists(OBJECTS, max_size=6) | st.lists(TEMPLATED, max_size=6),
    metadata=METADATA,
    separators=st.sampled_from([COMPACT, SPACED]),
    indent=st.sampled_from([None, 1]),
    ascii_only=st.booleans(),
    order=st.permutations(["kind", "apiVersion", "metadata", "items"]),
    sizes=st.lists(st.integers(0, 40), max_size=20),
    end=st.sampled_from(["", "\n", "  "]),
)
def test_any_list_in_any_chunks_is_cut_into_its_items(
    items: list[Any],
    metadata: dict[str, Any],
    separators: tuple[str, str],
    indent: int | None,
    ascii_only: bool,
    order: list[str],
    sizes: list[int],
    end: str,
) -> None:
    page = {"kind": "PodList", "apiVersion": "v1", "metadata": metadata, "items": items}
    page = {name: page[name] for name in order}
    body = json.dumps(page, separators=separators, indent=indent, ensure_ascii=ascii_only) + end
    found, said = cut(body.encode(), sizes)
    assert found == items
    assert said == msgspec.convert(metadata, ListMeta)


@settings(deadline=None)
@given(data=st.data(), items=st.lists(OBJECTS | TEMPLATED, max_size=4), separators=st.sampled_from([COMPACT, SPACED]))
def test_a_list_that_was_cut_off_is_refused(data: st.DataObject, items: list[Any], separators: tuple[str, str]) -> None:
    body = json.dumps({"metadata": {"resourceVersion": "7"}, "items": items}, separators=separators).encode()
    end = data.draw(st.integers(0, len(body) - 1))
    sizes = data.draw(st.lists(st.integers(0, 40), max_size=10))
    with pytest.raises(msgspec.DecodeError):
        cut(body[:end], sizes)


@settings(deadline=None)
@given(items=st.lists(OBJECTS, max_size=3), more=st.sampled_from(["}", "]", "{}", "]}", ',"items":[]}', "x"]))
def test_more_than_a_list_is_refused(items: list[Any], more: str) -> None:
    body = json.dumps({"metadata": {}, "items": items}, separators=COMPACT) + more
    with pytest.raises(msgspec.DecodeError):
        cut(body.encode())


@pytest.mark.parametrize(
    "body",
    ["", "{}", "[]", "null", '{"kind":"Status","metadata":{}}', '{"items":{"a":1}}', '{"items":[{"a":1} {"a":2}]}'],
)
def test_what_is_no_list_does_not_pass_for_an_empty_one(body: str) -> None:
    with pytest.raises(msgspec.DecodeError):
        cut(body.encode())


@pytest.mark.parametrize("items", ["null", "[]", "[ ]"])
def test_an_empty_list_is_one(items: str) -> None:
    found, said = cut(f'{{"items": {items}, "metadata":{{"resourceVersion":"7"}}}}'.encode(), [12])
    assert found == []
    assert said.resource_version == "7"


def test_a_list_says_where_the_next_page_begins_before_its_items_or_after_them() -> None:
    metadata = b'"metadata":{"resourceVersion":"7","continue":"]}\\"items\\":[{","remainingItemCount":3}'
    for body in (b'{%s,"items":[{"a":1}]}' % metadata, b'{"items":[{"a":1}],%s}' % metadata):
        items, said = cut(body, [20])
        assert items == [{"a": 1}]
        assert (said.continue_, said.remaining_item_count) == (']}"items":[{', 3)


def item(number: int) -> bytes:
    """An item as Go writes it, with a list in it of what looks like one."""
    inner = ",".join(f'{{"metadata":{{"name":"inner-{n}"}}}}' for n in range(4))
    return f'{{"metadata":{{"name":"{number}"}},"spec":{{"templates":[{inner}],"text":"{"x" * 200}]}}"}}}}'.encode()


@pytest.mark.parametrize("size", [1, 100, 1000])
def test_an_item_is_given_as_soon_as_the_next_has_begun_and_nothing_is_held(size: int) -> None:
    body = b'{"kind":"PodList","metadata":{"resourceVersion":"7"},"items":[%s]}' % b",".join(map(item, range(200)))
    cutter, given_so_far = PageCutter(), 0
    longest, first_key = len(item(199)), len(b',{"metadata":')
    for start in range(0, len(body), size):
        given_so_far += sum(len(each) + 1 for each in cutter.feed(body[start : start + size]))
        held = len(cutter._body) + sum(map(len, cutter._rest))
        head = len(cutter._head)
        assert held <= longest + first_key + size or start < 1500, "only where the items begin, more has to be seen"
        assert given_so_far + held + head == min(start + size, len(body)), "a byte was lost, or is there twice"
    last, _ = cutter.end()
    assert last == [item(199)]


def test_no_byte_is_looked_at_again_and_again_while_a_long_item_arrives() -> None:
    class Counting(bytes):
        """Counts the bytes that are searched."""

        searched = 0

        def find(self, sub: bytes, start: int = 0) -> int:  # type: ignore[override]
            Counting.searched += len(self) - start
            return super().find(sub, start)

        def __add__(self, other: bytes) -> Counting:  # type: ignore[override]
            return Counting(super().__add__(other))

        def __getitem__(self, key: Any) -> Any:
            found = super().__getitem__(key)
            return Counting(found) if isinstance(found, bytes) else found

    cutter = PageCutter()
    list(cutter.feed(b'{"items":[{"metadata":{}},'))
    cutter._body = Counting(cutter._body)
    for _ in range(100):
        assert list(cutter.feed(b"x" * 1000)) == []
    assert Counting.searched < 2 * 100 * 1000


def test_what_go_would_not_have_written_is_kept_and_read_as_a_whole() -> None:
    """Other first keys, spaces, a key that has to be escaped, items that are no objects: more memory, the same."""
    for text in (
        '[{"a":1},{"b":2},{"a":3}]',
        '[ {"a":1} , {"a":2} ]',
        '[{"a\\"":1},{"a\\"":2}]',
        '[{},{"a":1}]',
        '[{"a":1},5,{"a":2},"],",{"a":3}]',
        f'[{{"{"k" * 2000}":1}},{{"{"k" * 2000}":2}}]',
    ):
        for sizes in ([], [10], [11] * 9, [1] * 60):
            assert cut(f'{{"items":{text}}}'.encode(), sizes)[0] == json.loads(text)
