"""Both versions of a HorizontalPodAutoscaler show the same one."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from trimtab.apiserver.builtin.autoscalers import in_v1, in_v2

_AIMS = st.sampled_from(
    [
        {"type": "Utilization", "averageUtilization": 7},
        {"type": "AverageValue", "averageValue": "5"},
    ]
)
_VALUES = st.sampled_from([{"type": "Value", "value": "5"}, {"type": "AverageValue", "averageValue": "5"}])
_ABOUT = st.sampled_from([{"name": "hits"}, {"name": "hits", "selector": {"matchLabels": {"a": "b"}}}])
_TARGET = {"kind": "Deployment", "name": "web", "apiVersion": "apps/v1"}
_METRICS = st.one_of(
    st.builds(lambda t: {"type": "Resource", "resource": {"name": "memory", "target": t}}, _AIMS),
    st.builds(
        lambda t: {"type": "ContainerResource", "containerResource": {"name": "cpu", "container": "c", "target": t}},
        _AIMS,
    ),
    st.builds(
        lambda m: {"type": "Pods", "pods": {"metric": m, "target": {"type": "AverageValue", "averageValue": "1"}}},
        _ABOUT,
    ),
    st.builds(
        lambda m, t: {"type": "Object", "object": {"describedObject": _TARGET, "metric": m, "target": t}},
        _ABOUT,
        _VALUES,
    ),
    st.builds(lambda m, t: {"type": "External", "external": {"metric": m, "target": t}}, _ABOUT, _VALUES),
)
_CPU = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}}}
_RULES = {
    "stabilizationWindowSeconds": 0,
    "selectPolicy": "Max",
    "policies": [{"type": "Pods", "value": 4, "periodSeconds": 15}],
}
_BEHAVIOR = st.sampled_from([None, {"scaleUp": _RULES}, {"scaleUp": _RULES, "scaleDown": {"selectPolicy": "Disabled"}}])


@given(st.lists(_METRICS, max_size=4), st.booleans(), _BEHAVIOR)
def test_nothing_is_lost_on_the_way(metrics: list[Any], cpu: bool, behavior: Any) -> None:
    spec = {"scaleTargetRef": _TARGET, "maxReplicas": 3, "metrics": metrics + ([_CPU] if cpu or not metrics else [])}
    spec |= {"behavior": behavior} if behavior else {}
    stored = {"metadata": {"name": "a", "annotations": {"note": "mine"}}, "spec": spec}
    assert in_v2(in_v1(stored)) == stored


def test_the_form_of_the_first_version() -> None:
    """As its clients know it; the words are those of Kubernetes' conversion."""
    current = {
        "type": "Resource",
        "resource": {"name": "cpu", "current": {"averageUtilization": 50, "averageValue": "1"}},
    }
    hits = {"type": "External", "external": {"metric": {"name": "hits"}, "target": {"type": "Value", "value": "5"}}}
    stored = {
        "metadata": {"name": "a"},
        "spec": {"maxReplicas": 3, "metrics": [hits, _CPU], "behavior": {"scaleDown": {"selectPolicy": "Disabled"}}},
        "status": {"currentReplicas": 1, "currentMetrics": [current]},
    }
    shown = in_v1(stored)
    assert shown["spec"] == {"maxReplicas": 3, "targetCPUUtilizationPercentage": 60}
    assert shown["status"] == {"currentReplicas": 1, "currentCPUUtilizationPercentage": 50}
    notes = {name.partition("/")[2]: json.loads(note) for name, note in shown["metadata"]["annotations"].items()}
    assert notes["metrics"] == [{"type": "External", "external": {"metricName": "hits", "targetValue": "5"}}]
    used = {"name": "cpu", "currentAverageUtilization": 50, "currentAverageValue": "1"}
    assert notes["current-metrics"] == [{"type": "Resource", "resource": used}]
    down = {"StabilizationWindowSeconds": None, "SelectPolicy": "Disabled", "Policies": None, "Tolerance": None}
    assert notes["behavior"] == {"ScaleUp": None, "ScaleDown": down}
    assert in_v2(shown) == stored
    assert in_v2({"metadata": {}, "spec": {"maxReplicas": 3}})["spec"]["metrics"][0]["resource"]["target"] == {
        "type": "Utilization",
        "averageUtilization": 80,
    }
    nonsense = {"autoscaling.alpha.kubernetes.io/metrics": "{"}
    assert len(in_v2({"metadata": {"annotations": nonsense}, "spec": {}})["spec"]["metrics"]) == 1
