from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.errors import TrimtabError
from trimtab.kube.apps.v1 import DeploymentCondition
from trimtab.kube.conditions import (
    ConditionStatus,
    find_condition,
    is_condition_true,
    remove_condition,
    set_condition,
)
from trimtab.kube.core.v1 import PodCondition
from trimtab.kube.meta.v1 import Condition

START = datetime(2026, 7, 1, 12, tzinfo=UTC)

steps = st.lists(
    st.tuples(
        st.sampled_from(["Ready", "Synced"]),
        st.sampled_from(["True", "False", "Unknown"]),
        st.sampled_from(["Fine", "Broken"]),
        st.sampled_from(["", "more"]),
        st.sampled_from([None, 1, 2]),
    )
)


@given(steps)
def test_the_transition_time_is_that_of_the_last_change_of_status(
    steps: list[tuple[str, ConditionStatus, str, str, int | None]],
) -> None:
    conditions: list[Condition] = []
    for minute, (type_, status, reason, message, generation) in enumerate(steps):
        now = START + timedelta(minutes=minute)
        before = find_condition(conditions, type_)
        changed = set_condition(
            conditions, type_, status, reason=reason, message=message, observed_generation=generation, now=now
        )
        after = find_condition(conditions, type_)
        assert after is not None
        told = (after.status, after.reason, after.message, after.observed_generation)
        assert told == (status, reason, message, generation)
        if before is None or before.status != status:
            assert after.last_transition_time == now
        else:
            assert after.last_transition_time == before.last_transition_time
        assert changed == (after != before)
        assert is_condition_true(conditions, type_) == (status == "True")
    assert len({each.type for each in conditions}) == len(conditions)


def test_times_are_whole_seconds_as_the_server_keeps_them() -> None:
    conditions: list[Condition] = []
    set_condition(conditions, "Ready", "True", reason="Up", now=START.replace(microsecond=7))
    assert conditions == [Condition(type="Ready", status="True", reason="Up", message="", last_transition_time=START)]
    set_condition(conditions, "Synced", "True", reason="Up")
    assert datetime.now(UTC) - conditions[1].last_transition_time < timedelta(minutes=1)


def test_built_in_kinds_have_conditions_of_their_own() -> None:
    of_pod: list[PodCondition] = []
    assert set_condition(of_pod, "Ready", "True", reason="Up", now=START, of=PodCondition)
    assert isinstance(find_condition(of_pod, "Ready"), PodCondition)
    of_deployment = [
        DeploymentCondition(type="Available", status="False", last_transition_time=START, last_update_time=START)
    ]
    later = START + timedelta(hours=1)
    assert set_condition(of_deployment, "Available", "True", reason="Up", now=later, of=DeploymentCondition)
    assert of_deployment == [
        DeploymentCondition(
            type="Available", status="True", reason="Up", message="", last_transition_time=later, last_update_time=START
        )
    ]


def test_what_is_not_there() -> None:
    conditions: list[Condition] = []
    assert find_condition(conditions, "Ready") is None
    assert not is_condition_true(conditions, "Ready")
    assert not remove_condition(conditions, "Ready")
    set_condition(conditions, "Ready", "True", reason="Up", now=START)
    set_condition(conditions, "Synced", "True", reason="Up", now=START)
    assert remove_condition(conditions, "Ready")
    assert [each.type for each in conditions] == ["Synced"]


def test_refuses_other_words() -> None:
    with pytest.raises(TrimtabError, match="status 'true' of condition 'Ready' is invalid"):
        set_condition([], "Ready", "true", reason="Up")  # type: ignore[call-overload]
