"""What is done with the Pods of a StatefulSet, and in which order."""

from __future__ import annotations

from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.local.loops.world import START

from trimtab.controllers.replicaset.pods import PodView
from trimtab.kube.timestamps import format_time
from trimtab.kube.wire import from_wire
from trimtab.local.loops.statefulset.order import REVISION, Create, Wish, ordinal_of, steps


def pod(state: str = "ready", revision: str = "old", ready_at: Any = START) -> PodView:
    meta: dict[str, Any] = {"name": "p", "uid": "u", "labels": {REVISION: revision}}
    if state == "going":
        meta["deletionTimestamp"] = format_time(START)
    phase = {"pending": "Pending", "failed": "Failed", "succeeded": "Succeeded"}.get(state, "Running")
    is_ready = "True" if state in ("ready", "going") else "False"
    conditions = [{"type": "Ready", "status": is_ready, "lastTransitionTime": format_time(ready_at)}]
    return from_wire(PodView, {"metadata": meta, "status": {"phase": phase, "conditions": conditions}})


READY, OTHER, GOING, FAILED, NEW = pod(), pod("running"), pod("going"), pod("failed"), pod("ready", "new")
STATES = st.sampled_from(["ready", "running", "failed", "going"])
NEW_DOWN = pod("running", "new")


def numbered(pods: dict[int, PodView]) -> dict[int, PodView]:
    """Each with its ordinal as its uid."""
    return {
        ordinal: msgspec.structs.replace(each, metadata=msgspec.structs.replace(each.metadata, uid=str(ordinal)))
        for ordinal, each in pods.items()
    }


def said(wish: Wish, pods: dict[int, PodView]) -> list[str]:
    """`+2 old` for a Pod to make, `-2 scaled` for one to delete."""
    told: list[str] = []
    for step in steps(wish, numbered(pods), START):
        if isinstance(step, Create):
            told.append(f"+{step.ordinal} {step.revision}")
        else:
            told.append(f"-{step.pod.metadata.uid} {step.why}")
    return told


def wish(replicas: int = 3, **more: Any) -> Wish:
    given: dict[str, Any] = {"current": "old", "update": "old", "partition": 0, "ordinals": range(replicas), **more}
    return Wish(**given)


@pytest.mark.parametrize(
    ("wanted", "pods", "expected"),
    [
        (wish(), {}, ["+0 old"]),
        (wish(), {0: OTHER}, []),
        (wish(), {0: READY}, ["+1 old"]),
        (wish(), {0: READY, 2: READY}, ["+1 old"]),
        (wish(), {0: GOING, 1: READY, 2: READY}, []),
        (wish(), {0: READY, 1: FAILED}, ["-1 ended"]),
        (wish(), {0: READY, 1: READY, 2: READY}, []),
        (wish(1), {0: READY, 1: READY, 2: READY}, ["-2 scaled"]),
        (wish(1), {0: READY, 1: READY, 2: GOING}, []),
        (wish(1), {0: READY, 1: OTHER, 2: OTHER}, ["-2 scaled"]),
        (wish(1), {0: READY, 1: READY, 2: OTHER}, ["-2 scaled"]),
        (wish(1), {0: OTHER, 1: READY, 2: READY}, []),
        (wish(0), {0: OTHER}, ["-0 scaled"]),
        (wish(2, ordinals=range(5, 7)), {5: READY}, ["+6 old"]),
        (wish(2, ordinals=range(5, 7)), {0: READY, 5: READY, 6: READY}, ["-0 scaled"]),
        (wish(min_ready_seconds=10), {0: READY}, []),
        (wish(ordered=False), {}, ["+0 old", "+1 old", "+2 old"]),
        (wish(ordered=False), {0: OTHER, 2: GOING}, ["+1 old"]),
        (wish(1, ordered=False), {0: OTHER, 1: READY, 2: GOING, 3: OTHER}, ["-3 scaled", "-1 scaled"]),
        (wish(ordered=False), {0: FAILED, 1: READY}, ["-0 ended", "+2 old"]),
        # updates
        (wish(update="new"), {0: READY, 1: READY, 2: READY}, ["-2 updated"]),
        (wish(update="new"), {0: READY, 1: READY}, ["+2 new"]),
        (wish(update="new"), {0: READY, 1: READY, 2: NEW_DOWN}, []),
        (wish(update="new"), {0: READY, 1: READY, 2: NEW}, ["-1 updated"]),
        (wish(update="new", partition=2), {0: READY, 1: READY, 2: NEW}, []),
        (wish(update="new", partition=2), {0: READY, 2: NEW}, ["+1 old"]),
        (wish(update="new", partition=2), {0: READY, 1: READY}, ["+2 new"]),
        (wish(update="new", partition=None, current_replicas=1), {}, ["+0 old"]),
        (wish(update="new", on_delete=True), {0: READY, 1: READY, 2: READY}, []),
        (wish(update="new", on_delete=True), {0: READY, 1: READY}, ["+2 new"]),
        (wish(update="new", max_unavailable=2), {0: READY, 1: READY, 2: READY}, ["-2 updated", "-1 updated"]),
        (wish(update="new", ordered=False), {0: READY, 1: READY, 2: NEW_DOWN}, []),
        # who is down costs nothing
        (wish(update="new", ordered=False), {0: READY, 1: OTHER, 2: READY}, ["-1 updated"]),
        (wish(update="new", ordered=False, max_unavailable=2), {0: READY, 1: READY, 2: NEW_DOWN}, ["-1 updated"]),
    ],
)
def test_steps(wanted: Wish, pods: dict[int, PodView], expected: list[str]) -> None:
    assert said(wanted, pods) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [("web-0", 0), ("web-12", 12), ("web-01", None), ("web-x", None), ("web", None), ("an-1", None), ("web-1-2", None)],
)
def test_ordinals(name: str, expected: int | None) -> None:
    assert ordinal_of("web", name) == expected


@given(
    replicas=st.integers(0, 5),
    ordered=st.booleans(),
    partition=st.integers(0, 3),
    states=st.dictionaries(st.integers(0, 7), st.tuples(STATES, st.sampled_from(["old", "new"]))),
    seed=st.integers(0, 99),
)
def test_whatever_there_is_it_ends_as_it_is_wanted(
    replicas: int, ordered: bool, partition: int, states: dict[int, tuple[str, str]], seed: int
) -> None:
    """A model: what goes is gone later, what is made gets ready later. With OrderedReady one step at a time."""
    wanted, random = wish(replicas, update="new", ordered=ordered, partition=partition), Random(seed)
    now = {ordinal: pod(state, revision) for ordinal, (state, revision) in states.items()}
    for _ in range(60):
        todo = steps(wanted, numbered(now), START)
        assert len(todo) <= 1 or not ordered
        for step in todo:
            if isinstance(step, Create):
                assert step.ordinal not in now
                now[step.ordinal] = pod("running", step.revision)
            else:
                ordinal = int(step.pod.metadata.uid)
                assert step.why != "updated" or ordinal >= partition
                now[ordinal] = pod("going", step.pod.metadata.labels[REVISION])
        waiting = [o for o, each in now.items() if each not in (READY, NEW) and each.status.phase == "Running"]
        if not todo and not waiting:
            break
        if not todo:
            at = random.choice(waiting)
            if now[at].metadata.deletion_timestamp:
                del now[at]
            else:
                now[at] = pod("ready", now[at].metadata.labels[REVISION])
    assert sorted(now) == list(range(replicas))
    assert all(each in (READY, NEW) for each in now.values())
    assert all(now[o].metadata.labels[REVISION] == "new" for o in now if o >= partition)
