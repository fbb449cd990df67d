"""Eviction: a Pod goes, if those who look after it can do without it.

A budget that allows it is told, before the Pod goes, that one fewer may go from now on; its controller counts anew
when it sees the Pod gone.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver import causes, options, statuses
from trimtab.apiserver.access.rbac import selector_of
from trimtab.apiserver.calls import Call
from trimtab.apiserver.catalogue import Catalogue, Kind
from trimtab.apiserver.causes import Cause
from trimtab.apiserver.messages import User
from trimtab.apiserver.objects import decode
from trimtab.apiserver.options import DeleteOptions, WriteOptions
from trimtab.apiserver.routing import Target
from trimtab.apiserver.statuses import Refused
from trimtab.apiserver.storage import Store
from trimtab.apiserver.subresources.conditions import set_condition
from trimtab.apiserver.surroundings import Surroundings
from trimtab.apiserver.writing import Writer

Json: TypeAlias = dict[str, Any]

_BUDGETS: Final = "poddisruptionbudgets.policy"
_MOST_DISRUPTED: Final = 2000
_MOST_TRIES: Final = 20
_ITSELF: Final = User("system:apiserver", ("system:masters", "system:authenticated"))
_VIOLATES: Final = "Cannot evict pod as it would violate the pod's disruption budget."
TWO_BUDGETS: Final = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."


class Evictions:
    """Evicts Pods."""

    def __init__(self, store: Store, catalogue: Catalogue, writer: Writer, around: Surroundings) -> None:
        self._store = store
        self._writer = writer
        self._around = around
        kind = catalogue.find("policy", "v1", "poddisruptionbudgets")
        assert kind is not None
        self._budgets: Kind = kind

    async def evict(self, call: Call, eviction: Json) -> None:
        """Evict the Pod of a call."""
        if eviction["metadata"].get("name", "") != call.target.name:
            raise statuses.bad_request("name in URL does not match name in Eviction object")
        wanted = options.delete_options({}, cast("Json", eviction.get("deleteOptions") or {}))
        wanted = replace(wanted, dry_run=wanted.dry_run or call.options.dry_run)
        await self._writer.ask(call, "CREATE", eviction)
        for _ in range(_MOST_TRIES):
            try:
                await self._evict(call, wanted)
            except Refused as refused:
                if refused.reason != "Conflict" or wanted.resource_version is not None or wanted.uid is not None:
                    raise
            else:
                return
        raise Refused("Timeout", "couldn't update the Pod due to conflicts", retry_after=10)

    async def _evict(self, call: Call, wanted: DeleteOptions) -> None:
        target = call.target
        record = self._store.get("pods", target.key)
        if record is None:
            raise statuses.not_found("pods", "", target.name)
        pod = decode(record.data)
        if not _goes_anyway(pod):
            budgets = self._budgets_of(pod, target.namespace)
            if len(budgets) > 1:
                raise statuses.unknown(TWO_BUDGETS)
            if budgets and not _is_free(pod, budgets[0]):
                await self._take_one(call, budgets[0], wanted)
        await self._delete(call, wanted)

    async def _delete(self, call: Call, wanted: DeleteOptions) -> None:
        if not wanted.dry_run:

            def mark(pod: Json) -> Json:
                self._writer.check_preconditions(call, pod, wanted)
                set_condition(
                    pod,
                    "DisruptionTarget",
                    self._around.stamp(),
                    "EvictionByEvictionAPI",
                    "Eviction API: evicting",
                )
                return pod

            marked = self._writer.amend(call, mark)
            if wanted.resource_version is not None:
                wanted = replace(wanted, resource_version=marked["metadata"]["resourceVersion"])
        await self._writer.delete(call, wanted, asking=False)

    def _budgets_of(self, pod: Json, namespace: str) -> list[Json]:
        found: list[Json] = []
        labels = cast("dict[str, str]", pod["metadata"].get("labels") or {})
        for record in self._store.scan(_BUDGETS, f"{namespace}/"):
            budget = decode(record.data)
            selector = cast("Json", budget.get("spec") or {}).get("selector")
            if selector is not None and selector_of(selector).matches(labels):
                found.append(budget)
        return found

    async def _take_one(self, call: Call, budget: Json, wanted: DeleteOptions) -> None:
        """Have the budget allow one fewer."""
        name = budget["metadata"]["name"]
        target = Target(self._budgets, "update", call.target.namespace, name, self._budgets.subresources["status"])
        own = Call(target, _ITSELF, WriteOptions(dry_run=wanted.dry_run), "kube-apiserver")

        def take(there: Json | None) -> Json:
            assert there is not None
            check_budget(there)
            status = cast("Json", there["status"])
            status["disruptionsAllowed"] -= 1
            if not status["disruptionsAllowed"]:
                _say_exhausted(status, self._around.stamp())
            status["disruptedPods"] = {**(status.get("disruptedPods") or {}), call.target.name: self._around.stamp()}
            return there

        await self._writer.change(own, take)


def check_budget(budget: Json) -> None:
    """Refuse where a budget allows nothing to go now."""
    name, status = budget["metadata"]["name"], cast("Json", budget.get("status") or {})
    allowed = status.get("disruptionsAllowed", 0)
    if status.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
        why = f"The disruption budget {name} is still being processed by the server."
        raise _too_many(why, retry_after=10)
    refusing = f"The disruption budget {name} does not allow evicting pods currently"
    if allowed < 0:
        why = "pdb disruptions allowed is negative"
        raise statuses.forbidden("poddisruptionbudget", "policy", name, why, [_cause(f"{refusing}: {why}")])
    if len(cast("Json", status.get("disruptedPods") or {})) > _MOST_DISRUPTED:
        why = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        told = f"{refusing}: too many pending evictions not confirmed by PDB controller"
        raise statuses.forbidden("poddisruptionbudget", "policy", name, why, [_cause(told)])
    if not allowed:
        raise _too_many(_why_not(name, status, refusing))


def _why_not(name: str, status: Json, refusing: str) -> str:
    conditions = cast("list[Json]", status.get("conditions") or [])
    condition = next((each for each in conditions if each.get("type") == "DisruptionAllowed"), cast("Json", {}))
    reason, said = condition.get("reason", ""), condition.get("message", "")
    told = condition.get("status") == "False" and said
    wanted, there = status.get("desiredHealthy", 0), status.get("currentHealthy", 0)
    if told and reason == "SyncFailed":
        return f"{refusing} because it failed sync: {said}"
    if there <= wanted:
        return f"The disruption budget {name} needs {wanted} healthy pods and has {there} currently"
    return f"{refusing} ({reason}): {said}" if told else refusing


def _too_many(why: str, retry_after: int = 0) -> Refused:
    return Refused("TooManyRequests", _VIOLATES, causes=[_cause(why)], retry_after=retry_after)


def _cause(why: str) -> Cause:
    return causes.Cause("DisruptionBudget", why)


def _goes_anyway(pod: Json) -> bool:
    """Whether nobody counts on it: it has ended, has not begun, or is about to go."""
    phase = cast("Json", pod.get("status") or {}).get("phase")
    return phase in ("Succeeded", "Failed", "Pending") or bool(pod["metadata"].get("deletionTimestamp"))


def _is_free(pod: Json, budget: Json) -> bool:
    """Whether a Pod that is not ready may go without being counted."""
    conditions = cast("list[Json]", cast("Json", pod.get("status") or {}).get("conditions") or [])
    if any((each.get("type"), each.get("status")) == ("Ready", "True") for each in conditions):
        return False
    if cast("Json", budget.get("spec") or {}).get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = cast("Json", budget.get("status") or {})
    return status.get("currentHealthy", 0) >= status.get("desiredHealthy", 0) > 0


def _say_exhausted(status: Json, stamp: str) -> None:
    made: Json = {"type": "DisruptionAllowed", "status": "False", "lastTransitionTime": stamp}
    made |= {"reason": "InsufficientPods", "message": ""}
    if generation := status.get("observedGeneration"):
        made["observedGeneration"] = generation
    there = cast("list[Json]", status.get("conditions") or [])
    for condition in there:
        if condition.get("type") == made["type"]:
            if condition.get("status") == "False":
                del made["lastTransitionTime"]
            condition.update(made)
            return
    status["conditions"] = [*there, made]
