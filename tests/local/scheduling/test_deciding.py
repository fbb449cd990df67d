"""Where Pods go, and in which words it is said why they do not. The words are those of kube-scheduler 1.36.3."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.kube.core.v1 import Node, Pod
from trimtab.kube.wire import from_wire
from trimtab.local.scheduling.board import Board
from trimtab.local.scheduling.deciding import decide
from trimtab.local.scheduling.preempting import preempt
from trimtab.local.scheduling.wanted import Wanted, requests_of, wanted_of

ROOM = {"cpu": "4", "memory": "8Gi", "pods": "10"}


def pod(name: str = "a", spec: dict[str, Any] | None = None, **labels: str) -> Pod:
    meta = {"name": name, "namespace": "default", "uid": name, "labels": labels}
    return from_wire(Pod, {"metadata": meta, "spec": {"containers": [asking()], **(spec or {})}})


def asking(**requests: str) -> dict[str, Any]:
    return {"name": "c", "image": "i", "resources": {"requests": requests}}


def wanted(name: str = "a", spec: dict[str, Any] | None = None, **labels: str) -> Wanted:
    return wanted_of(pod(name, spec, **labels))


def board(count: int = 3, **changes: dict[str, Any]) -> Board:
    """Nodes n0, n1 ..., each in a zone of its own; `changes` are specs by the node's name."""
    made = Board()
    for number in range(count):
        name = f"n{number}"
        labels = {"kubernetes.io/hostname": name, "zone": f"z{number % 2}"}
        node = {"metadata": {"name": name, "labels": labels}, "spec": changes.get(name, {})}
        made.set_node(from_wire(Node, {**node, "status": {"allocatable": ROOM}}))
    return made


def taint(effect: str = "NoSchedule", key: str = "team", value: str = "red") -> dict[str, Any]:
    return {"taints": [{"key": key, "value": value, "effect": effect}]}


def affinity(kind: str, labels: dict[str, str], key: str = "zone") -> dict[str, Any]:
    term = {"labelSelector": {"matchLabels": labels}, "topologyKey": key}
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def node_affinity(*expressions: dict[str, Any]) -> dict[str, Any]:
    terms = {"nodeSelectorTerms": [{"matchExpressions": list(expressions)}]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}


NO_HELP = "3 Preemption is not helpful for scheduling"


@pytest.mark.parametrize(
    ("spec", "nodes", "told", "preemption"),
    [
        ({"containers": [asking(cpu="5")]}, {}, "3 Insufficient cpu", NO_HELP),
        ({"containers": [asking(cpu="5", memory="9Gi")]}, {}, "3 Insufficient cpu, 3 Insufficient memory", NO_HELP),
        ({"nodeSelector": {"a": "b"}}, {}, "3 node(s) didn't match Pod's node affinity/selector", NO_HELP),
        (
            {"containers": [asking(cpu="5")]},
            {"n0": {"unschedulable": True}, "n1": taint()},
            "1 Insufficient cpu, 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable",
            NO_HELP,
        ),
        (
            affinity("podAffinity", {"app": "db"}),
            {},
            "3 node(s) didn't match pod affinity rules",
            NO_HELP,
        ),
        (
            {
                "topologySpreadConstraints": [
                    {"maxSkew": 1, "topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule"}
                ]
            },
            {},
            "3 node(s) didn't match pod topology spread constraints (missing required label)",
            NO_HELP,
        ),
        (
            affinity("podAntiAffinity", {"there": "yes"}),
            {},
            "3 node(s) didn't match pod anti-affinity rules",
            "3 No preemption victims found for incoming pod",
        ),
        (
            {"containers": [{"name": "c", "image": "i", "ports": [{"containerPort": 80, "hostPort": 80}]}]},
            {},
            "3 node(s) didn't have free ports for the requested pod ports",
            "3 No preemption victims found for incoming pod",
        ),
        (
            {"containers": [asking(cpu="3500m")]},
            {},
            "3 Insufficient cpu",
            "3 No preemption victims found for incoming pod",
        ),
    ],
)
def test_it_says_why_as_kubernetes_does(
    spec: dict[str, Any], nodes: dict[str, Any], told: str, preemption: str
) -> None:
    there = board(**nodes)
    for number in range(3):
        port = {"containers": [{**asking(cpu="1"), "ports": [{"containerPort": 80, "hostPort": 80}]}]}
        there.place(wanted(f"old-{number}", port, there="yes"), f"n{number}")
    message = decide(wanted("new", spec), there).message(3)
    none = "0/3 nodes are available: "
    assert message == f"{none}{told}. no new claims to deallocate, preemption: {none}{preemption}."


