"""The Pods of a StatefulSet and their claims: each Pod has a name that stays, and volumes that wait for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from trimtab.controllers.replicaset.making import NewPod, TemplateView
from trimtab.controllers.replicaset.pods import PodView
from trimtab.kube.apps.v1 import StatefulSet
from trimtab.kube.core.v1 import PersistentVolumeClaim
from trimtab.kube.meta.v1 import ObjectMeta, OwnerReference
from trimtab.kube.owners import owner_reference
from trimtab.local.loops.statefulset.order import REVISION

NAME: Final = "statefulset.kubernetes.io/pod-name"
INDEX: Final = "apps.kubernetes.io/pod-index"


def pod_for(obj: StatefulSet, ordinal: int, revision: str, template: TemplateView) -> NewPod:
    """The Pod of an ordinal."""
    name = f"{obj.metadata.name}-{ordinal}"
    labels = {**template.metadata.labels, NAME: name, INDEX: str(ordinal), REVISION: revision}
    spec: dict[str, Any] = {**template.spec, "hostname": name}
    if obj.spec.service_name:
        spec["subdomain"] = obj.spec.service_name
    claimed = {claim.metadata.name for claim in obj.spec.volume_claim_templates}
    if claimed:
        own = [{"name": each, "persistentVolumeClaim": {"claimName": f"{each}-{name}"}} for each in sorted(claimed)]
        spec["volumes"] = own + [each for each in spec.get("volumes", ()) if each["name"] not in claimed]
    meta = ObjectMeta(
        name=name,
        namespace=obj.metadata.namespace,
        generate_name=f"{obj.metadata.name}-",
        labels=labels,
        annotations=template.metadata.annotations,
        finalizers=template.metadata.finalizers,
        owner_references=[owner_reference(obj)],
    )
    return NewPod(metadata=meta, spec=spec)


def claims_for(obj: StatefulSet, ordinal: int) -> list[PersistentVolumeClaim]:
    """The claims of the Pod of an ordinal."""
    made: list[PersistentVolumeClaim] = []
    for claim in obj.spec.volume_claim_templates:
        meta = ObjectMeta(
            name=f"{claim.metadata.name}-{obj.metadata.name}-{ordinal}",
            namespace=obj.metadata.namespace,
            labels={**claim.metadata.labels, **obj.spec.selector.match_labels},
            annotations=claim.metadata.annotations,
        )
        if _when(obj, "deleted"):
            meta.owner_references = [owner_reference(obj)]
        made.append(PersistentVolumeClaim(metadata=meta, spec=claim.spec))
    return made


def owners_of_claim(
    obj: StatefulSet, pod: PodView, before: Sequence[OwnerReference], *, wanted: bool
) -> list[OwnerReference]:
    """With whom a claim is to go, by the retention policy: with the set, with its Pod once that is not `wanted`."""
    others = [each for each in before if each.uid not in (obj.metadata.uid, pod.metadata.uid)]
    owners: list[OwnerReference] = []
    if _when(obj, "scaled") and not wanted:
        meta = pod.metadata
        owners = [OwnerReference(api_version="v1", kind="Pod", name=meta.name, uid=meta.uid, controller=True)]
        owners[0].block_owner_deletion = True
    elif _when(obj, "deleted"):
        owners = [owner_reference(obj)]
    kept = [each for each in before if each.uid in {owner.uid for owner in owners}]
    return others + (kept or owners)


def _when(obj: StatefulSet, what: str) -> bool:
    policy = obj.spec.persistent_volume_claim_retention_policy
    if policy is None:
        return False
    return (policy.when_deleted if what == "deleted" else policy.when_scaled) == "Delete"
