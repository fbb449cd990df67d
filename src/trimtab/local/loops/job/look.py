"""One look at a Job: the Pods that it wants, and who of those that ended is counted.

No Pod is counted twice, and none is missed, whatever is interrupted: each carries a finalizer. First the uids of those
that ended are written into the status; then the finalizers are taken off; then who has none any more becomes part of
the numbers, and its uid goes.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final

from trimtab.client import NotFound, StrategicMergePatch
from trimtab.controller import Context, Options
from trimtab.controllers.replicaset import create_one, delete_one
from trimtab.controllers.replicaset.choosing import choose
from trimtab.controllers.replicaset.making import Templated, dice
from trimtab.controllers.replicaset.slow_start import at_once, slow_start
from trimtab.kube.batch.v1 import Job, JobCondition
from trimtab.kube.conditions import find_condition
from trimtab.kube.core.v1 import Pod
from trimtab.local.loops.job import outcome as of
from trimtab.local.loops.job.indexes import write_indexes
from trimtab.local.loops.job.making import pod_of
from trimtab.local.loops.job.outcome import COMPLETE, DONE, FAILED, MET, TARGET, waits_for_the_end
from trimtab.local.loops.job.policies import verdict_on
from trimtab.local.loops.job.view import (
    FAILURES,
    IGNORED,
    TRACKING,
    JobPod,
    ended_at,
    has_failed,
    index_of,
    is_tracked,
    number_in,
)

MOST: Final = 500
"""Pods that are made, deleted or counted in one look."""
FIRST_PAUSE: Final = 10.0
LONGEST_PAUSE: Final = 600.0


def pause_after(failures: int) -> float:
    """Seconds between the last of so many failures in a row and the next Pod."""
    return min(FIRST_PAUSE * 2 ** min(failures - 1, 10), LONGEST_PAUSE) if failures else 0.0


class Pauses:
    """How often the Pods of each Job failed in a row, and when the last did."""

    def __init__(self, _: Options) -> None:
        self._of: dict[str, tuple[int, datetime]] = {}

    def note(self, key: str, ended: Sequence[tuple[datetime, bool]]) -> None:
        """Some ended, well or not."""
        for at, well in sorted(ended):
            failures, _ = self._of.get(key, (0, at))
            self._of[key] = (0 if well else failures + 1, at)

    def left(self, key: str, now: datetime) -> float:
        """In how many seconds the next Pod may be made."""
        failures, last = self._of.get(key, (0, now))
        return max((last + timedelta(seconds=pause_after(failures)) - now).total_seconds(), 0.0)

    def forget(self, key: str) -> None:
        """The Job is gone, or done."""
        self._of.pop(key, None)


class Look:
    """A Job with its Pods, as the cache has them; what is written shows there at once."""

    def __init__(self, job: Job, ctx: Context) -> None:
        self.job = job
        self.ctx = ctx
        self.now = ctx.now()
        self.wait: float | None = None
        """In how many seconds to look again though nothing changes."""
        self._conditions = list(job.status.conditions)
        self._start = job.status.start_time
        uncounted = job.status.uncounted_terminated_pods
        self._succeeded, self._failed = job.status.succeeded, job.status.failed
        self._new_succeeded = list(uncounted.succeeded) if uncounted else []
        self._new_failed = list(uncounted.failed) if uncounted else []
        if self._start is None and not job.spec.suspend:
            self._start = self.now.replace(microsecond=0)
        self.found = of.outcome_of(job, self.pods(), self.now)

    def pods(self) -> list[JobPod]:
        """The Pods that it controls."""
        return self.ctx.list(Pod, namespace=self.ctx.namespace, owner=self.job, view=JobPod)

    async def work(self) -> Exception | None:
        """Make and delete Pods, and tell what came of it. The first failure, if any."""
        found, error = self.found, None
        ended = [(ended_at(pod, self.now), True) for pod in found.new_succeeded]
        ended += [(ended_at(pod, self.now), False) for pod in found.new_failed]
        self.ctx.once(Pauses).note(self.ctx.key, ended)
        if found.ending is not None:
            error = await self._end(found.ending)
            found = self.found
        else:
            if self.job.metadata.deletion_timestamp is None:
                error = await self._manage()
            active = sum(pod.metadata.deletion_timestamp is None for pod in self._now_active())
            if of.is_complete(found, active):
                found.ending = DONE
            elif self.job.metadata.deletion_timestamp is None:
                self._note_suspension()
        if (left := of.deadline_in(self.job, self.now)) is not None and found.ending is None:
            self._look_again(left)
        await self._count()
        return error

    async def _end(self, ending: of.Ending) -> Exception | None:
        """Delete those that still work: where the Job has failed, so have they. The first failure, if any."""
        active = self.found.active[:MOST]
        if ending.type == COMPLETE:
            return await at_once(active, self._drop)
        error = await at_once(active, partial(delete_one, self.ctx, self.job))
        self.found = of.outcome_of(self.job, self.pods(), self.now)
        self.found.ending = ending
        return error

    def _now_active(self) -> list[JobPod]:
        return of.outcome_of(self.job, self.pods(), self.now).active

    def _look_again(self, seconds: float) -> None:
        if seconds > 0:
            self.wait = seconds if self.wait is None else min(self.wait, seconds)

    # As many Pods as are wanted

    async def _manage(self) -> Exception | None:
        found = self.found
        wanted = 0 if self.job.spec.suspend else of.wanted_active(found)
        surplus = self._surplus(len(found.active) - wanted)
        if surplus:
            return await at_once(surplus[:MOST], self._drop)
        if self.job.spec.suspend:
            return None
        going = found.terminating if waits_for_the_end(self.job) else 0
        missing = wanted - len(found.active) - going
        if missing <= 0:
            return None
        if (left := self.ctx.once(Pauses).left(self.ctx.key, self.now)) > 0 and not self._paused_by_index:
            self._look_again(left)
            return None
        template, suffix = self.ctx.get(Job, self.ctx.name, view=Templated).spec.template, self.ctx.once(dice)
        indexes: list[int | None] = [None] * missing
        if found.is_indexed:
            indexes = [*self._pending(missing)]
        made = [
            pod_of(self.job, template, suffix(), index, self._failures_of(index) if index is not None else None)
            for index in indexes[:MOST]
        ]
        return await slow_start(made, partial(create_one, self.ctx, self.job))

    def _surplus(self, count: int) -> list[JobPod]:
        """Whom to let go: in an Indexed Job first those whose index is not wanted, or wanted once only."""
        active, surplus = self.found.active, list[JobPod]()
        if self.found.is_indexed:
            taken: set[int | None] = {None, *self.found.completed}
            for pod in sorted(active, key=lambda pod: pod.metadata.creation_timestamp or self.now):
                index = index_of(pod)
                if index in taken or (index or 0) >= (self.job.spec.completions or 0):
                    surplus.append(pod)
                taken.add(index)
        if count <= len(surplus):
            return surplus
        left = [pod for pod in active if pod not in surplus]
        chosen = choose(left, count - len(surplus), now=self.now)
        return surplus + [pod for pod in left if pod in chosen]

    def _pending(self, count: int) -> list[int]:
        """The first indexes that nobody works on or has to."""
        found = self.found
        taken = {index_of(pod) for pod in found.active} | found.completed | (found.failed_indexes or set())
        if waits_for_the_end(self.job):
            taken |= {index_of(pod) for pod in self.pods() if pod.metadata.deletion_timestamp is not None}
        pending = [index for index in range(self.job.spec.completions or 0) if index not in taken]
        if not self._paused_by_index:
            return pending[:count]
        ready: list[int] = []
        for index in pending:
            last = self._last_try(index)
            pause = 0.0 if last is None else pause_after(sum(self._failures_of(index) or ()))
            left = 0.0 if last is None else (ended_at(last, self.now) - self.now).total_seconds() + pause
            if left > 0:
                self._look_again(left)
            else:
                ready.append(index)
        return ready[:count]

    @property
    def _paused_by_index(self) -> bool:
        return self.job.spec.backoff_limit_per_index is not None

    def _last_try(self, index: int) -> JobPod | None:
        """The Pod that says how often an index failed: it is kept until there is another one."""
        wait = waits_for_the_end(self.job)
        tries = [
            pod
            for pod in self.pods()
            if index_of(pod) == index and is_tracked(pod) and has_failed(pod, waits_for_the_end=wait)
        ]
        return max(tries, key=lambda pod: number_in(pod, FAILURES) + number_in(pod, IGNORED), default=None)

    def _failures_of(self, index: int) -> tuple[int, int] | None:
        if not self._paused_by_index:
            return None
        last = self._last_try(index)
        if last is None:
            return 0, 0
        is_ignored = verdict_on(self.job.spec, last, self.ctx.namespace).action == "Ignore"
        return number_in(last, FAILURES) + (not is_ignored), number_in(last, IGNORED) + is_ignored

    async def _drop(self, pod: JobPod) -> None:
        """Delete a Pod without counting it."""
        await self._take_finalizer_off(pod)
        await delete_one(self.ctx, self.job, pod)

    # Who is counted

    async def _count(self) -> None:
        found = self.found
        held = self._held()
        is_counted = {pod.metadata.uid for pod in found.new_failed} - held
        ignored = {
            pod.metadata.uid
            for pod in found.new_failed
            if verdict_on(self.job.spec, pod, self.ctx.namespace).action == "Ignore"
        }
        self._fold()
        if not found.is_indexed:
            self._new_succeeded += [pod.metadata.uid for pod in found.new_succeeded][:MOST]
        self._new_failed += sorted(is_counted - ignored)[:MOST]
        await self._tell()
        waiting = {*self._new_succeeded, *self._new_failed, *ignored} - held
        if found.is_indexed:
            waiting |= {pod.metadata.uid for pod in found.new_succeeded}
        ended = [pod for pod in self.pods() if pod.metadata.uid in waiting and is_tracked(pod)]
        if (error := await at_once(ended[:MOST], self._take_finalizer_off)) is not None:
            raise error
        self._fold()
        self._finish()
        await self._tell()

    def _held(self) -> set[str]:
        """The uids of those that say how often their index failed, while no other Pod of that index does."""
        found = self.found
        if not self._paused_by_index or found.ending is not None:
            return set()
        busy = {index_of(pod) for pod in self._now_active()} | found.completed | (found.failed_indexes or set())
        indexes = {index_of(pod) for pod in found.new_failed} - busy
        tries = [self._last_try(index) for index in indexes if index is not None]
        return {pod.metadata.uid for pod in tries if pod is not None}

    def _fold(self) -> None:
        """Who carries the finalizer no more becomes part of the numbers."""
        tracked = {pod.metadata.uid for pod in self.pods() if is_tracked(pod)}
        still = [uid for uid in self._new_succeeded if uid in tracked]
        self._succeeded += len(self._new_succeeded) - len(still)
        self._new_succeeded = still
        still = [uid for uid in self._new_failed if uid in tracked]
        self._failed += len(self._new_failed) - len(still)
        self._new_failed = still

    async def _take_finalizer_off(self, pod: JobPod) -> None:
        meta = {"uid": pod.metadata.uid, "$deleteFromPrimitiveList/finalizers": [TRACKING]}
        try:
            await self.ctx.patch(Pod, pod.metadata.name, StrategicMergePatch({"metadata": meta}))
        except NotFound:
            return

    # What is told

    def _note_suspension(self) -> None:
        before = find_condition(self._conditions, "Suspended")
        if self.job.spec.suspend:
            if before is None or before.status != "True":
                self._put("Suspended", "True", "JobSuspended", "Job suspended")
                self.ctx.event("Normal", "Suspended", "Job suspended")
                self._start = None
        elif before is not None and before.status == "True":
            self._put("Suspended", "False", "JobResumed", "Job resumed")
            self.ctx.event("Normal", "Resumed", "Job resumed")
            self._start = self.now.replace(microsecond=0)

    def _finish(self) -> None:
        """Its last conditions: what it comes to as soon as that is sure, that it is so when all Pods are gone."""
        ending = self.found.ending
        if ending is None:
            return
        before = MET if ending.type == COMPLETE else TARGET
        self._put(before, "True", ending.reason, ending.message)
        left = of.outcome_of(self.job, self.pods(), self.now)
        is_counted = not (self._new_succeeded or self._new_failed or left.new_succeeded or left.new_failed)
        if not is_counted or left.active or left.terminating:
            return
        self._put(ending.type, "True", ending.reason, ending.message)
        self.ctx.once(Pauses).forget(self.ctx.key)
        if ending.type == COMPLETE:
            self.ctx.event("Normal", "Completed", "Job completed")
        else:
            self.ctx.event("Warning", ending.reason, ending.message)

    def _put(self, type_: str, status: str, reason: str, message: str) -> None:
        before = find_condition(self._conditions, type_)
        if before is not None and before.status == status:
            return
        at = self.now.replace(microsecond=0)
        made = JobCondition(
            type=type_, status=status, reason=reason, message=message, last_probe_time=at, last_transition_time=at
        )
        self._conditions = [each for each in self._conditions if each.type != type_] + [made]

    async def _tell(self) -> None:
        found, left = self.found, of.outcome_of(self.job, self.pods(), self.now)
        is_done = any(each.type == COMPLETE and each.status == "True" for each in self._conditions)
        uncounted = {"succeeded": self._new_succeeded, "failed": self._new_failed}
        status: dict[str, Any] = {
            "active": len(left.active) or None,
            "ready": left.ready,
            "terminating": left.terminating,
            "succeeded": (len(found.completed) if found.is_indexed else self._succeeded) or None,
            "failed": self._failed or None,
            "start_time": self._start,
            "completion_time": self.now.replace(microsecond=0) if is_done else None,
            "uncounted_terminated_pods": {name: uids for name, uids in uncounted.items() if uids},
            "conditions": self._conditions or None,
        }
        if found.is_indexed:
            status["completed_indexes"] = write_indexes(found.completed) or None
        if found.failed_indexes is not None:
            status["failed_indexes"] = write_indexes(found.failed_indexes)
        await self.ctx.patch_status(**status)


def is_finished(job: Job) -> bool:
    """Whether it has ended."""
    return any(each.type in (COMPLETE, FAILED) and each.status == "True" for each in job.status.conditions)
