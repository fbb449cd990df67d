"""What some kinds do otherwise than all when they are written: each has a class, found by `strategy_for`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Final, TypeAlias, cast

from trimtab.apiserver import causes
from trimtab.apiserver.access.checks import check_binding, check_binding_change, check_role, fill_binding
from trimtab.apiserver.admission import hookchecks, policychecks
from trimtab.apiserver.admission.matching import EXEMPT
from trimtab.apiserver.builtin import certificates, data, jobs, podparts, pods, scheduling, upkeep
from trimtab.apiserver.catalogue import Kind
from trimtab.apiserver.causes import Cause
from trimtab.apiserver.custom import conditions
from trimtab.apiserver.custom.definitions import check_definition, check_definition_update
from trimtab.apiserver.messages import User
from trimtab.apiserver.strategy import ASIDE, Strategy

Json: TypeAlias = dict[str, Any]

_TEMPLATE_GENERATION: Final = "deprecated.daemonset.template.generation"
CLUSTER_NAMESPACES: Final = ("default", "kube-node-lease", "kube-public", "kube-system")
"""Those that are always there."""


class _Jobs(Strategy):
    deletion_warning = (
        "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or "
        "set propagationPolicy=Orphan to suppress this warning"
    )

    def prepare_create(self, obj: Json) -> None:
        super().prepare_create(obj)
        jobs.prepare_job(obj)


class _Autoscalers(Strategy):
    def fill(self, obj: Json) -> None:
        conversion = self._kind.conversion
        if conversion is not None:  # what it becomes on the way is as if its writer had written it
            made = conversion.read(conversion.write(obj))
            obj.clear()
            obj.update(made)


class _DaemonSets(Strategy):
    def fill(self, obj: Json) -> None:
        made = obj["metadata"]
        made["annotations"] = {_TEMPLATE_GENERATION: "0", **(made.get("annotations") or {})}

    def prepare_create(self, obj: Json) -> None:
        super().prepare_create(obj)
        made = obj["metadata"]
        made["annotations"] = {**(made.get("annotations") or {}), _TEMPLATE_GENERATION: "1"}

    def prepare_update(self, new: Json, old: Json) -> None:
        super().prepare_update(new, old)
        made = new["metadata"]
        was = cast("dict[str, str]", old["metadata"].get("annotations") or {}).get(_TEMPLATE_GENERATION, "0")
        if cast("Json", new.get("spec") or {}).get("template") != cast("Json", old.get("spec") or {}).get("template"):
            was = str(int(was) + 1)
        made["annotations"] = {**(made.get("annotations") or {}), _TEMPLATE_GENERATION: was}


class _Admitting(Strategy):
    """What has a say in others' writes: webhooks, policies, bindings."""

    _checks: ClassVar[dict[str, Callable[[Json, Json | None], list[Cause]]]] = {
        "ValidatingWebhookConfiguration": hookchecks.check_hooks,
        "MutatingWebhookConfiguration": hookchecks.check_hooks,
        "ValidatingAdmissionPolicy": policychecks.check_policy,
        "ValidatingAdmissionPolicyBinding": policychecks.check_policy_binding,
        "MutatingAdmissionPolicy": policychecks.check_mutating_policy,
        "MutatingAdmissionPolicyBinding": policychecks.check_mutating_binding,
    }

    def check_create(self, obj: Json) -> list[Cause]:
        return self._checks[self._kind.kind](obj, None)

    def check_update(self, new: Json, old: Json) -> list[Cause]:
        return self._checks[self._kind.kind](new, old)


class _Roles(Strategy):
    def __init__(self, kind: Kind, stamp: Callable[[], str]) -> None:
        super().__init__(kind, stamp)
        self._namespaced = kind.namespaced

    def check_create(self, obj: Json) -> list[Cause]:
        return check_role(obj, namespaced=self._namespaced)

    def check_update(self, new: Json, old: Json) -> list[Cause]:  # noqa: ARG002 - for bindings
        return self.check_create(new)


class _Bindings(_Roles):
    def prepare_create(self, obj: Json) -> None:
        super().prepare_create(obj)
        fill_binding(obj)

    def prepare_update(self, new: Json, old: Json) -> None:
        super().prepare_update(new, old)
        fill_binding(new)

    def check_create(self, obj: Json) -> list[Cause]:
        return check_binding(obj, namespaced=self._namespaced)

    def check_update(self, new: Json, old: Json) -> list[Cause]:
        return self.check_create(new) + check_binding_change(new, old)


class _Secrets(Strategy):
    def fill(self, obj: Json) -> None:
        obj.setdefault("type", "Opaque")
        data.take_texts(obj)


class _Services(Strategy):
    allots = True

    def prepare_create(self, obj: Json) -> None:
        super().prepare_create(obj)
        upkeep.prepare_service(obj, None)

    def prepare_update(self, new: Json, old: Json) -> None:
        super().prepare_update(new, old)
        upkeep.prepare_service(new, old)


