"""CronJobs on the server inside, in virtual time, with our Jobs; it begins at noon."""

from __future__ import annotations

from typing import Any

from tests.cache.samples import virtual
from tests.local.loops.world import START, World

from trimtab.kube.batch.v1 import CronJob, Job
from trimtab.kube.wire import from_wire
from trimtab.local.loops import cronjob, job, ttl_after_finished

MINUTE = 60.0


def cron_job(schedule: str = "*/5 * * * *", **spec: Any) -> CronJob:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    body = {
        "metadata": {"name": "tick", "namespace": "default"},
        "spec": {"schedule": schedule, "jobTemplate": {"spec": {"template": template}}, **spec},
    }
    return from_wire(CronJob, body)


def world() -> World:
    made = World(cronjob.app, job.app)
    made.kubelet.outcome = lambda _: 0
    return made


async def jobs(w: World) -> list[str]:
    found = await w.client.list(Job)
    return sorted((each.metadata.name for each in found), key=lambda name: int(name.rpartition("-")[2]))


def name_of(minutes: int) -> str:
    return f"tick-{int(START.timestamp()) // 60 + minutes}"


@virtual
async def test_a_job_at_each_time_and_three_are_remembered() -> None:
    async with world() as w:
        await w.client.create(cron_job())
        await w.passes(4 * MINUTE)
        assert await jobs(w) == []
        await w.passes(1.02 * MINUTE)
        assert await jobs(w) == [name_of(5)]
        found = await w.client.get(CronJob, "tick")
        assert [each.name for each in found.status.active] == [name_of(5)]
        assert found.status.last_schedule_time == START.replace(minute=5)
        made = await w.client.get(Job, name_of(5))
        assert made.metadata.annotations[cronjob.SCHEDULED] == "2026-07-01T12:05:00Z"
        await w.passes(21 * MINUTE)
        assert await jobs(w) == [name_of(15), name_of(20), name_of(25)]
        status = (await w.client.get(CronJob, "tick")).status
        assert status.active == []
        assert status.last_successful_time is not None
        assert status.last_successful_time > START.replace(minute=25)
        assert f"Saw completed job: {name_of(5)}, condition: Complete" in w.said("SawCompletedJob")


@virtual
async def test_one_after_the_other_or_in_place_of_it() -> None:
    async with world() as w:
        w.kubelet.outcome = lambda _: None
        await w.client.create(cron_job(concurrencyPolicy="Forbid"))
        await w.passes(16 * MINUTE)
        assert await jobs(w) == [name_of(5)]
        assert w.said("JobAlreadyActive")
        await w.patch(CronJob, "tick", {"spec": {"concurrencyPolicy": "Replace"}})
        await w.passes(1)
        assert await jobs(w) == [name_of(15)]
        assert w.said("SuccessfulDelete")[-1] == f"Deleted job {name_of(5)}"
        await w.patch(CronJob, "tick", {"spec": {"concurrencyPolicy": "Allow"}})
        await w.passes(5 * MINUTE)
        assert await jobs(w) == [name_of(15), name_of(20)]
        assert len((await w.client.get(CronJob, "tick")).status.active) == 2


@virtual
async def test_what_was_missed_while_it_was_suspended_is_made_up_for_once_if_that_is_still_wanted() -> None:
    async with world() as w:
        await w.client.create(cron_job(suspend=True))
        await w.passes(17 * MINUTE)
        assert await jobs(w) == []
        await w.patch(CronJob, "tick", {"spec": {"suspend": False, "startingDeadlineSeconds": 60}})
        await w.passes(10)
        assert await jobs(w) == []
        await w.patch(CronJob, "tick", {"spec": {"startingDeadlineSeconds": 180}})
        await w.passes(10)
        assert await jobs(w) == [name_of(15)]


@virtual
async def test_a_zone_of_its_own() -> None:
    async with world() as w:
        await w.client.create(cron_job("10 14 * * *", timeZone="Europe/Berlin"))
        await w.passes(11 * MINUTE)
        assert await jobs(w) == [name_of(10)]
        made = await w.client.get(Job, name_of(10))
        assert made.metadata.annotations[cronjob.SCHEDULED] == "2026-07-01T14:10:00+02:00"


@virtual
async def test_jobs_that_have_ended_go_when_their_time_is_over() -> None:
    made = World(job.app, ttl_after_finished.app)
    made.kubelet.outcome = lambda _: 0
    async with made as w:
        template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
        for name, seconds in (("soon", 60), ("later", 600), ("never", None)):
            spec: dict[str, Any] = {"template": template, "ttlSecondsAfterFinished": seconds}
            body = {"metadata": {"name": name, "namespace": "default"}, "spec": spec}
            await w.client.create(from_wire(Job, body))
        await w.passes(50)
        assert len(await w.client.list(Job)) == 3
        await w.passes(30)
        left = {each.metadata.name: each.metadata.deletion_timestamp for each in await w.client.list(Job)}
        assert {name for name, deleted in left.items() if deleted is None} == {"later", "never"}
        await w.patch(Job, "later", {"spec": {"ttlSecondsAfterFinished": 5}})
        await w.passes(1)
        left = {each.metadata.name: each.metadata.deletion_timestamp for each in await w.client.list(Job)}
        assert {name for name, deleted in left.items() if deleted is None} == {"never"}
