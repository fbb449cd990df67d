import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.errors import TrimtabError
from trimtab.kube.meta.v1 import LabelSelector
from trimtab.kube.selectors import Requirement, Selector

DATA = Path(__file__).parent / "data"

words = st.from_regex(r"[a-z0-9]([a-z0-9._-]{0,5}[a-z0-9])?", fullmatch=True)
keys = st.one_of(words, st.sampled_from(["in", "notin"]), words.map(lambda name: f"example.com/{name}"))
values = st.one_of(st.just(""), words)
requirements = st.one_of(
    st.builds(Requirement, keys, st.sampled_from(["=", "==", "!="]), st.tuples(values)),
    st.builds(Requirement, keys, st.sampled_from(["exists", "!"])),
    st.builds(Requirement, keys, st.sampled_from([">", "<"]), st.tuples(st.integers(0, 10**6).map(str))),
    st.builds(
        Requirement,
        keys,
        st.sampled_from(["in", "notin"]),
        st.sets(values, min_size=1, max_size=3).map(lambda drawn: tuple(sorted(drawn))),
    ),
)
selectors = st.lists(requirements, max_size=4).map(lambda drawn: Selector(tuple(drawn)))


def check_matches(selector: Selector, golden: list[object]) -> None:
    for labels, matches in zip(golden[::2], golden[1::2], strict=True):
        assert selector.matches(labels) == matches, (selector, labels)  # type: ignore[arg-type]


def test_reads_and_matches_as_kubernetes() -> None:
    for text, *expected in map(json.loads, (DATA / "label_selectors.jsonl").read_text().splitlines()):
        if not expected:
            with pytest.raises(TrimtabError, match=r"^[^\n]*label[^\n]*$"):
                Selector.parse(text)
            continue
        selector = Selector.parse(text)
        assert str(selector) == expected[0], text
        check_matches(selector, expected[1:])


def test_reads_typed_selectors_as_kubernetes() -> None:
    for raw, *expected in map(json.loads, (DATA / "label_structs.jsonl").read_text().splitlines()):
        struct = None if raw is None else msgspec.convert(raw, LabelSelector)
        if not expected:
            with pytest.raises(TrimtabError, match="label"):
                Selector.from_struct(struct)
            continue
        selector = Selector.from_struct(struct)
        if struct is not None:
            assert str(selector) == expected[0], raw
        check_matches(selector, expected[1:])


@given(selectors)
def test_reads_what_it_writes(selector: Selector) -> None:
    assert Selector.parse(str(selector)) == selector
    assert [each.key for each in selector.requirements] == sorted(each.key for each in selector.requirements)


@given(st.dictionaries(keys, values, max_size=4), st.dictionaries(keys, values, max_size=4))
def test_a_mapping_selects_its_supersets(wanted: dict[str, str], others: dict[str, str]) -> None:
    selector = Selector.from_mapping(wanted)
    assert selector == Selector.parse(str(selector))
    assert dict(selector.equalities) == wanted
    assert selector.matches(others | wanted)
    assert selector.matches(others) == (wanted.items() <= others.items())


@given(selectors, st.dictionaries(keys, values, max_size=4))
def test_what_matches_has_the_equalities(selector: Selector, labels: dict[str, str]) -> None:
    exact = dict(selector.equalities)
    if selector.matches(labels | exact):
        assert (labels | exact).items() >= exact.items()
    if exact.items() - labels.items():
        assert not selector.matches(labels)


def test_equalities_are_what_an_index_can_look_up() -> None:
    selector = Selector.parse("a=1,b==2,c in (3),d in (4,5),e!=6,f notin (7),g,!h,i>8")
    assert selector.equalities == (("a", "1"), ("b", "2"), ("c", "3"))


def test_everything_and_nothing() -> None:
    assert (
        Selector.everything()
        == Selector.parse("")
        == Selector.from_mapping({})
        == Selector.from_struct(LabelSelector())
    )
    assert Selector.everything().is_everything
    assert not Selector.parse("a").is_everything
    assert Selector.nothing() == Selector.from_struct(None) != Selector.everything()
    assert not Selector.nothing().is_everything
    assert not Selector.nothing().matches({})
    with pytest.raises(TrimtabError):  # sent to a server by mistake, it must not read as everything
        Selector.parse(str(Selector.nothing()))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("app=web,", "expected a label key or '!', found the end"),
        ("app in web", r"expected '\(', found 'web'"),
        ("app~web", "label key 'app~web' is invalid: its name must be of letters"),
        ("UPPER.com/app", "what stands before '/' must be a lowercase DNS name"),
        ("app=-web", "value '-web' of label 'app' is invalid: it must be empty, or of letters"),
        ("app=" + "x" * 64, "it has 64 characters, at most 63 are allowed"),
        ("x" * 64, "its name has 64 characters, at most 63 are allowed"),
        ("cores>many", "operator '>' on label 'cores' takes one integer, not 'many'"),
        ("app is web", "expected one of = == != in notin > <, found 'is'"),
    ],
)
def test_says_what_is_wrong(text: str, message: str) -> None:
    with pytest.raises(TrimtabError, match=message):
        Selector.parse(text)


def test_says_which_operators_typed_selectors_know() -> None:
    wrong = msgspec.convert({"matchExpressions": [{"key": "app", "operator": "in", "values": ["a"]}]}, LabelSelector)
    with pytest.raises(
        TrimtabError, match="operator 'in' on label 'app' is unknown: write In, NotIn, Exists, DoesNotExist"
    ):
        Selector.from_struct(wrong)


def test_a_long_prefix_is_refused() -> None:
    Selector.parse("a" * 253 + "/app")
    with pytest.raises(TrimtabError, match="at most 253 characters"):
        Selector.parse("a" * 254 + "/app")
