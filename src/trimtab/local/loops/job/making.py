"""The Pods of a Job: each is kept until it is counted, and knows its index where there are such."""

from __future__ import annotations

from typing import Any, Final

from trimtab.controllers.replicaset.making import NewPod, TemplateView
from trimtab.kube.batch.v1 import Job
from trimtab.kube.meta.v1 import ObjectMeta
from trimtab.kube.owners import owner_reference
from trimtab.local.loops.job.view import FAILURES, IGNORED, INDEX, TRACKING

_VARIABLE: Final = "JOB_COMPLETION_INDEX"
_LONGEST: Final = 58


def pod_of(
    job: Job, template: TemplateView, suffix: str, index: int | None, failures: tuple[int, int] | None
) -> NewPod:
    """A Pod; `failures` are how often its index failed so far, and how often that was ignored, if that matters."""
    prefix = f"{job.metadata.name}-" if index is None else f"{job.metadata.name}-{index}-"
    meta = ObjectMeta(
        name=prefix[:_LONGEST] + suffix,
        namespace=job.metadata.namespace,
        generate_name=prefix,
        labels=dict(template.metadata.labels),
        annotations=dict(template.metadata.annotations),
        finalizers=[*template.metadata.finalizers, TRACKING],
        owner_references=[owner_reference(job)],
    )
    if index is None:
        return NewPod(metadata=meta, spec=template.spec)
    meta.labels[INDEX] = meta.annotations[INDEX] = str(index)
    if failures is not None:
        meta.annotations[FAILURES] = str(failures[0])
        if failures[1]:
            meta.annotations[IGNORED] = str(failures[1])
    return NewPod(metadata=meta, spec=_with_index(template.spec, f"{job.metadata.name}-{index}"))


def _with_index(spec: dict[str, Any], hostname: str) -> dict[str, Any]:
    path = f"metadata.labels['{INDEX}']"
    variable = {"name": _VARIABLE, "valueFrom": {"fieldRef": {"fieldPath": path}}}
    made = {**spec, "hostname": spec.get("hostname") or hostname}
    for name in ("containers", "initContainers"):
        if name in spec:
            made[name] = [_knowing(container, variable) for container in spec[name]]
    return made


def _knowing(container: dict[str, Any], variable: dict[str, Any]) -> dict[str, Any]:
    before = container.get("env", ())
    if any(each["name"] == _VARIABLE for each in before):
        return container
    return {**container, "env": [*before, variable]}
