"""What is wrong with budgets for disruptions, and with the conditions that statuses tell in the common form."""

from __future__ import annotations

import re
from typing import Any, Final, TypeAlias

from trimtab.apiserver import causes, names
from trimtab.apiserver.builtin import selectors, texts
from trimtab.apiserver.causes import Cause

Json: TypeAlias = dict[str, Any]

_REASON: Final = re.compile(r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?")
_COUNTS: Final = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")


def check_budget(obj: Json) -> list[Cause]:
    """What is wrong with a PodDisruptionBudget."""
    spec = texts.spec_of(obj)
    least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
    found: list[Cause] = []
    if least is not None and most is not None:
        found.append(causes.invalid("spec", _shown(spec), "minAvailable and maxUnavailable cannot be both set"))
    for name, value in (("minAvailable", least), ("maxUnavailable", most)):
        if value is not None:
            found += texts.count_or_percent(f"spec.{name}", value) + texts.not_over_all(f"spec.{name}", value)
    if spec.get("selector"):
        found += selectors.check_selector(spec["selector"], "spec.selector")
    return found + texts.one_of(spec, "spec", "unhealthyPodEvictionPolicy", ("AlwaysAllow", "IfHealthyBudget"))


def _shown(spec: Json) -> causes.Struct:
    selector = spec.get("selector")
    return causes.Struct(
        MinAvailable=spec.get("minAvailable"),
        Selector=None if selector is None else selectors.shown(selector),
        MaxUnavailable=spec.get("maxUnavailable"),
        UnhealthyPodEvictionPolicy=spec.get("unhealthyPodEvictionPolicy"),
    )


def check_budget_status(new: Json, _old: Json) -> list[Cause]:
    """What is wrong with the status of a PodDisruptionBudget."""
    status = texts.part(new, "status")
    return check_conditions(status, "status") + texts.not_negative(status, "status", *_COUNTS)


def check_conditions(status: Json, path: str) -> list[Cause]:
    """What is wrong with conditions."""
    found: list[Cause] = []
    taken: set[str] = set()
    for where, each in texts.numbered(status, path, "conditions"):
        kind = each.get("type", "")
        if kind in taken:
            found.append(causes.duplicate(f"{where}.type", kind))
        taken.add(kind)
        found += texts.follows(f"{where}.type", kind, names.qualified)
        found += texts.one_of_needed(f"{where}.status", each.get("status", ""), ("False", "True", "Unknown"))
        found += texts.not_negative(each, where, "observedGeneration")
        if not each.get("lastTransitionTime"):
            found.append(causes.required(f"{where}.lastTransitionTime"))
        reason = each.get("reason", "")
        if not reason:
            found.append(causes.required(f"{where}.reason"))
        elif not _REASON.fullmatch(reason):
            why = (
                "a condition reason must start with alphabetic character, optionally followed by a string of "
                "alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' (e.g. "
                "'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used "
                f"for validation is '{_REASON.pattern}')"
            )
            found.append(causes.invalid(f"{where}.reason", reason, why))
    return found
