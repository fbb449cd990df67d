"""Jobs on the server inside, in virtual time, with Pods that end as the test says."""

from __future__ import annotations

from typing import Any

import pytest
from tests.cache.samples import virtual
from tests.local.loops.world import World

from trimtab.kube.batch.v1 import Job
from trimtab.kube.core.v1 import Pod
from trimtab.kube.wire import from_wire
from trimtab.local.loops.job import app
from trimtab.local.loops.job.view import INDEX, TRACKING


def a_job(**spec: Any) -> Job:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    body = {"metadata": {"name": "work", "namespace": "default"}, "spec": {"template": template, **spec}}
    return from_wire(Job, body)


async def get(w: World) -> Job:
    return await w.client.get(Job, "work")


async def told(w: World) -> list[str]:
    return [f"{each.type} {each.status} {each.reason}" for each in (await get(w)).status.conditions]


def index(pod: Pod) -> int:
    return int(pod.metadata.annotations[INDEX])


COMPLETED = ["SuccessCriteriaMet True CompletionsReached", "Complete True CompletionsReached"]


@virtual
async def test_it_runs_as_many_as_are_to_complete_so_many_at_a_time() -> None:
    async with World(app) as w:
        w.kubelet.outcome = lambda _: 0
        await w.client.create(a_job(completions=5, parallelism=2))
        await w.passes(2)
        pods = await w.pods()
        assert len(pods) == 2
        assert all(TRACKING in pod.metadata.finalizers for pod in pods)
        assert pods[0].metadata.labels["batch.kubernetes.io/job-name"] == "work"
        status = (await get(w)).status
        assert (status.active, status.ready, status.succeeded) == (2, 2, 0)
        assert status.start_time is not None
        await w.passes(30)
        status = (await get(w)).status
        assert (status.active, status.succeeded, status.failed, status.terminating) == (0, 5, 0, 0)
        assert await told(w) == COMPLETED
        assert status.completion_time is not None
        pods = await w.pods()
        assert len(pods) == 5
        assert all(TRACKING not in pod.metadata.finalizers for pod in pods)
        assert w.said("Completed") == ["Job completed"]


@virtual
async def test_failures_are_tried_again_later_each_time_until_there_are_too_many() -> None:
    async with World(app) as w:
        w.kubelet.outcome = lambda _: 1
        w.kubelet.ends_after = 1
        await w.client.create(a_job(backoffLimit=3))
        made: list[int] = []
        for _ in range(130):
            await w.passes(1)
            made.append(len(await w.pods()))
        first = [made.index(n) for n in (1, 2, 3, 4)]
        assert [b - a >= pause for a, b, pause in zip(first, first[1:], (10, 20, 40), strict=False)] == [True] * 3
        assert max(made) == 4
        status = (await get(w)).status
        assert (status.failed, status.succeeded, status.active) == (4, 0, 0)
        assert await told(w) == ["FailureTarget True BackoffLimitExceeded", "Failed True BackoffLimitExceeded"]
        assert w.said("BackoffLimitExceeded") == ["Job has reached the specified backoff limit"]


@virtual
async def test_each_index_is_done_once() -> None:
    async with World(app) as w:
        fails: set[str] = set()
        w.kubelet.outcome = lambda pod: int(pod.metadata.name in fails)
        await w.client.create(a_job(completions=4, parallelism=4, completionMode="Indexed"))
        await w.passes(1)
        pods = await w.pods()
        assert sorted(map(index, pods)) == [0, 1, 2, 3]
        pod = pods[0]
        fails.add(pods[2].metadata.name)
        assert pod.metadata.name.startswith("work-0-")
        assert (pod.spec.hostname, pod.metadata.labels[INDEX]) == ("work-0", "0")
        (env,) = pod.spec.containers[0].env
        assert env.name == "JOB_COMPLETION_INDEX"
        await w.passes(7)
        status = (await get(w)).status
        assert (status.completed_indexes, status.succeeded, status.failed) == ("0,1,3", 3, 1)
        await w.passes(30)
        status = (await get(w)).status
        assert (status.completed_indexes, status.succeeded, status.failed) == ("0-3", 4, 1)
        assert await told(w) == COMPLETED


@virtual
async def test_an_index_that_fails_too_often_is_given_up_and_the_others_go_on() -> None:
    async with World(app) as w:
        w.kubelet.outcome = lambda pod: 1 if index(pod) == 1 else 0
        w.kubelet.ends_after = 1
        await w.client.create(a_job(completions=3, parallelism=3, completionMode="Indexed", backoffLimitPerIndex=1))
        await w.passes(60)
        status = (await get(w)).status
        assert (status.completed_indexes, status.failed_indexes, status.failed) == ("0,2", "1", 2)
        assert await told(w) == ["FailureTarget True FailedIndexes", "Failed True FailedIndexes"]
        assert [TRACKING in pod.metadata.finalizers for pod in await w.pods()] == [False] * 4


