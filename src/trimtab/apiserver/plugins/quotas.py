"""ResourceQuota: a namespace has so much of each, and no more.

What is allowed stands in the status of a quota, where a controller puts it; there too what is used. A write that uses
more is counted here, at once, so that two who come at the same time cannot both have the last; what goes, the
controller counts.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver.calls import Call
from trimtab.apiserver.managed import fields_after
from trimtab.apiserver.messages import User
from trimtab.apiserver.objects import decode, encode
from trimtab.apiserver.plugins.attempt import Attempt
from trimtab.apiserver.plugins.limits import Amounts
from trimtab.apiserver.plugins.plugin import Means, Plugin
from trimtab.apiserver.plugins.usage import amounts_of, in_scope, is_about, usage_of
from trimtab.apiserver.routing import Target
from trimtab.apiserver.storage import Record
from trimtab.kube.quantity import Quantity

Json: TypeAlias = dict[str, Any]

_QUOTAS: Final = "resourcequotas"
_EXPLICIT: Final = frozenset(
    {"cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"}
)  # a container has to say what it wants of these, where a quota counts them
_ITSELF: Final = User("system:apiserver", ("system:masters",))


class ResourceQuota(Plugin):
    """It is asked last, when nobody else objects: what it counts is counted."""

    buckets = frozenset()

    def __init__(self, means: Means) -> None:
        super().__init__(means)
        self._around = means.around
        self._kind = means.catalogue.find("", "v1", _QUOTAS)

    def count(self, attempt: Attempt) -> None:
        """Count what is about to be written, or refuse it."""
        if not attempt.namespace or not _is_counted(attempt):
            return
        quotas = [(record, decode(record.data)) for record in self.store.scan(_QUOTAS, f"{attempt.namespace}/")]
        concerned = [(record, quota) for record, quota in quotas if _concerns(quota, attempt)]
        if not concerned:
            return
        delta = usage_of(attempt.bucket, attempt.obj)
        if attempt.operation == "UPDATE" and attempt.old is not None:
            before = usage_of(attempt.bucket, attempt.old)
            delta = {name: each - before[name] if name in before else each for name, each in delta.items()}
        delta = {name: each for name, each in delta.items() if each > 0}
        counted = [(record, quota, _counted(quota, delta, attempt)) for record, quota in concerned]
        for record, quota, used in counted:
            if used and not attempt.call.options.dry_run:
                self._write(record, quota, used)

    def _write(self, record: Record, quota: Json, used: Amounts) -> None:
        assert self._kind is not None
        metadata, status = quota["metadata"], cast("Json", quota["status"])
        shown = {name: str(each) for name, each in used.items()}
        made: Json = {**quota, "metadata": {**metadata}, "status": {**status, "used": {**status["used"], **shown}}}
        target = Target(
            self._kind, "update", metadata["namespace"], metadata["name"], self._kind.subresources["status"]
        )
        call = Call(target, _ITSELF, manager="kube-apiserver")
        made["metadata"]["managedFields"] = fields_after(call, quota, made, self._around.now())
        data = encode(self._kind, made, self.store.revision + 1)
        self.store.commit(_QUOTAS, record.key, data, expected=record.revision)


def _is_counted(attempt: Attempt) -> bool:
    """Whether a write can use more than was used before."""
    bucket, sub = attempt.bucket, attempt.subresource
    if attempt.operation == "CREATE":
        return not sub
    if attempt.operation != "UPDATE":
        return False
    if bucket == "pods":
        return sub == "resize" or (not sub and _ends(attempt.obj) != _ends(attempt.old or {}))
    return not sub and bucket in ("services", "persistentvolumeclaims")


def _ends(pod: Json) -> bool:
    return cast("Json", pod.get("spec") or {}).get("activeDeadlineSeconds") is not None


def _concerns(quota: Json, attempt: Attempt) -> bool:
    """Whether a quota counts such an object; refused where it does not know how much there is."""
    hard, used = (cast("Json", cast("Json", quota.get("status") or {}).get(name) or {}) for name in ("hard", "used"))
    matching = [name for name in hard if is_about(name, attempt.bucket)]
    if not matching or not in_scope(quota, attempt.bucket, attempt.obj):
        return False
    name = quota["metadata"]["name"]
    if attempt.bucket == "pods" and (missing := _unsaid(attempt.spec, _EXPLICIT.intersection(matching))):
        raise attempt.forbidden(f"failed quota: {name}: must specify {missing}")
    if unknown := sorted(each for each in matching if each not in used):
        raise attempt.forbidden(f"status unknown for quota: {name}, resources: {','.join(unknown)}")
    return True


def _unsaid(spec: Json, wanted: frozenset[str]) -> str:
    """What containers do not say that they have to."""
    if spec.get("resources"):
        return ""
    missing: dict[str, list[str]] = {}
    for field in ("containers", "initContainers"):
        for container in cast("list[Json]", spec.get(field) or []):
            said = set(amounts_of(container.get("resources") or {}))
            for name in wanted - said:
                missing.setdefault(name, []).append(container.get("name", ""))
    return "; ".join(f"{name} for: {','.join(sorted(missing[name]))}" for name in sorted(missing))


def _counted(quota: Json, delta: Amounts, attempt: Attempt) -> Amounts:
    """What is used of a quota afterwards; refused where that is too much."""
    status = cast("Json", quota["status"])
    hard, used = ({name: Quantity(each) for name, each in status[part].items()} for part in ("hard", "used"))
    asked = {name: each for name, each in delta.items() if name in hard}
    after = {name: used[name] + each if name in used else each for name, each in asked.items()}
    exceeded = sorted(name for name, each in after.items() if each > hard[name])
    if exceeded:
        parts = (",".join(f"{name}={some[name]}" for name in exceeded if name in some) for some in (asked, used, hard))
        requested, there, limited = parts
        raise attempt.forbidden(
            f"exceeded quota: {quota['metadata']['name']}, requested: {requested}, used: {there}, limited: {limited}"
        )
    return after
