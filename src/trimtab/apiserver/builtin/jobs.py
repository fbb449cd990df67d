"""Jobs and CronJobs: what is wrong with them, what of them cannot change, and the labels that a Job's Pods get."""

from __future__ import annotations

import zoneinfo
from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver import causes, names
from trimtab.apiserver.builtin import held, selectors, texts
from trimtab.apiserver.builtin.jobpolicies import check_policy
from trimtab.apiserver.builtin.pods import check_template
from trimtab.apiserver.causes import Cause

Json: TypeAlias = dict[str, Any]

_PREFIX: Final = "batch.kubernetes.io/"
_UID: Final = "controller-uid"
_NAME: Final = "job-name"
_IMMUTABLE: Final = (
    "completions", "selector", "template", "completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy",
    "successPolicy",
)  # fmt: skip
_NO_MATCH: Final = "`selector` does not match template `labels`"
_COUNTS: Final = (
    "parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished",
    "backoffLimitPerIndex",
)  # fmt: skip
_LONGEST_CRON_JOB: Final = 52


def _spec(obj: Json) -> Json:
    return cast("Json", obj.get("spec") or {})


def prepare_job(obj: Json) -> None:
    """Give a new Job the labels by which its Pods are known."""
    spec, metadata = _spec(obj), obj["metadata"]
    if not spec or spec.get("manualSelector"):
        return
    template = cast("Json", spec.get("template") or {})
    made = cast("Json", template.get("metadata") or {})
    uid, name = metadata["uid"], metadata.get("name", "")
    labels = {_UID: uid, _NAME: name, _PREFIX + _UID: uid, _PREFIX + _NAME: name}
    there = cast("Json", made.get("labels") or {})
    template = {**template, "metadata": {**made, "labels": {**there, **labels}}}
    selector = cast("Json", spec.get("selector") or {})
    wanted = {**cast("Json", selector.get("matchLabels") or {}), _PREFIX + _UID: uid}
    obj["spec"] = {**spec, "template": template, "selector": {**selector, "matchLabels": wanted}}
    if not metadata.get("labels") or metadata["labels"] is there:
        metadata["labels"] = dict(template["metadata"]["labels"])


def check_job(obj: Json) -> list[Cause]:
    """What is wrong with a Job."""
    spec = _spec(obj)
    selector = cast("Json | None", spec.get("selector"))
    if spec.get("manualSelector") or selector is None:
        return _check_whole(spec)
    return _check_generated(selector, obj["metadata"].get("uid", "")) + _check_whole(spec)


def _check_whole(spec: Json) -> list[Cause]:
    found = check_job_spec(spec, "spec")
    selector, template = cast("Json | None", spec.get("selector")), cast("Json", spec.get("template") or {})
    labels = cast("Json", template.get("metadata") or {}).get("labels")
    if selector is None:
        found.append(causes.required("spec.selector"))
    else:
        found += selectors.check_selector(selector, "spec.selector")
    if selector is None or (not found_in(found) and not selectors.selects(selector, labels or {})):
        found.append(causes.invalid("spec.template.metadata.labels", labels, _NO_MATCH))
    return found


def found_in(found: list[Cause]) -> bool:
    """Whether what was found says that the selector itself makes no sense."""
    return any(each.field.startswith("spec.selector.") for each in found)


def _check_generated(selector: Json, uid: str) -> list[Cause]:
    if selector.get("matchLabels") == {_PREFIX + _UID: uid} and not selector.get("matchExpressions"):
        return []
    return [causes.invalid("spec.selector", selectors.shown(selector), "`selector` not auto-generated")]


def check_job_spec(spec: Json, path: str) -> list[Cause]:
    """What is wrong with a Job but for its selector."""
    found = texts.not_negative(spec, path, *_COUNTS)
    mode = spec.get("completionMode")
    found += texts.one_of(spec, path, "completionMode", ("NonIndexed", "Indexed"))
    found += texts.one_of(spec, path, "podReplacementPolicy", ("Failed", "TerminatingOrFailed"))
    if mode == "Indexed" and spec.get("completions") is None:
        found.append(causes.required(f"{path}.completions", "when completion mode is Indexed"))
    if mode != "Indexed":
        found += [
            causes.invalid(f"{path}.{name}", spec[name], "requires indexed completion mode")
            for name in ("backoffLimitPerIndex", "maxFailedIndexes")
            if spec.get(name) is not None
        ]
    if manager := spec.get("managedBy"):
        prefix, _, rest = manager.partition("/")
        if not rest or names.subdomain(prefix):
            why = 'must be a domain-prefixed path (such as "acme.io/foo")'
            found.append(causes.invalid(f"{path}.managedBy", manager, why))
    template = cast("Json", spec.get("template") or {})
    if spec.get("podFailurePolicy") is not None:
        found += check_policy(spec, f"{path}.podFailurePolicy")
    found += check_template(template, f"{path}.template")
    policy = cast("Json", template.get("spec") or {}).get("restartPolicy", "")
    if policy in ("", "Always"):
        why = 'valid values: "OnFailure", "Never"'
        found.append(causes.required(f"{path}.template.spec.restartPolicy", why))
    elif policy not in ("OnFailure", "Never"):
        found.append(causes.unsupported(f"{path}.template.spec.restartPolicy", policy, ("OnFailure", "Never")))
    return found


