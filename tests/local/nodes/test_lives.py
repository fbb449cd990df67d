"""The life of a Pod on a simulated node, step by step, in a time of its own."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.kube.conditions import find_condition
from trimtab.kube.core.v1 import Pod
from trimtab.kube.editing import merge_patch
from trimtab.kube.wire import decode, to_wire
from trimtab.local.nodes.behaviour import BadAnnotation, behaviour_of, words_of
from trimtab.local.nodes.lives import Next, Place, next_of

START = datetime(2026, 7, 1, 12, tzinfo=UTC)
PLACE = Place("172.18.0.2", lambda: "10.128.0.2")


class World:
    """One Pod, one clock, and what was told."""

    def __init__(self, spec: dict[str, Any] | None = None, **annotations: str) -> None:
        notes = {f"trimtab.dev/{name.replace('_', '-')}": value for name, value in annotations.items()}
        meta = {"name": "a", "namespace": "default", "uid": "u", "generation": 1, "annotations": notes}
        containers = [{"name": "web", "image": "nginx"}]
        self.raw: dict[str, Any] = {
            "apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": containers, **(spec or {})},
            "status": {"phase": "Pending"},
        }  # fmt: skip
        self.now = START
        self.events: list[str] = []
        self.writes = 0
        self.next = Next()

    @property
    def pod(self) -> Pod:
        return decode(Pod, msgspec.json.encode(self.raw))

    def settle(self) -> World:
        """Until nothing is to be done at this time."""
        for _ in range(20):
            self.next = next_of(self.pod, PLACE, self.now)
            if self.next.status is None:
                return self
            self.writes += 1
            self.events += [reason for _, reason, _ in self.next.events]
            for name, value in self.next.status.items():
                self.raw["status"][name] = value
        raise AssertionError("it does not come to rest")

    def wait(self) -> float:
        """Until the moment at which it asked to be looked at again; how long that was."""
        assert self.next.after is not None
        self.now += timedelta(seconds=self.next.after)
        after = self.next.after
        self.settle()
        return after

    def delete(self, grace: int) -> None:
        until = (self.now + timedelta(seconds=grace)).strftime("%Y-%m-%dT%H:%M:%SZ")
        self.raw["metadata"] |= {"deletionTimestamp": until, "deletionGracePeriodSeconds": grace}
        self.next = next_of(self.pod, PLACE, self.now)

    def state(self, number: int = 0, part: str = "containerStatuses") -> dict[str, Any]:
        return self.raw["status"][part][number]

    def holds(self, condition: str) -> str:
        found = find_condition(self.pod.status.conditions, condition)
        assert found is not None
        return found.status


def test_a_plain_pod_runs_and_is_ready_after_one_write() -> None:
    world = World().settle()
    assert (world.pod.status.phase, world.writes, world.next) == ("Running", 1, Next())
    assert [world.holds(each) for each in ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady")] == (
        ["True"] * 4
    )
    assert (world.pod.status.pod_ip, world.pod.status.host_ip) == ("10.128.0.2", "172.18.0.2")
    assert world.events == ["Pulled", "Created", "Started"]


def test_a_crash_waits_longer_each_time_and_begins_anew_after_ten_good_minutes() -> None:
    world = World(crash="now").settle()
    pauses = [world.wait() for _ in range(8)]
    assert pauses == [10, 20, 40, 80, 160, 300, 300, 300]
    status = world.state()
    assert status["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    assert status["lastState"]["terminated"]["exitCode"] == 1
    assert (status["restartCount"], world.pod.status.phase, world.holds("Ready")) == (9, "Running", "False")
    world.raw["metadata"]["annotations"] = {"trimtab.dev/crash": "15m"}
    assert world.wait() == 300
    assert world.wait() == 900
    assert "running" in world.state()["state"], "who ran for long is started at once"


@pytest.mark.parametrize(
    ("policy", "annotation", "phase", "restarts"),
    [
        ("Never", {"complete": "5s"}, "Succeeded", 0),
        ("Never", {"crash": "5s", "exit_code": "3"}, "Failed", 0),
        ("OnFailure", {"complete": "5s"}, "Succeeded", 0),
        ("OnFailure", {"crash": "5s"}, "Running", 1),
        ("Always", {"complete": "5s"}, "Running", 1),
    ],
)
def test_how_a_pod_ends(policy: str, annotation: dict[str, str], phase: str, restarts: int) -> None:
    world = World({"restartPolicy": policy}, **annotation).settle()
    assert world.holds("Ready") == "True"
    assert world.wait() == 5
    assert (world.pod.status.phase, world.state()["restartCount"]) == (phase, restarts)
    if phase != "Running":
        assert world.next == Next()
        assert world.holds("Ready") == "False"
        assert world.state()["state"]["terminated"]["exitCode"] == int(annotation.get("exit_code", "0"))


def test_init_containers_run_in_order_and_a_sidecar_goes_on() -> None:
    inits = [
        {"name": "one", "image": "i"},
        {"name": "side", "image": "i", "restartPolicy": "Always"},
        {"name": "two", "image": "i"},
    ]
    world = World({"initContainers": inits, "restartPolicy": "Never"}, complete="one=2s, web=4s").settle()
    assert world.pod.status.phase == "Pending"
    assert world.state()["state"] == {"waiting": {"reason": "PodInitializing"}}
    assert "running" in world.state(0, "initContainerStatuses")["state"]
    assert "waiting" in world.state(2, "initContainerStatuses")["state"]
    assert world.wait() == 2
    assert (world.pod.status.phase, world.holds("Ready")) == ("Running", "True")
    assert "running" in world.state(1, "initContainerStatuses")["state"]
    assert world.wait() == 4
    assert world.pod.status.phase == "Succeeded"
    assert "terminated" in world.state(1, "initContainerStatuses")["state"]


def test_an_init_container_that_fails_fails_a_pod_that_never_restarts() -> None:
    spec = {"initContainers": [{"name": "one", "image": "i"}], "restartPolicy": "Never"}
    assert World(spec, crash="one=now").settle().pod.status.phase == "Failed"
    del spec["restartPolicy"]
    world = World(spec, crash="one=now").settle()
    assert world.pod.status.phase == "Pending"
    assert world.state(0, "initContainerStatuses")["state"]["waiting"]["reason"] == "CrashLoopBackOff"


def test_probes_and_gates_are_waited_for() -> None:
    web = {"name": "web", "image": "i", "readinessProbe": {"initialDelaySeconds": 7}, "startupProbe": {}}
    world = World({"containers": [web], "readinessGates": [{"conditionType": "example.com/in"}]}).settle()
    assert (world.pod.status.phase, world.holds("ContainersReady")) == ("Running", "False")
    assert world.wait() == 7
    assert (world.holds("ContainersReady"), world.holds("Ready")) == ("True", "False")
    world.raw["status"]["conditions"].append({"type": "example.com/in", "status": "True"})
    assert world.settle().holds("Ready") == "True"
    assert world.holds("example.com/in") == "True"


def test_what_hangs_is_not_ready_and_takes_all_of_its_grace() -> None:
    world = World(hang="3s").settle()
    assert world.holds("Ready") == "True"
    world.wait()
    assert (world.holds("Ready"), world.pod.status.phase) == ("False", "Running")
    world.delete(grace=30)
    assert (world.next.gone, world.next.after) == (False, 30)
    plain = World().settle()
    plain.delete(grace=30)
    assert plain.next.gone


def test_a_pod_that_is_held_ends_before_it_goes() -> None:
    world = World()
    world.raw["metadata"]["finalizers"] = ["batch.kubernetes.io/job-tracking"]
    world.settle().delete(grace=30)
    world.settle()
    assert (world.pod.status.phase, world.state()["state"]["terminated"]["exitCode"]) == ("Failed", 143)
    assert world.next.gone


def test_a_deadline_ends_it() -> None:
    world = World({"activeDeadlineSeconds": 60}).settle()
    assert world.wait() == 60
    assert (world.pod.status.phase, world.pod.status.reason) == ("Failed", "DeadlineExceeded")


def test_an_image_that_is_not_there() -> None:
    world = World(no_image="now").settle()
    assert (world.state()["state"]["waiting"]["reason"], world.pod.status.phase) == ("ImagePullBackOff", "Pending")
    world.raw["metadata"]["annotations"] = {}
    assert world.settle().holds("Ready") == "True"


def test_an_annotation_that_cannot_be_read_is_told_of() -> None:
    assert "BadAnnotation" in World(crash="soon").settle().events
    with pytest.raises(BadAnnotation, match="from 1 to 255"):
        behaviour_of({"trimtab.dev/crash": "now", "trimtab.dev/exit-code": "0"}, "web", ends=False)
    assert behaviour_of({"trimtab.dev/complete": "never"}, "web", ends=True).ends_after is None


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["echo", "hello", "world"], "hello world"),
        (["/bin/sh", "-c", "echo 'hello  world'"], "hello  world"),
        (["sh", "-c", "echo hello; sleep 3600"], None),
        (["sh", "-c", "echo $HOME"], None),
        (["sh", "-c", "echo 'open"], None),
        (["nginx"], None),
        ([], None),
    ],
)
def test_what_only_echoes_says_so_and_ends(command: list[str], words: str | None) -> None:
    assert words_of(command) == words
    world = World(
        {"restartPolicy": "Never", "containers": [{"name": "web", "image": "i", "command": command}]}
    ).settle()
    assert world.pod.status.phase == ("Running" if words is None else "Succeeded")


TIMES = st.sampled_from(["now", "3s", "never", "web=1s", "other=2s,now"])
NOTES = st.dictionaries(st.sampled_from(["complete", "crash", "hang", "no_image"]), TIMES)


@given(notes=NOTES, policy=st.sampled_from(["Always", "OnFailure", "Never"]), init=st.booleans())
def test_whatever_is_asked_it_comes_to_rest_and_never_leaves_its_end(
    notes: dict[str, str], policy: str, init: bool
) -> None:
    spec: dict[str, Any] = {"restartPolicy": policy}
    spec["containers"] = [{"name": "web", "image": "i"}, {"name": "other", "image": "i"}]
    if init:
        spec["initContainers"] = [{"name": "one", "image": "i"}]
    world = World(spec, **notes).settle()
    for _ in range(6):
        ended = world.pod.status.phase in ("Succeeded", "Failed")
        before = merge_patch({}, to_wire(world.pod.status))
        if world.next.after is None:
            break
        assert world.next.after > 0
        world.wait()
        assert not ended or to_wire(world.pod.status) == before
    ready = world.holds("Ready") == "True"
    assert ready == all(each.ready for each in world.pod.status.container_statuses)
