"""PodSecurity: the labels of a namespace say what Pods in it may do, and what is only told of."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver import causes, statuses
from trimtab.apiserver.causes import Cause, quoted
from trimtab.apiserver.objects import decode
from trimtab.apiserver.plugins.attempt import Attempt
from trimtab.apiserver.plugins.plugin import Plugin
from trimtab.apiserver.plugins.podchecks import LATEST, violations

Json: TypeAlias = dict[str, Any]

_PREFIX: Final = "pod-security.kubernetes.io/"
_LEVELS: Final = ("privileged", "baseline", "restricted")  # the stricter, the later
_VERSION: Final = re.compile(r"v1\.([0-9]|[1-9][0-9]*)")
_IGNORED: Final = frozenset({"exec", "attach", "binding", "eviction", "log", "portforward", "proxy", "status"})
_TEMPLATES: Final = {
    "podtemplates": ("template",),
    "cronjobs.batch": ("spec", "jobTemplate", "spec", "template"),
    **dict.fromkeys(
        (
            "replicationcontrollers", "replicasets.apps", "deployments.apps", "daemonsets.apps", "statefulsets.apps",
            "jobs.batch",
        ),
        ("spec", "template"),
    ),
}  # fmt: skip
_MOST_LOOKED_AT: Final = 3000


@dataclass(frozen=True, slots=True)
class Level:
    """A level in a version."""

    name: str = "privileged"
    version: str = "latest"

    @property
    def minor(self) -> int:
        """The minor version whose rules hold."""
        return LATEST if self.version == "latest" else min(int(self.version.removeprefix("v1.")), LATEST)

    def violations(self, metadata: Json, spec: Json) -> str:
        """What a Pod does that it may not, or ""."""
        return ", ".join(f"{why} ({where})" for why, where in violations(self.name, self.minor, metadata, spec))

    def reasons(self, metadata: Json, spec: Json) -> str:
        """The same, without where."""
        return ", ".join(why for why, _ in violations(self.name, self.minor, metadata, spec))

    def __str__(self) -> str:
        return f"{self.name}:{self.version}"


class PodSecurity(Plugin):
    """Holds Pods to the level that is enforced, and warns of the one that is to be warned of."""

    buckets = frozenset({"pods", "namespaces", *_TEMPLATES})

    def validate(self, attempt: Attempt) -> None:
        """Refuse, or warn."""
        if attempt.operation == "DELETE":
            return
        if attempt.bucket == "namespaces":
            if not attempt.subresource:
                self._check_namespace(attempt)
            return
        enforced, warned = self._levels(attempt.namespace)
        if attempt.bucket == "pods":
            if attempt.subresource not in _IGNORED and _matters(attempt):
                self._check(attempt, attempt.obj["metadata"], attempt.spec, enforced, warned)
        elif not attempt.subresource and warned.name != "privileged":
            template: Any = attempt.obj
            for name in _TEMPLATES[attempt.bucket]:
                template = template.get(name) or {}
            if template:
                self._check(attempt, template.get("metadata") or {}, template.get("spec") or {}, Level(), warned)

    def _levels(self, namespace: str) -> tuple[Level, Level]:
        record = self.store.get("namespaces", namespace)
        if record is None or _PREFIX.encode() not in record.data:
            return Level(), Level()
        return _read(decode(record.data)["metadata"].get("labels") or {})[:2]

    def _check(self, attempt: Attempt, metadata: Json, spec: Json, enforced: Level, warned: Level) -> None:
        if found := enforced.violations(metadata, spec):
            raise attempt.forbidden(f"violates PodSecurity {quoted(str(enforced))}: {found}")
        if found := warned.violations(metadata, spec):
            attempt.call.warnings.append(f"would violate PodSecurity {quoted(str(warned))}: {found}")

    def _check_namespace(self, attempt: Attempt) -> None:
        """The labels have to make sense; and who makes a namespace stricter is told what in it is not so strict."""
        enforced, _, found = _read(attempt.obj["metadata"].get("labels") or {})
        before, _, known = _read((attempt.old or {"metadata": {}})["metadata"].get("labels") or {})
        if found and found != known:
            raise statuses.invalid("Namespace", "", attempt.name, found)
        if attempt.operation != "UPDATE" or enforced == before or enforced.name == "privileged":
            return
        if enforced.version == before.version and _LEVELS.index(enforced.name) <= _LEVELS.index(before.name):
            return
        pods: dict[str, list[str]] = {}
        for _, record in zip(range(_MOST_LOOKED_AT), self.store.scan("pods", f"{attempt.name}/"), strict=False):
            pod = decode(record.data)
            if why := enforced.reasons(pod["metadata"], pod.get("spec") or {}):
                pods.setdefault(why, []).append(pod["metadata"]["name"])
        if pods:
            about = f"existing pods in namespace {quoted(attempt.name)} violate the new PodSecurity enforce level"
            attempt.call.warnings.append(f"{about} {quoted(str(enforced))}")
            attempt.call.warnings += sorted(f"{_others(names)}: {why}" for why, names in pods.items())


def _read(labels: dict[str, str]) -> tuple[Level, Level, list[Cause]]:
    """What is enforced, what is warned of, and what is wrong with the labels. Audits go nowhere."""
    found: list[Cause] = []
    levels: dict[str, str] = {}
    for mode in ("enforce", "audit", "warn"):
        name, version = (labels.get(f"{_PREFIX}{mode}{end}") for end in ("", "-version"))
        if name is not None:
            levels[mode] = name
            if name not in _LEVELS:
                field = f"metadata.labels[{_PREFIX}{mode}]"
                found.append(causes.invalid(field, name, f"must be one of {', '.join(_LEVELS)}"))
                levels[mode] = "restricted" if mode == "enforce" else "privileged"
        if version is not None:
            levels[f"{mode}-version"] = version
            if version != "latest" and not _VERSION.fullmatch(version):
                field = f"metadata.labels[{_PREFIX}{mode}-version]"
                found.append(causes.invalid(field, version, 'must be "latest" or "v1.x"'))
                levels[f"{mode}-version"] = "latest"
    enforced = Level(levels.get("enforce", "privileged"), levels.get("enforce-version", "latest"))
    warned = Level(levels.get("warn", "privileged"), levels.get("warn-version", "latest"))
    if "warn" not in levels and labels.get(f"{_PREFIX}enforce") in _LEVELS[1:]:
        warned = Level(enforced.name, levels.get("warn-version", enforced.version))
    return enforced, warned, found


def _matters(attempt: Attempt) -> bool:
    """Whether a write changes anything that is looked at: of a Pod that is there, the images and who debugs it."""
    if attempt.operation != "UPDATE" or attempt.old is None:
        return True
    now, was = (_images(cast("Json", each.get("spec") or {})) for each in (attempt.obj, attempt.old))
    return now != was


def _images(spec: Json) -> list[tuple[str, str, str]]:
    lists = ("initContainers", "containers", "ephemeralContainers")
    return [
        (part, each.get("name", ""), each.get("image", ""))
        for part in lists
        for each in cast("list[Json]", spec.get(part) or [])
    ]


def _others(names: list[str]) -> str:
    first, more = min(names), len(names) - 1
    return first + (f" (and {more} other pod{'' if more == 1 else 's'})" if more else "")
