"""Which Pods go first."""

from __future__ import annotations

from datetime import datetime, timedelta
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.local.loops.world import START

from trimtab.controllers.replicaset.choosing import COST, choose, deletion_cost
from trimtab.controllers.replicaset.pods import PodView, available_in, first_available, is_active, is_terminating
from trimtab.kube.timestamps import format_time
from trimtab.kube.wire import from_wire


def pod(
    uid: str,
    *,
    node: str | None = "n1",
    phase: str = "Running",
    ready: int | None = 1000,
    age: int = 1000,
    restarts: int = 0,
    cost: str | None = None,
    deleted: bool = False,
    sidecar: int = 0,
) -> PodView:
    """`ready` and `age` are seconds before START."""
    meta: dict[str, Any] = {"name": uid, "uid": uid, "creationTimestamp": at(age)}
    if cost is not None:
        meta["annotations"] = {COST: cost}
    if deleted:
        meta["deletionTimestamp"] = at(0)
    conditions = [] if ready is None else [{"type": "Ready", "status": "True", "lastTransitionTime": at(ready)}]
    status = {
        "phase": phase,
        "conditions": conditions,
        "containerStatuses": [{"name": "c", "restartCount": restarts}],
        "initContainerStatuses": [{"name": "s", "restartCount": sidecar}, {"name": "i", "restartCount": 9}],
    }
    spec = {"nodeName": node, "initContainers": [{"name": "s", "restartPolicy": "Always"}, {"name": "i"}]}
    return from_wire(PodView, {"metadata": meta, "spec": spec, "status": status})


def at(seconds_before: int) -> str:
    return format_time(START - timedelta(seconds=seconds_before))


FIRST_TO_LAST = [
    ("no node", pod("z", node=None, phase="Pending", ready=None)),
    ("pending", pod("z", phase="Pending", ready=None)),
    ("unknown", pod("z", phase="Unknown", ready=None)),
    ("not ready", pod("z", ready=None)),
    ("cheap", pod("z", cost="-5")),
    ("crowded", pod("z", node="crowd")),
    ("ready for a moment", pod("z", ready=10)),
    ("restarted", pod("z", restarts=3)),
    ("a sidecar restarted", pod("z", sidecar=2)),
    ("new", pod("z", age=10)),
    ("first by uid", pod("a")),
    ("last", pod("b")),
    ("dear", pod("a", cost="5")),
]
KIN = [pod(f"k{i}", node="crowd") for i in range(3)] + [pod(f"d{i}", node="n1", deleted=True) for i in range(5)]


@pytest.mark.parametrize("earlier", range(len(FIRST_TO_LAST) - 1))
def test_each_goes_before_all_that_follow(earlier: int) -> None:
    _, first = FIRST_TO_LAST[earlier]
    for name, later in FIRST_TO_LAST[earlier + 1 :]:
        for pair in ([first, later], [later, first]):
            assert choose(pair, 1, kin=KIN, now=START) == [first], name


def test_times_are_compared_by_their_magnitude() -> None:
    young, old = pod("b", ready=600, age=2000), pod("a", ready=1000, age=1000)
    assert choose([young, old], 1, now=START) == [old]  # about the same: by uid
    assert choose([pod("b", ready=100), old], 1, now=START) == [pod("b", ready=100)]


def test_who_was_asked_to_go_before_goes() -> None:
    asked, other = pod("b", cost="100"), pod("a", node=None)
    assert choose([asked, other], 1, doomed={"b"}, now=START) == [asked]


@pytest.mark.parametrize(
    ("said", "cost"),
    [("7", 7), ("-7", -7), ("+7", 0), ("07", 0), ("x", 0), ("2147483648", 0), ("-2147483648", -(2**31))],
)
def test_a_cost_that_is_none_costs_nothing(said: str, cost: int) -> None:
    assert deletion_cost(pod("a", cost=said)) == cost


kinds = st.builds(
    pod,
    st.uuids().map(str),
    node=st.sampled_from([None, "n1", "n2"]),
    phase=st.sampled_from(["Pending", "Running"]),
    ready=st.sampled_from([None, 3, 50]),
    age=st.sampled_from([5, 100]),
    restarts=st.integers(0, 2),
)


def standing(pod: PodView) -> tuple[bool, str, bool]:
    return bool(pod.spec.node_name), pod.status.phase or "", bool(pod.status.conditions)


@given(st.lists(kinds, max_size=12, unique_by=lambda each: each.metadata.uid), st.integers(0, 14), st.randoms())
def test_as_many_as_asked_for_and_whatever_the_order_nobody_who_serves_before_one_who_does_not(
    pods: list[PodView], count: int, random: Random
) -> None:
    chosen = choose(pods, count, kin=pods, now=START)
    assert len(chosen) == min(count, len(pods))
    assert len({each.metadata.uid for each in chosen}) == len(chosen)
    left = [each for each in pods if each not in chosen]
    if any(each.spec.node_name and each.status.conditions for each in chosen):
        assert all(each.spec.node_name for each in left)
    shuffled = random.sample(pods, len(pods))
    standing = [(bool(p.spec.node_name), p.status.phase, bool(p.status.conditions)) for p in chosen]
    again = choose(shuffled, count, kin=pods, now=START)
    assert sorted(standing) == sorted(
        (bool(p.spec.node_name), p.status.phase, bool(p.status.conditions)) for p in again
    )


def test_what_counts() -> None:
    assert is_active(pod("a"))
    assert not is_active(pod("a", phase="Failed"))
    assert not is_active(pod("a", deleted=True))
    assert is_terminating(pod("a", deleted=True))
    assert not is_terminating(pod("a", deleted=True, phase="Succeeded"))


@pytest.mark.parametrize(
    ("ready", "minimum", "wait"), [(None, 0, None), (5, 0, 0), (5, 10, 5), (10, 10, 0), (11, 10, 0)]
)
def test_available(ready: int | None, minimum: int, wait: float | None) -> None:
    assert available_in(pod("a", ready=ready), minimum, START) == wait


def test_the_next_to_be_available() -> None:
    pods = [pod("a", ready=3), pod("b", ready=7), pod("c", ready=20), pod("d", ready=None)]
    assert first_available(pods, 10, START) == 3
    assert first_available(pods, 0, START) is None
    assert first_available(pods[2:], 10, START) is None
    assert isinstance(START, datetime)
