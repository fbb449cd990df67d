"""What a Job says of failures and of success: pure decisions about Pods that ended."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from trimtab.kube.batch.v1 import JobSpec, PodFailurePolicyRule
from trimtab.kube.conditions import find_condition
from trimtab.local.loops.job.indexes import read_indexes
from trimtab.local.loops.job.view import JobPod

Action = Literal["Count", "Ignore", "FailIndex", "FailJob"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a failure means, and why."""

    action: Action
    message: str = ""


COUNTS = Verdict("Count")


def verdict_on(spec: JobSpec, pod: JobPod, namespace: str) -> Verdict:
    """What the failure of a Pod means: the first rule that matches says so."""
    rules = spec.pod_failure_policy.rules if spec.pod_failure_policy is not None else []
    for at, rule in enumerate(rules):
        why = _why_it_matches(rule, pod, namespace)
        if why is None:
            continue
        match rule.action:
            case "Ignore":
                return Verdict("Ignore")
            case "FailIndex":
                return Verdict("FailIndex" if spec.backoff_limit_per_index is not None else "Count")
            case "FailJob":
                return Verdict("FailJob", f"{why} matching FailJob rule at index {at}")
            case _:
                return COUNTS
    return COUNTS


def _why_it_matches(rule: PodFailurePolicyRule, pod: JobPod, namespace: str) -> str | None:
    name = pod.metadata.name
    if rule.on_exit_codes is not None:
        wanted = rule.on_exit_codes
        for each in (*pod.status.container_statuses, *pod.status.init_container_statuses):
            ended = each.state.terminated
            if ended is None or not ended.exit_code or wanted.container_name not in (None, "", each.name):
                continue
            if (ended.exit_code in wanted.values) == (wanted.operator == "In"):
                return f"Container {each.name} for pod {namespace}/{name} failed with exit code {ended.exit_code}"
        return None
    for pattern in rule.on_pod_conditions:
        found = find_condition(pod.status.conditions, pattern.type)
        if found is not None and found.status == (pattern.status or "True"):
            return f"Pod {namespace}/{name} has condition {found.type}"
    return None


def success_by_policy(spec: JobSpec, succeeded: Collection[int]) -> str | None:
    """Why these indexes are success enough; None where they are not."""
    completions = spec.completions or 0
    for at, rule in enumerate(spec.success_policy.rules if spec.success_policy is not None else []):
        counted = set(succeeded)
        if rule.succeeded_indexes is not None:
            wanted = read_indexes(rule.succeeded_indexes, completions)
            counted &= wanted
            is_met = len(counted) >= (rule.succeeded_count if rule.succeeded_count is not None else len(wanted))
        else:
            is_met = rule.succeeded_count is not None and len(counted) >= rule.succeeded_count
        if is_met:
            return f"Matched rules at index {at}"
    return None