class _Namespaces(Strategy):
    def prepare_create(self, obj: Json) -> None:
        super().prepare_create(obj)
        metadata, spec = obj["metadata"], cast("Json", obj.get("spec") or {})
        metadata.pop("namespace", None)
        given = cast("list[str]", spec.get("finalizers") or [])
        obj["spec"] = {**spec, "finalizers": given if "kubernetes" in given else [*given, "kubernetes"]}
        self.fill(obj)  # again, for the name may be a new one

    def prepare_update(self, new: Json, old: Json) -> None:
        super().prepare_update(new, old)
        new["spec"] = old.get("spec", {})

    def prepare_part(self, part: str, new: Json, old: Json) -> None:
        spec = new.get("spec", {})
        super().prepare_part(part, new, old)
        if part == "finalize":
            new["spec"], new["status"] = spec, old.get("status", {})

    def check_part(self, part: str, new: Json, old: Json) -> list[Cause]:  # noqa: ARG002 - for Pods
        going, phase = new["metadata"].get("deletionTimestamp"), cast("Json", new.get("status") or {}).get("phase", "")
        wanted, is_so = ("Terminating", "not empty") if going else ("Active", "empty")
        if part != "status" or phase == wanted:
            return []
        why = f"may only be '{wanted}' if `deletionTimestamp` is {is_so}"
        return [causes.invalid("status.Phase", phase, why)]

    def fill(self, obj: Json) -> None:
        metadata = obj["metadata"]
        if metadata.get("name"):
            metadata["labels"] = {**(metadata.get("labels") or {}), "kubernetes.io/metadata.name": metadata["name"]}


class _Pods(Strategy):
    _default_grace: ClassVar[int] = 30

    def prepare_create(self, obj: Json) -> None:
        super().prepare_create(obj)
        spec = cast("Json", obj.get("spec") or {})
        obj["status"]["qosClass"] = pods.quality_of_service(spec)
        if spec.get("schedulingGates"):
            obj["status"]["conditions"] = [pods.gated(self._stamp())]

    def prepare_part(self, part: str, new: Json, old: Json) -> None:
        if part not in _POD_PARTS:
            return super().prepare_part(part, new, old)
        _POD_PARTS[part][0](new, old)
        if self._differs(new, old):
            new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1
        return None

    def check_part(self, part: str, new: Json, old: Json) -> list[Cause]:
        if part not in _POD_PARTS:
            return super().check_part(part, new, old)
        return _POD_PARTS[part][1](new, old)

    def prepare_status(self, new: Json, old: Json) -> None:
        super().prepare_status(new, old)
        status, was = (cast("Json", each.get("status") or {}) for each in (new, old))
        if was.get("qosClass") and not status.get("qosClass"):
            new["status"] = {**status, "qosClass": was["qosClass"]}

    def grace(self, obj: Json, asked: int | None) -> int | None:
        spec = cast("Json", obj.get("spec") or {})
        seconds = spec.get("terminationGracePeriodSeconds", self._default_grace) if asked is None else asked
        status = cast("Json", obj.get("status") or {})
        done = status.get("phase") in ("Failed", "Succeeded")
        return 0 if not spec.get("nodeName") or done else max(seconds, 1 if asked is None and seconds < 0 else 0)


class _PersistentVolumes(Strategy):
    def prepare_create(self, obj: Json) -> None:
        super().prepare_create(obj)
        obj["status"]["lastPhaseTransitionTime"] = self._stamp()

    def prepare_status(self, new: Json, old: Json) -> None:
        super().prepare_status(new, old)
        now, was = (cast("Json", each.get("status") or {}) for each in (new, old))
        told = now.get("lastPhaseTransitionTime")
        if now.get("phase") != was.get("phase") and (not told or told == was.get("lastPhaseTransitionTime")):
            new["status"]["lastPhaseTransitionTime"] = self._stamp()


class _Drivers(Strategy):
    """Their generation is counted from the first change on."""

    def prepare_update(self, new: Json, old: Json) -> None:
        super().prepare_update(new, old)
        if self._differs(new, old):
            new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1


class _Nodes(Strategy):
    """What makes a Node says at once how it is."""

    def prepare_create(self, obj: Json) -> None:
        status = obj.get("status")
        super().prepare_create(obj)
        obj["status"] = status or obj.get("status", {})


class _Requests(Strategy):
    """What is asked for, and who asks, stays."""

    def note_writer(self, obj: Json, user: User) -> None:
        spec = obj["spec"] = cast("Json", obj.get("spec") or {})
        for name in ("username", "uid", "groups", "extra"):
            spec.pop(name, None)
        extra = {key: list(values) for key, values in user.extra.items()}
        told = {"username": user.name, "uid": user.uid, "groups": list(user.groups), "extra": extra}
        spec |= {name: value for name, value in told.items() if value}

    def prepare_create(self, obj: Json) -> None:
        super().prepare_create(obj)
        obj["status"] = {}

    def prepare_update(self, new: Json, old: Json) -> None:
        super().prepare_update(new, old)
        new["spec"] = old.get("spec", {})

    def prepare_status(self, new: Json, old: Json) -> None:
        super().prepare_status(new, old)
        certificates.fill_conditions(new, old, self._stamp())


