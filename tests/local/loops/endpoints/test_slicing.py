"""Endpoints are put into slices with few changes, and each is in one of them."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from trimtab.local.loops.endpoints.slicing import Content, Plan, Slice, arrange, identity

MOST = 4
PORTS: list[list[dict[str, Any]]] = [[], [{"name": "http", "port": 80}], [{"name": "http", "port": 81}]]


def endpoint(number: int, *, ready: bool = True) -> dict[str, Any]:
    target = {"namespace": "default", "name": f"pod-{number}"}
    return {"addresses": [f"10.0.0.{number}"], "conditions": {"ready": ready}, "targetRef": target}


endpoints = st.builds(endpoint, st.integers(1, 30), ready=st.booleans())
some = st.lists(endpoints, max_size=15, unique_by=identity)
slices = st.lists(
    st.tuples(st.lists(endpoints, max_size=MOST, unique_by=identity), st.sampled_from(PORTS), st.booleans()), max_size=6
).map(lambda all_: [Slice(f"s{n}", e, p, changed=c) for n, (e, p, c) in enumerate(all_)])
wishes = st.tuples(*(some for _ in PORTS)).map(
    lambda lists: [Content(at, there) for at, there in zip(PORTS, lists, strict=True) if there]
)


def after(there: list[Slice], plan: Plan) -> list[Content]:
    """What there is when a plan was carried out."""
    kept = [
        plan.update.get(each.name, Content(each.ports, each.endpoints))
        for each in there
        if each.name not in plan.delete
    ]
    return kept + plan.create


@given(slices, wishes)
def test_each_endpoint_is_in_one_slice_as_it_is_and_none_is_too_full(there: list[Slice], wanted: list[Content]) -> None:
    plan = arrange(there, wanted, MOST)
    made = after(there, plan)
    for ports in PORTS:
        found = [each for content in made if list(content.ports) == ports for each in content.endpoints]
        asked = [each for content in wanted if list(content.ports) == ports for each in content.endpoints]
        assert sorted(found, key=identity) == sorted(asked, key=identity)
    assert made, "a Service that leads nowhere has a slice that says so"
    assert all(len(each.endpoints) <= MOST for each in made)
    assert len([each for each in made if not each.endpoints]) == (0 if any(c.endpoints for c in wanted) else 1)
    assert all(each.name in plan.update or each.name in plan.delete for each in there if each.changed)


@given(slices, wishes)
def test_what_is_as_it_should_be_is_left_alone(there: list[Slice], wanted: list[Content]) -> None:
    made = after(there, arrange(there, wanted, MOST))
    again = [Slice(f"s{n}", each.endpoints, each.ports) for n, each in enumerate(made)]
    assert arrange(again, wanted, MOST) == Plan()


def test_what_is_new_goes_where_something_changes_anyway_then_where_it_fits_best() -> None:
    there = [
        Slice("full", [endpoint(n) for n in (1, 2, 3, 4)]),
        Slice("fuller", [endpoint(n) for n in (5, 6, 7)]),
        Slice("emptier", [endpoint(8)]),
    ]
    every = [endpoint(n) for n in range(1, 9)]
    assert arrange(there, [Content([], [*every, endpoint(9)])], MOST).update.keys() == {"fuller"}
    assert arrange(there, [Content([], [*every, endpoint(9), endpoint(10)])], MOST).update.keys() == {"emptier"}
    changed = [*every[1:], endpoint(9)]
    plan = arrange(there, [Content([], changed)], MOST)
    assert plan.update.keys() == {"full"}
    assert not plan.create
