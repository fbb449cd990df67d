"""Binding: a Pod gets its node, once."""

from __future__ import annotations

from typing import Any, TypeAlias, cast

from trimtab.apiserver import causes, names, statuses
from trimtab.apiserver.calls import Call
from trimtab.apiserver.causes import Cause
from trimtab.apiserver.subresources.conditions import set_condition
from trimtab.apiserver.writing import Writer, check_uid

Json: TypeAlias = dict[str, Any]


async def bind(writer: Writer, call: Call, binding: Json, stamp: str) -> None:
    """Put the Pod of the call on the node that a Binding names, with its labels and annotations."""
    metadata = binding["metadata"]
    if metadata.get("name", "") != call.target.name:
        raise statuses.bad_request("name in URL does not match name in Binding object")
    target = cast("Json", binding.get("target") or {})
    if found := _check(target):
        faults = list(map(str, found))
        # Kubernetes answers 500 here, as if it were its own fault
        raise statuses.bad_request(faults[0] if len(faults) == 1 else f"[{', '.join(faults)}]")
    await writer.ask(call, "CREATE", binding)

    def place(pod: Json) -> Json:
        check_uid(call, binding, pod)
        made = pod["metadata"]
        if version := metadata.get("resourceVersion"):
            _check_version(call, version, made["resourceVersion"])
        spec = cast("Json", pod.setdefault("spec", {}))
        if why := _unfit(made, spec):
            raise statuses.conflict("pods/binding", "", call.target.name, f"pod {call.target.name} {why}")
        spec["nodeName"] = target["name"]
        for name in ("annotations", "labels"):
            if metadata.get(name):
                made[name] = {**(made.get(name) or {}), **metadata[name]}
        cast("Json", pod.setdefault("status", {})).pop("nominatedNodeName", None)
        set_condition(pod, "PodScheduled", stamp)
        return pod

    writer.amend(call, place)


def _check(target: Json) -> list[Cause]:
    kind, name = target.get("kind", ""), target.get("name", "")
    found: list[Cause] = []
    if kind not in ("", "Node"):
        found.append(causes.unsupported("target.kind", kind, ("Node", "<empty>")))
    if not name:
        found.append(causes.required("target.name"))
    elif kind in ("", "Node"):
        found += [causes.invalid("target.name", name, why) for why in names.subdomain(name)]
    return found


def _unfit(made: Json, spec: Json) -> str:
    """Why a Pod cannot be bound, or ""."""
    if made.get("deletionTimestamp"):
        return "is being deleted, cannot be assigned to a host"
    if spec.get("nodeName"):
        return f"is already assigned to node {causes.quoted(spec['nodeName'])}"
    return "has non-empty .spec.schedulingGates" if spec.get("schedulingGates") else ""


def _check_version(call: Call, wanted: str, there: str) -> None:
    if wanted != there:
        why = f"Precondition failed: ResourceVersion in precondition: {wanted}, ResourceVersion in object meta: {there}"
        key = f"/registry/pods/{call.target.key}"
        said = f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: {why}"
        raise statuses.conflict("pods", "", call.target.name, said)