class _Slices(Strategy):
    """A taint of a device tells since when it is there."""

    def fill(self, obj: Json) -> None:
        for device in cast("list[Json]", cast("Json", obj.get("spec") or {}).get("devices") or []):
            for taint in cast("list[Json]", device.get("taints") or []):
                taint.setdefault("timeAdded", self._stamp())


class _Leases(Strategy):
    def prepare_create(self, obj: Json) -> None:
        super().prepare_create(obj)
        scheduling.prepare_lease(obj)

    def prepare_update(self, new: Json, old: Json) -> None:
        super().prepare_update(new, old)
        scheduling.prepare_lease(new)


class _PriorityClasses(Strategy):
    """Their generation is the first for ever."""

    def _differs(self, new: Json, old: Json) -> bool:  # noqa: ARG002
        return False


_POD_PARTS: Final = {
    "ephemeralcontainers": (podparts.prepare_debugging, podparts.check_debugging),
    "resize": (podparts.prepare_resize, podparts.check_resize),
}
_CLASSES: Final[dict[str, type[Strategy]]] = {
    "secrets": _Secrets,
    "namespaces": _Namespaces,
    "pods": _Pods,
    "persistentvolumes": _PersistentVolumes,
    "nodes": _Nodes,
    "csidrivers.storage.k8s.io": _Drivers,
    "certificatesigningrequests.certificates.k8s.io": _Requests,
    "services": _Services,
    "resourceslices.resource.k8s.io": _Slices,
    "jobs.batch": _Jobs,
    "daemonsets.apps": _DaemonSets,
    "leases.coordination.k8s.io": _Leases,
    "horizontalpodautoscalers.autoscaling": _Autoscalers,
    "priorityclasses.scheduling.k8s.io": _PriorityClasses,
    **dict.fromkeys(EXEMPT, _Admitting),
    "roles.rbac.authorization.k8s.io": _Roles,
    "clusterroles.rbac.authorization.k8s.io": _Roles,
    "rolebindings.rbac.authorization.k8s.io": _Bindings,
    "clusterrolebindings.rbac.authorization.k8s.io": _Bindings,
}


class _Definitions(Strategy):
    def _keep_metadata(self, new: Json, old: Json) -> None:
        pass

    def doomed(self, old: Json, now: str) -> Json | None:
        return conditions.doomed(old, now)

    def fill(self, obj: Json) -> None:
        conditions.default_definition(obj)

    def prepare_create(self, obj: Json) -> None:
        super().prepare_create(obj)
        conditions.prepare_create(obj)

    def prepare_update(self, new: Json, old: Json) -> None:
        super().prepare_update(new, old)
        conditions.prepare_update(new, old)

    def check_create(self, obj: Json) -> list[Cause]:
        return check_definition(obj)

    def check_update(self, new: Json, old: Json) -> list[Cause]:
        return check_definition_update(new, old)


class _Custom(Strategy):
    """What all custom resources do."""

    def __init__(self, kind: Kind, stamp: Callable[[], str]) -> None:
        super().__init__(kind, stamp)
        assert kind.custom is not None
        self._version = kind.custom

    def prepare_create(self, obj: Json) -> None:
        if self.has_status:
            obj.pop("status", None)
        obj["metadata"]["generation"] = 1

    def prepare_update(self, new: Json, old: Json) -> None:
        if self.has_status and "status" not in old:
            new.pop("status", None)
        super().prepare_update(new, old)

    def check_create(self, obj: Json) -> list[Cause]:
        return self._version.validate(obj)

    def check_update(self, new: Json, old: Json) -> list[Cause]:
        return self._version.validate(new, old)

    def check_status(self, new: Json, old: Json) -> list[Cause]:
        return self._version.validate_status(new, old)

    def _keep_metadata(self, new: Json, old: Json) -> None:
        kept = {**old, "managedFields": new.get("managedFields"), "resourceVersion": new.get("resourceVersion")}
        new.clear()
        new.update({name: value for name, value in kept.items() if value is not None})

    def _differs(self, new: Json, old: Json) -> bool:
        aside = ASIDE if self.has_status else ASIDE - {"status"}
        return {k: v for k, v in new.items() if k not in aside} != {k: v for k, v in old.items() if k not in aside}


def strategy_for(kind: Kind, stamp: Callable[[], str]) -> Strategy:
    """How this kind behaves; `stamp` says what time it is."""
    if kind.custom is not None:
        return _Custom(kind, stamp)
    if kind.bucket == "customresourcedefinitions.apiextensions.k8s.io":
        return _Definitions(kind, stamp)
    return _CLASSES.get(kind.bucket, Strategy)(kind, stamp)