def test_without_nodes_and_with_volumes_that_are_not_there() -> None:
    assert decide(wanted(), board(0)).message(0) == "no nodes available to schedule pods"
    problem = 'persistentvolumeclaim "nope" not found'
    assert decide(wanted(), board(), problem).message(3) == f"0/3 nodes are available: {problem}. not found"


@pytest.mark.parametrize(
    ("spec", "nodes", "goes"),
    [
        ({"tolerations": [{"key": "team", "operator": "Equal", "value": "red"}]}, {"n0": taint()}, {"n0", "n1", "n2"}),
        ({"tolerations": [{"operator": "Exists"}]}, {"n0": taint("NoExecute")}, {"n0", "n1", "n2"}),
        ({"tolerations": [{"key": "team", "value": "blue"}]}, {"n0": taint()}, {"n1", "n2"}),
        ({"tolerations": [{"effect": "NoExecute", "operator": "Exists"}]}, {"n0": taint()}, {"n1", "n2"}),
        (
            {"tolerations": [{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}]},
            {"n0": {"unschedulable": True}},
            {"n0", "n1", "n2"},
        ),
        (node_affinity({"key": "zone", "operator": "NotIn", "values": ["z0"]}), {}, {"n1"}),
        (node_affinity({"key": "zone", "operator": "In", "values": ["z0"]}), {}, {"n0", "n2"}),
        (affinity("podAffinity", {"app": "db"}, "kubernetes.io/hostname"), {}, {"n1"}),
        (affinity("podAffinity", {"app": "new"}), {}, {"n0", "n1", "n2"}),  # the first of its own
        (affinity("podAntiAffinity", {"app": "db"}), {}, {"n0", "n2"}),
        (
            {
                "topologySpreadConstraints": [
                    {
                        "maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
                        "labelSelector": {"matchLabels": {"app": "db"}},
                    }
                ]
            },
            {},
            {"n0", "n1", "n2"},  # it is none of those that are to be spread
        ),
    ],
)  # fmt: skip
def test_where_a_pod_may_go(spec: dict[str, Any], nodes: dict[str, Any], goes: set[str]) -> None:
    found: set[str] = set()
    for closed in ((), ("n0",), ("n1",), ("n2",), ("n0", "n1"), ("n0", "n2"), ("n1", "n2")):
        there = board(**nodes)
        there.place(wanted("db", {}, app="db"), "n1")
        for name in closed:
            there.machines[name].room = {}
        found |= {decide(wanted("new", spec, app="new"), there).node} - {""}
    assert found == goes


def test_a_node_that_is_better_left_alone_is_taken_last() -> None:
    there = board(2, n0=taint("PreferNoSchedule"))
    for number in range(4):
        decision = decide(wanted(f"p{number}"), there)
        there.place(wanted(f"p{number}"), decision.node)
        assert decision.node == "n1"
    there.machines["n1"].room = {}
    assert decide(wanted("last"), there).node == "n0"


def test_who_wants_to_be_alone_keeps_others_away() -> None:
    there = board(2)
    there.place(wanted("db", affinity("podAntiAffinity", {"app": "web"}, "kubernetes.io/hostname")), "n0")
    decision = decide(wanted("web", {"nodeSelector": {"kubernetes.io/hostname": "n0"}}, app="web"), there)
    assert "1 node(s) didn't satisfy existing pods anti-affinity rules" in decision.message(2)
    assert decide(wanted("web", {}, app="web"), there).node == "n1"
    there.remove("default/db")
    assert decide(wanted("web", {"nodeSelector": {"kubernetes.io/hostname": "n0"}}, app="web"), there).node == "n0"


