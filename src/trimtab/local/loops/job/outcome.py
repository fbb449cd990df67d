"""How a Job stands, given its Pods: who is counted, whether it is done or failed, and how many Pods it wants now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from trimtab.controllers.replicaset.pods import is_active, is_terminating, ready_since
from trimtab.kube.batch.v1 import Job
from trimtab.kube.conditions import find_condition
from trimtab.local.loops.job.indexes import read_indexes
from trimtab.local.loops.job.policies import success_by_policy, verdict_on
from trimtab.local.loops.job.view import (
    FAILURES,
    JobPod,
    has_failed,
    has_succeeded,
    index_of,
    is_tracked,
    number_in,
)

COMPLETE: Final = "Complete"
FAILED: Final = "Failed"
MET: Final = "SuccessCriteriaMet"
TARGET: Final = "FailureTarget"
_UNLIMITED: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Ending:
    """Why a Job ends: the condition that it will have, and the words."""

    type: str
    reason: str
    message: str


DONE = Ending(COMPLETE, "CompletionsReached", "Reached expected number of succeeded pods")


@dataclass(slots=True)
class Outcome:
    """A Job with its Pods sorted out."""

    job: Job
    active: list[JobPod] = field(default_factory=list[JobPod])
    terminating: int = 0
    succeeded: int = 0
    """All that ended well, whether counted in the status yet or not."""
    failed: int = 0
    new_succeeded: list[JobPod] = field(default_factory=list[JobPod])
    """Those that ended well, and are in no count yet."""
    new_failed: list[JobPod] = field(default_factory=list[JobPod])
    completed: set[int] = field(default_factory=set[int])
    """Of an Indexed Job: which indexes are done."""
    failed_indexes: set[int] | None = None
    """Of one with a limit for each index: which of them are given up."""
    ending: Ending | None = None

    @property
    def ready(self) -> int:
        """How many of the active Pods are ready."""
        return sum(ready_since(pod) is not None for pod in self.active)

    @property
    def is_indexed(self) -> bool:
        """Whether each Pod works on an index."""
        return self.job.spec.completion_mode == "Indexed"


def waits_for_the_end(job: Job) -> bool:
    """Whether a Pod that is about to go counts only when it is gone: then it is also replaced only then."""
    return job.spec.pod_replacement_policy == "Failed"


def outcome_of(job: Job, pods: Sequence[JobPod], now: datetime) -> Outcome:
    """Sort the Pods out, and tell whether that is the end."""
    found = Outcome(job)
    uncounted = job.status.uncounted_terminated_pods
    before_succeeded = set(uncounted.succeeded) if uncounted else set[str]()
    before_failed = set(uncounted.failed) if uncounted else set[str]()
    completions = job.spec.completions or 0
    found.active = [pod for pod in pods if is_active(pod)]
    found.terminating = sum(map(is_terminating, pods))
    tracked = [pod for pod in pods if is_tracked(pod)]
    wait = waits_for_the_end(job)
    found.new_succeeded = [p for p in tracked if has_succeeded(p) and p.metadata.uid not in before_succeeded]
    failures = [p for p in tracked if has_failed(p, waits_for_the_end=wait)]
    found.new_failed = [p for p in failures if p.metadata.uid not in before_failed]
    verdicts = {pod.metadata.uid: verdict_on(job.spec, pod, job.metadata.namespace) for pod in failures}
    counted = [pod for pod in found.new_failed if verdicts[pod.metadata.uid].action != "Ignore"]
    found.failed = job.status.failed + len(before_failed) + len(counted)
    if found.is_indexed:
        ended_well = {index_of(pod) for pod in tracked if has_succeeded(pod)}
        valid = {index for index in ended_well if index is not None and index < completions}
        found.completed = read_indexes(job.status.completed_indexes, completions) | valid
        found.succeeded = len(found.completed)
        if job.spec.backoff_limit_per_index is not None:
            actions = {pod.metadata.uid: verdicts[pod.metadata.uid].action for pod in failures}
            over = [pod for pod in failures if _is_last_try(job, pod, actions[pod.metadata.uid])]
            given_up = {index for pod in over if (index := index_of(pod)) is not None and index < completions}
            before = read_indexes(job.status.failed_indexes, completions)
            found.failed_indexes = (before | given_up) - found.completed
    else:
        found.succeeded = job.status.succeeded + len(before_succeeded) + len(found.new_succeeded)
    messages = [verdict.message for verdict in verdicts.values() if verdict.action == "FailJob"]
    found.ending = _ending(found, pods, messages, now)
    return found


def _is_last_try(job: Job, pod: JobPod, action: str) -> bool:
    limit = job.spec.backoff_limit_per_index or 0
    return action == "FailIndex" or (action == "Count" and number_in(pod, FAILURES) >= limit)


def _ending(found: Outcome, pods: Sequence[JobPod], fail_job: Sequence[str], now: datetime) -> Ending | None:
    job = found.job
    if (met := find_condition(job.status.conditions, MET)) is not None and met.status == "True":
        return Ending(COMPLETE, met.reason or "", met.message or "")
    if (target := find_condition(job.status.conditions, TARGET)) is not None and target.status == "True":
        return Ending(FAILED, target.reason or "", target.message or "")
    if fail_job:
        return Ending(FAILED, "PodFailurePolicy", fail_job[0])
    if found.failed > _backoff_limit(job) or _restarted_too_often(job, pods):
        return Ending(FAILED, "BackoffLimitExceeded", "Job has reached the specified backoff limit")
    if deadline_in(job, now) == 0:
        return Ending(FAILED, "DeadlineExceeded", "Job was active longer than specified deadline")
    if found.failed_indexes is not None:
        most = job.spec.max_failed_indexes
        if most is not None and len(found.failed_indexes) > most:
            text = "Job has exceeded the specified maximal number of failed indexes"
            return Ending(FAILED, "MaxFailedIndexesExceeded", text)
        if found.failed_indexes and len(found.failed_indexes) + found.succeeded >= (job.spec.completions or 0):
            return Ending(FAILED, "FailedIndexes", "Job has failed indexes")
    if found.is_indexed and (why := success_by_policy(job.spec, found.completed)) is not None:
        return Ending(COMPLETE, "SuccessPolicy", why)
    return None


def is_complete(found: Outcome, active: int) -> bool:
    """Whether all that was wanted has succeeded, and nothing goes on."""
    completions = found.job.spec.completions
    return active == 0 and (found.succeeded > 0 if completions is None else found.succeeded >= completions)


def wanted_active(found: Outcome) -> int:
    """How many Pods are to be active now."""
    spec = found.job.spec
    parallelism = 1 if spec.parallelism is None else spec.parallelism
    if spec.completions is None:
        return len(found.active) if found.succeeded else parallelism
    left = spec.completions - found.succeeded - len(found.failed_indexes or ())
    return max(min(left, parallelism), 0)


def deadline_in(job: Job, now: datetime) -> float | None:
    """In how many seconds it will have been active for too long; None where it may be for ever."""
    seconds, start = job.spec.active_deadline_seconds, job.status.start_time
    if seconds is None or start is None or job.spec.suspend:
        return None
    return max((start + timedelta(seconds=seconds) - now).total_seconds(), 0.0)


def _backoff_limit(job: Job) -> int:
    if job.spec.backoff_limit is not None:
        return job.spec.backoff_limit
    return _UNLIMITED if job.spec.backoff_limit_per_index is not None else 6


def _restarted_too_often(job: Job, pods: Sequence[JobPod]) -> bool:
    """Whether containers that are started anew in their Pods failed too often."""
    if job.spec.template.spec.restart_policy != "OnFailure":
        return False
    restarts = sum(
        each.restart_count
        for pod in pods
        if pod.status.phase in ("Running", "Pending")
        for each in (*pod.status.container_statuses, *pod.status.init_container_statuses)
    )
    limit = _backoff_limit(job)
    return restarts >= limit if limit else restarts > 0