@virtual
async def test_success_may_be_said_to_be_there_before_all_is_done() -> None:
    async with World(app) as w:
        w.kubelet.outcome = lambda pod: 0 if index(pod) == 0 else None
        rules = {"rules": [{"succeededIndexes": "0"}]}
        await w.client.create(a_job(completions=3, parallelism=3, completionMode="Indexed", successPolicy=rules))
        await w.passes(20)
        assert await told(w) == ["SuccessCriteriaMet True SuccessPolicy", "Complete True SuccessPolicy"]
        status = (await get(w)).status
        assert (status.succeeded, status.active) == (1, 0)
        assert len(await w.pods()) == 1


@pytest.mark.parametrize(
    ("action", "conditions", "failed"),
    [
        ("FailJob", ["FailureTarget True PodFailurePolicy", "Failed True PodFailurePolicy"], 1),
        ("Ignore", COMPLETED, 0),
        ("Count", ["FailureTarget True BackoffLimitExceeded", "Failed True BackoffLimitExceeded"], 1),
    ],
)
def test_what_a_failure_means_may_be_said(action: str, conditions: list[str], failed: int) -> None:
    @virtual
    async def run() -> None:
        async with World(app) as w:
            codes = [42]
            w.kubelet.outcome = lambda _: codes[0]
            rule = {"action": action, "onExitCodes": {"operator": "In", "values": [42]}}
            await w.client.create(a_job(backoffLimit=0, podFailurePolicy={"rules": [rule]}))
            await w.passes(7)
            codes[0] = 0
            await w.passes(60)
            assert await told(w) == conditions
            status = (await get(w)).status
            assert status.failed == failed
            if action == "FailJob":
                (pod,) = await w.pods()
                assert status.conditions[-1].message == (
                    f"Container c for pod default/{pod.metadata.name} failed with exit code 42"
                    " matching FailJob rule at index 0"
                )

    run()


@virtual
async def test_it_may_take_so_long() -> None:
    async with World(app) as w:
        await w.client.create(a_job(activeDeadlineSeconds=30))
        await w.passes(25)
        assert await told(w) == []
        await w.passes(10)
        assert await told(w) == ["FailureTarget True DeadlineExceeded", "Failed True DeadlineExceeded"]
        assert await w.pods() == []
        assert (await get(w)).status.failed == 1


@virtual
async def test_one_that_is_suspended_rests_and_goes_on() -> None:
    async with World(app) as w:
        await w.client.create(a_job(parallelism=2, completions=2, suspend=True))
        await w.passes()
        assert (await told(w), await w.pods()) == (["Suspended True JobSuspended"], [])
        assert (await get(w)).status.start_time is None
        await w.patch(Job, "work", {"spec": {"suspend": False}})
        await w.passes()
        assert await told(w) == ["Suspended False JobResumed"]
        assert len(await w.pods()) == 2
        await w.patch(Job, "work", {"spec": {"suspend": True}})
        await w.passes()
        assert await w.pods() == []
        status = (await get(w)).status
        assert (status.failed, status.active) == (0, 0)
        w.kubelet.outcome = lambda _: 0
        await w.patch(Job, "work", {"spec": {"suspend": False}})
        await w.passes(20)
        assert (await told(w))[1:] == COMPLETED


@virtual
async def test_without_completions_one_success_is_the_end() -> None:
    async with World(app) as w:
        await w.client.create(a_job(parallelism=3))
        await w.passes()
        assert len(await w.pods()) == 3
        first = (await w.pods())[0].metadata.name
        w.kubelet.outcome = lambda pod: 0 if pod.metadata.name == first else None
        w.queues["kubelet"].add(f"default/{first}")
        await w.passes()
        assert (await get(w)).status.succeeded == 1
        assert await told(w) == []
        w.kubelet.outcome = lambda _: 0
        for pod in await w.pods():
            w.queues["kubelet"].add(f"default/{pod.metadata.name}")
        await w.passes(20)
        assert (await get(w)).status.succeeded == 3
        assert await told(w) == COMPLETED


@virtual
async def test_pods_that_are_deleted_count_as_failures_and_are_let_go() -> None:
    async with World(app) as w:
        await w.client.create(a_job(backoffLimit=2))
        await w.passes()
        (pod,) = await w.pods()
        await w.client.delete(pod)
        await w.passes(20)
        assert (await get(w)).status.failed == 1
        (other,) = await w.pods()
        assert other.metadata.uid != pod.metadata.uid
        await w.client.delete(Job, "work", propagation="Background")
        await w.passes()
        (left,) = await w.pods()
        assert TRACKING not in left.metadata.finalizers


@virtual
async def test_fewer_at_a_time_may_be_wanted() -> None:
    async with World(app) as w:
        await w.client.create(a_job(parallelism=4, completions=8))
        await w.passes()
        await w.patch(Job, "work", {"spec": {"parallelism": 1}})
        await w.passes()
        assert len(await w.pods()) == 1
        status = (await get(w)).status
        assert (status.active, status.failed) == (1, 0)


@virtual
async def test_when_nothing_changes_nothing_is_written() -> None:
    async with World(app) as w:
        await w.client.create(a_job())
        await w.passes(30)
        before = w.server.store.revision
        w.queues["job-controller"].add("default/work")
        await w.passes(30)
        assert w.server.store.revision == before