def check_job_change(new: Json, old: Json) -> list[Cause]:
    """What of a Job cannot change."""
    spec, was = _spec(new), _spec(old)
    found = _check_whole(spec)  # Kubernetes looks twice, and says so twice
    for name in _IMMUTABLE:
        value = spec.get(name)
        if value == was.get(name) or (name == "completions" and spec.get("completionMode") == "Indexed"):
            continue
        if name == "selector" and value:
            value = selectors.shown(value)
        elif name == "template":
            if was.get("suspend"):
                continue
            value = held.held("PodTemplateSpec", value or {})
        found.append(causes.invalid(f"spec.{name}", value, texts.IMMUTABLE))
    return found


def check_job_status(new: Json, old: Json) -> list[Cause]:
    """What is wrong with a Job's status."""
    status, was = (cast("Json", each.get("status") or {}) for each in (new, old))
    found = texts.not_negative(status, "status", "active", "succeeded", "failed", "ready", "terminating")
    for name in ("failed", "succeeded"):
        if (count := status.get(name, 0)) < was.get(name, 0):
            found.append(causes.invalid(f"status.{name}", count, f"cannot decrease the {name} counter"))
    return found


# CronJobs


def check_cron_job(obj: Json) -> list[Cause]:
    """What is wrong with a CronJob."""
    spec = _spec(obj)
    found: list[Cause] = []
    name = obj["metadata"].get("name", "")
    if len(name) > _LONGEST_CRON_JOB:
        found.append(causes.invalid("metadata.name", name, names.longer_than(_LONGEST_CRON_JOB, "characters")))
    schedule = spec.get("schedule", "")
    found += _check_schedule(schedule) if schedule else [causes.required("spec.schedule")]
    found += texts.not_negative(
        spec, "spec", "startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit"
    )
    found += _check_zone(spec.get("timeZone"))
    found += texts.one_of(spec, "spec", "concurrencyPolicy", ("Allow", "Forbid", "Replace"))
    jobs = cast("Json", cast("Json", spec.get("jobTemplate") or {}).get("spec") or {})
    where = "spec.jobTemplate.spec"
    if jobs.get("selector") is not None:
        shown = selectors.shown(jobs["selector"])
        found.append(causes.invalid(f"{where}.selector", shown, "`selector` will be auto-generated"))
    if jobs.get("manualSelector"):
        said = 'Unsupported value: true: supported values: "nil", "false"'
        found.append(Cause("FieldValueNotSupported", said, f"{where}.manualSelector"))
    return found + check_job_spec(jobs, where)


def _check_zone(zone: str | None) -> list[Cause]:
    if zone is None:
        return []
    if not zone:
        return [causes.invalid("spec.timeZone", zone, "timeZone must be nil or non-empty string")]
    if zone.lower() == "local":
        return [
            causes.invalid(
                "spec.timeZone",
                zone,
                "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones",
            )
        ]
    try:
        zoneinfo.ZoneInfo(zone)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return [causes.invalid("spec.timeZone", zone, f"unknown time zone {zone}")]
    return []


# minutes, hours, days, months, weekdays: their bounds and the names that stand for numbers
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FIELDS: Final[tuple[tuple[int, int, dict[str, int]], ...]] = (
    (0, 59, {}),
    (0, 23, {}),
    (1, 31, {}),
    (1, 12, {name: number + 1 for number, name in enumerate(_MONTHS)}),
    (0, 6, {name: number for number, name in enumerate(_DAYS)}),
)
_DESCRIPTORS: Final = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")


def _check_schedule(schedule: str) -> list[Cause]:
    if "TZ" in schedule:
        why = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        return [causes.invalid("spec.schedule", schedule, why)]
    why = _schedule_fault(schedule)
    return [causes.invalid("spec.schedule", schedule, why)] if why else []


def _schedule_fault(schedule: str) -> str:
    if schedule.startswith("@"):
        if schedule in _DESCRIPTORS or schedule.startswith("@every "):
            return ""
        return f"unrecognized descriptor: {schedule}"
    fields = schedule.split()
    if len(fields) != len(_FIELDS):
        return f"expected exactly {len(_FIELDS)} fields, found {len(fields)}: [{' '.join(fields)}]"
    for field, (low, high, known) in zip(fields, _FIELDS, strict=True):
        for part in field.split(","):
            if why := _range_fault(part, low, high, known):
                return why
    return ""


def _range_fault(text: str, low: int, high: int, known: dict[str, int]) -> str:
    bounds, slash, step = text.partition("/")
    first, dash, last = bounds.partition("-")
    if "-" in last:
        return f"too many hyphens: {text}"
    if first in ("*", "?"):
        start, end = low, high
    else:
        read = [_number(each, known) for each in ((first, last) if dash else (first,))]
        for each in read:
            if isinstance(each, str):
                return each
        start, end = (int(each) for each in (read[0], read[-1]))
        if slash and not dash:
            end = high
    if slash:
        if "/" in step:
            return f"too many slashes: {text}"
        every = _number(step, {})
        if isinstance(every, str):
            return every
        if every == 0:
            return f"step of range should be a positive number: {text}"
    if start < low:
        return f"beginning of range ({start}) below minimum ({low}): {text}"
    if end > high:
        return f"end of range ({end}) above maximum ({high}): {text}"
    return f"beginning of range ({start}) beyond end of range ({end}): {text}" if start > end else ""


def _number(text: str, known: dict[str, int]) -> int | str:
    if text.lower() in known:
        return known[text.lower()]
    if not text.isascii() or not text.lstrip("+-").isdigit():
        return f"failed to parse int from {text}: strconv.Atoi: parsing {causes.quoted(text)}: invalid syntax"
    number = int(text)
    return number if number >= 0 else f"negative number ({number}) not allowed: {text}"