def test_pods_are_spread_over_zones() -> None:
    there = board(4)
    constraint = {
        "maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }  # fmt: skip
    there.machines["n1"].room = there.machines["n3"].room = {}
    spec = {"topologySpreadConstraints": [constraint]}
    first = decide(wanted("w0", spec, app="web"), there)
    there.place(wanted("w0", spec, app="web"), first.node)
    second = decide(wanted("w1", spec, app="web"), there)
    assert first.node in ("n0", "n2")
    assert "2 node(s) didn't match pod topology spread constraints" in second.message(4)


def test_what_a_pod_asks_for() -> None:
    spec = {
        "initContainers": [
            asking(cpu="1"),
            {**asking(cpu="200m"), "name": "side", "restartPolicy": "Always"},
            {**asking(cpu="2"), "name": "later"},
        ],
        "containers": [asking(cpu="500m", memory="1Gi"), {**asking(cpu="1500m"), "name": "d"}],
        "overhead": {"memory": "1Mi"},
    }
    assert requests_of(pod("a", spec)) == {"cpu": 2200, "memory": (1 << 30) + (1 << 20)}
    spec["containers"] = [asking(cpu="1")]
    assert requests_of(pod("a", spec))["cpu"] == 2200, "the last init container and the sidecar beside it"


def test_the_least_important_make_room() -> None:
    there = board(2)
    for name, node, priority in (("low", "n0", 0), ("middle", "n0", 5), ("high", "n1", 9)):
        there.place(wanted(name, {"containers": [asking(cpu="2")], "priority": priority}), node)
    there.place(wanted("other", {"containers": [asking(cpu="2")], "priority": 9}), "n1")
    new = wanted("new", {"containers": [asking(cpu="2")], "priority": 8})
    found = preempt(new, there, decide(new, there))
    assert found is not None
    assert (found.node, [victim.key for victim in found.victims]) == ("n0", ["default/low"])
    meek = wanted("new", {"containers": [asking(cpu="2")], "priority": 8, "preemptionPolicy": "Never"})
    assert preempt(meek, there, decide(meek, there)) is None
    there.nominated[new.key] = "n0", new
    there.remove("default/low")
    rival = wanted("rival", {"containers": [asking(cpu="1")], "priority": 1})
    assert decide(rival, there).node == "", "what was made free is for whom it was made free"
    assert decide(new, there).node == "n0"


STEPS = st.lists(
    st.tuples(
        st.integers(0, 9), st.sampled_from(["100m", "1", "3", "5"]), st.booleans(), st.sampled_from(["", "80", "81"])
    ),
    max_size=60,
)


@given(steps=STEPS)
def test_no_node_is_ever_given_more_than_it_has(steps: list[tuple[int, str, bool, str]]) -> None:
    there = board(3)
    placed: dict[str, Pod] = {}
    for number, cpu, comes, port in steps:
        key = f"default/p{number}"
        there.remove(key)
        placed.pop(key, None)
        if not comes:
            continue
        ports = [{"containerPort": 1, "hostPort": int(port)}] if port else []
        made = pod(f"p{number}", {"containers": [{**asking(cpu=cpu), "ports": ports}]})
        decision = decide(wanted_of(made), there)
        if decision.node:
            there.place(wanted_of(made), decision.node)
            placed[key] = made
        else:
            assert len(decision.reasons) == 3
    for name, machine in there.machines.items():
        mine = [each for key, each in placed.items() if there.where(key) == name]
        assert machine.used.get("cpu", 0) == sum(requests_of(each)["cpu"] for each in mine) <= 4000
        assert len(machine.pods) == len(mine)
        taken = [port.host_port for each in mine for port in each.spec.containers[0].ports]
        assert len(taken) == len(set(taken)) == len(machine.ports)
