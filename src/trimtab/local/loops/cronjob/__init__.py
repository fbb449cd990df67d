"""CronJobs: a Job at each time of a schedule, and a history of those that have ended.

`schedule.py` reads schedules and says which time has come.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar
from zoneinfo import ZoneInfo

from msgspec import UNSET, field

from trimtab.client import AlreadyExists, ApiError
from trimtab.controller import App, Context, Requeue, requeue
from trimtab.kube.base import Struct
from trimtab.kube.batch.v1 import CronJob, Job
from trimtab.kube.conditions import find_condition
from trimtab.kube.core.v1 import ObjectReference
from trimtab.kube.kinds import Resource
from trimtab.kube.meta.v1 import ObjectMeta
from trimtab.kube.objects import Object
from trimtab.kube.owners import owner_reference
from trimtab.kube.timestamps import format_time
from trimtab.local.loops.cronjob.schedule import BadSchedule, Schedule, due, parse_schedule

app = App("cronjob-controller")

SCHEDULED = "batch.kubernetes.io/cronjob-scheduled-timestamp"
_GATHER = 0.02
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_GRACE = 0.1  # seconds after a time: clocks are not that exact


class _JobTemplate(Struct):
    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: Any = UNSET


class _Spec(Struct):
    job_template: _JobTemplate = field(default_factory=_JobTemplate)


class _Templated(Struct):
    spec: _Spec = field(default_factory=_Spec)


class NewJob(Object):
    """A Job whose spec is as it stands in the template: newer fields are not lost."""

    resource: ClassVar[Resource] = Job.resource
    spec: Any = UNSET


@app.controller(CronJob, name="cronjob-controller", owns=[Job], workers=5, gather=_GATHER)
async def cron_job(obj: CronJob, ctx: Context) -> Requeue | None:
    """Start a Job if its time has come, and look again when the next one comes."""
    jobs = ctx.list(Job, namespace=ctx.namespace, owner=obj)
    active = settle_active(obj, ctx, jobs)
    last_success = max(
        (each.status.completion_time for each in jobs if ending_of(each) == "Complete" and each.status.completion_time),
        default=None,
    )
    if obj.status.last_successful_time is not None:
        last_success = max(last_success or _EPOCH, obj.status.last_successful_time)
    await forget_old(obj, ctx, jobs)
    last, wait = obj.status.last_schedule_time, None
    if obj.metadata.deletion_timestamp is None and not obj.spec.suspend:
        schedule = schedule_of(obj, ctx)
        if schedule is not None:
            active, last = await start(obj, ctx, schedule, active)
            wait = seconds_to_next(schedule, ctx.now())
    await ctx.patch_status(active=active or None, last_schedule_time=last, last_successful_time=last_success)
    return None if wait is None else requeue(after=wait)


def settle_active(obj: CronJob, ctx: Context, jobs: Sequence[Job]) -> list[ObjectReference]:
    """Those of its Jobs that go on; what became of the others is told."""
    by_uid = {each.metadata.uid: each for each in jobs}
    kept: list[ObjectReference] = []
    for reference in obj.status.active:
        job = by_uid.get(reference.uid or "")
        if job is None:
            ctx.event("Normal", "MissingJob", f"Active job went missing: {reference.name}")
        elif ending := ending_of(job):
            ctx.event("Normal", "SawCompletedJob", f"Saw completed job: {reference.name}, condition: {ending}")
        else:
            kept.append(reference)
    known = {each.uid for each in obj.status.active}
    for job in jobs:
        if job.metadata.uid not in known and not ending_of(job):
            text = f"Saw a job that the controller did not create or forgot: {job.metadata.name}"
            ctx.event("Warning", "UnexpectedJob", text)
    return kept


def ending_of(job: Job) -> str:
    """How a Job has ended; empty where it goes on."""
    for type_ in ("Complete", "Failed"):
        found = find_condition(job.status.conditions, type_)
        if found is not None and found.status == "True":
            return type_
    return ""


async def forget_old(obj: CronJob, ctx: Context, jobs: Sequence[Job]) -> None:
    """Delete the oldest of the Jobs that have ended, beyond how many are to be kept."""
    limits = ("Complete", obj.spec.successful_jobs_history_limit, 3), ("Failed", obj.spec.failed_jobs_history_limit, 1)
    for ending, limit, usual in limits:
        ended = [each for each in jobs if ending_of(each) == ending and each.metadata.deletion_timestamp is None]
        ended.sort(key=lambda each: (each.status.start_time or _EPOCH, each.metadata.name))
        for job in ended[: max(len(ended) - (usual if limit is None else limit), 0)]:
            await delete(ctx, job.metadata.name, job.metadata.uid)


async def delete(ctx: Context, name: str, uid: str) -> None:
    """Delete a Job with its Pods."""
    try:
        await ctx.delete(Job, name, uid=uid, propagation="Background")
    except ApiError as error:
        ctx.event("Warning", "FailedDelete", f"Deleted job: {error.message}", action="Delete")
        raise
    ctx.event("Normal", "SuccessfulDelete", f"Deleted job {name}", action="Delete")


def schedule_of(obj: CronJob, ctx: Context) -> Schedule | None:
    """Its schedule; None where that makes no sense, which is told."""
    try:
        return parse_schedule(obj.spec.schedule, obj.spec.time_zone)
    except BadSchedule as error:
        reason = "UnknownTimeZone" if "time zone" in str(error) else "UnparseableSchedule"
        ctx.event("Warning", reason, str(error))
        return None


def seconds_to_next(schedule: Schedule, now: datetime) -> float | None:
    """In how many seconds the next time comes."""
    following = schedule.after(now)
    return None if following is None else (following - now).total_seconds() + _GRACE


async def start(
    obj: CronJob, ctx: Context, schedule: Schedule, active: list[ObjectReference]
) -> tuple[list[ObjectReference], datetime | None]:
    """Start the Job whose time has come, if that is so; those that go on then, and the time of the last."""
    now, last = ctx.now(), obj.status.last_schedule_time
    earliest = last or obj.metadata.creation_timestamp or now
    found = due(schedule, earliest, now, obj.spec.starting_deadline_seconds)
    if found.too_many:
        text = f"too many missed start times: {found.too_many}."
        hint = "Set or decrease .spec.startingDeadlineSeconds or check clock skew"
        ctx.event("Warning", "TooManyMissedTimes", f"{text} {hint}")
    at = found.at
    if at is None or at == last:
        return active, last
    name = f"{obj.metadata.name}-{int(at.timestamp()) // 60}"
    if any(each.name == name for each in active):
        return active, at
    if obj.spec.concurrency_policy == "Forbid" and active:
        text = "Not starting job because prior execution is running and concurrency policy is Forbid"
        ctx.event("Normal", "JobAlreadyActive", text)
        return active, last
    if obj.spec.concurrency_policy == "Replace":
        for each in active:
            await delete(ctx, each.name or "", each.uid or "")
        active = []
    job = await create(obj, ctx, name, at)
    if job is None:
        return active, at
    reference = ObjectReference(
        api_version=Job.resource.api_version,
        kind=Job.resource.kind,
        namespace=ctx.namespace,
        name=name,
        uid=job.uid,
        resource_version=job.resource_version,
    )
    return [*active, reference], at


async def create(obj: CronJob, ctx: Context, name: str, at: datetime) -> ObjectMeta | None:
    """Make the Job of a time; None where it was made before, and has ended."""
    template = ctx.get(CronJob, ctx.name, view=_Templated).spec.job_template
    zone = ZoneInfo(obj.spec.time_zone) if obj.spec.time_zone else None
    meta = ObjectMeta(
        name=name,
        namespace=ctx.namespace,
        labels=template.metadata.labels,
        annotations={**template.metadata.annotations, SCHEDULED: _written(at, zone)},
        owner_references=[owner_reference(obj)],
    )
    try:
        made = await ctx.create(NewJob(metadata=meta, spec=template.spec))
    except AlreadyExists:  # by a look whose answer, or whose status, was lost
        there = await ctx.client.get(Job, name, namespace=ctx.namespace)
        owners = {each.uid for each in there.metadata.owner_references}
        if obj.metadata.uid not in owners:
            raise
        return None if ending_of(there) else there.metadata
    except ApiError as error:
        if not error.has_cause("NamespaceTerminating"):
            ctx.event("Warning", "FailedCreate", f"Error creating job: {error.message}", action="Create")
        raise
    ctx.event("Normal", "SuccessfulCreate", f"Created job {name}", action="Create")
    return made.metadata


def _written(at: datetime, zone: ZoneInfo | None) -> str:
    return format_time(at) if zone is None else at.astimezone(zone).isoformat()
