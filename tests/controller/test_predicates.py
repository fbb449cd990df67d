"""Predicates: which objects and which changes pass, also composed."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cache.samples import Obj, pod

from trimtab.cache import Cached, Store
from trimtab.cache.intake import Intake
from trimtab.controller import (
    Predicate,
    annotated,
    annotation_changed,
    changed,
    generation_changed,
    label_changed,
    labelled,
    matching,
)
from trimtab.errors import TrimtabError
from trimtab.kube.core.v1 import Pod
from trimtab.packing import Packer


def entry(obj: Obj, version: int = 1) -> Cached[Any]:
    obj["metadata"] |= {"uid": "u", "resourceVersion": str(version)}
    return Intake(Pod, Pod.resource, Store[Any]().indexer, Packer()).from_item(msgspec.json.encode(obj))


def of(version: int = 1, image: str = "nginx", **metadata: Any) -> Cached[Any]:
    return entry(pod("a", image=image, **metadata), version)


PLAIN = of()
MARKED = of(2, annotations={"x/y": "1", "z": "2"}, labels={"app": "web", "tier": "db"})
REWORKED = of(3, generation=2, image="other", annotations={"x/y": "2", "z": "2"}, labels={"app": "web", "tier": "web"})
LEAVING = of(4, generation=2, image="other", deletionTimestamp="2026-01-01T00:00:00Z", labels={"app": "web"})


@pytest.mark.parametrize(
    ("predicate", "plain", "marked"),
    [
        (annotated("x/y"), False, True),
        (annotated("x/y", "1"), False, True),
        (annotated("x/y", "2"), False, False),
        (annotated("1"), False, False),  # which stands in the JSON, but not as an annotation
        (annotated("app"), False, False),  # a label
        (labelled("app=web,tier in (db,web)"), False, True),
        (labelled(app="web"), False, True),
        (labelled({"app": "db"}), False, False),
        (matching(lambda p: "z" in p.metadata.annotations), False, True),
        (~annotated("x/y"), True, False),
        (annotated("x/y") & labelled("tier=web"), False, False),
        (annotated("x/y") | labelled("tier=web"), False, True),
    ],
    ids=repr,
)
def test_predicates_of_a_state_judge_the_object_as_it_is(predicate: Predicate, plain: bool, marked: bool) -> None:
    assert predicate.wants(PLAIN) is plain
    assert predicate.wants(MARKED) is marked
    assert predicate.passes(MARKED, MARKED) is marked  # a resync


@pytest.mark.parametrize(
    ("predicate", "passes"),
    [
        (generation_changed, True),
        (label_changed(), True),
        (label_changed("tier"), True),
        (label_changed("app"), False),
        (annotation_changed(), True),
        (annotation_changed("x/y"), True),
        (annotation_changed("z", "none"), False),
        (changed(lambda p: p.spec.containers[0].image), True),
        (changed(lambda p: p.metadata.name), False),
        (~generation_changed, False),
        (generation_changed & label_changed("app"), False),
        (generation_changed | label_changed("app"), True),
    ],
    ids=repr,
)
def test_predicates_of_a_change_judge_updates_and_nothing_else(predicate: Predicate, passes: bool) -> None:
    assert predicate.passes(MARKED, REWORKED) is passes
    assert predicate.wants(MARKED)  # it appeared, or vanished
    assert predicate.passes(MARKED, MARKED)  # a resync was asked for, so it is wanted
    assert predicate.passes(REWORKED, LEAVING)  # its deletion begins: who misses that leaves finalizers on it


def test_an_object_that_is_no_longer_wanted_passes_once() -> None:
    where = annotated("x/y") & generation_changed
    unmarked = of(5, labels={"app": "web"})
    assert where.passes(MARKED, unmarked)
    assert not where.passes(unmarked, PLAIN)
    assert not where.passes(PLAIN, unmarked)
    assert not where.passes(MARKED, of(6, annotations={"x/y": "1"}))  # still wanted; nothing of its spec changed


class Says(Predicate):
    def __init__(self, verdict: bool | None) -> None:
        self.verdict = verdict

    def judge(self, old: Any, new: Any) -> bool | None:  # noqa: ARG002
        return self.verdict


VERDICTS = st.sampled_from([True, False, None])


@given(VERDICTS, VERDICTS)
def test_who_has_nothing_to_say_leaves_it_to_the_other(one: bool | None, other: bool | None) -> None:
    """Kleene's logic: what is not known is not known, unless the other side settles it."""
    both, either = (Says(one) & Says(other)).judge(None, PLAIN), (Says(one) | Says(other)).judge(None, PLAIN)
    known = [v for v in (one, other) if v is not None]
    assert both == (False if False in known else None if len(known) < 2 else True)
    assert either == (True if True in known else None if len(known) < 2 else False)
    negated = ~(Says(one) & Says(other))
    assert negated.judge(None, PLAIN) == (~Says(one) | ~Says(other)).judge(None, PLAIN)


def test_mistakes_in_composing_are_errors() -> None:
    with pytest.raises(TrimtabError, match="compose predicates with"):
        bool(annotated("a"))
    with pytest.raises(TrimtabError, match="wants a selector"):
        labelled()
    assert repr(annotated("a") & ~labelled("x=y")) == "(annotated('a') & ~labelled('x=y'))"
