"""Which ReplicaSet of a Deployment is the new one, and what is written down at each: revision, sizes, hash.

`kubectl rollout history` and `undo` read these annotations.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar, Final

import msgspec
from msgspec import UNSET

from trimtab.controllers.replicaset.making import TemplateView
from trimtab.kube.apps.v1 import Deployment, ReplicaSet
from trimtab.kube.kinds import Resource
from trimtab.kube.meta.v1 import ObjectMeta
from trimtab.kube.objects import Object
from trimtab.kube.owners import owner_reference
from trimtab.kube.wire import to_wire

HASH: Final = "pod-template-hash"
REVISION: Final = "deployment.kubernetes.io/revision"
HISTORY: Final = "deployment.kubernetes.io/revision-history"
DESIRED: Final = "deployment.kubernetes.io/desired-replicas"
MOST: Final = "deployment.kubernetes.io/max-replicas"
_NOT_COPIED: Final = frozenset(
    {
        "kubectl.kubernetes.io/last-applied-configuration",
        REVISION,
        HISTORY,
        DESIRED,
        MOST,
        "deprecated.deployment.rollback.to",
    }
)
_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
_LONGEST_HISTORY: Final = 2000
_DIGITS: Final = 10
_LONGEST_NUMBER: Final = 19  # of 64 bits
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class NewReplicaSet(Object):
    """A ReplicaSet whose template is as it stands in the Deployment: newer fields are not lost."""

    resource: ClassVar[Resource] = ReplicaSet.resource
    spec: Any = UNSET


def hash_of(template: TemplateView, collisions: int) -> str:
    """Tells one template from another, in letters that make no words. Kubernetes' own hash depends on Go's types."""
    said = msgspec.json.encode([_wire(template), collisions], order="deterministic")
    number = int.from_bytes(hashlib.sha256(said).digest(), "big")
    digits: list[str] = []
    for _ in range(_DIGITS):
        number, at = divmod(number, len(_LETTERS))
        digits.append(_LETTERS[at])
    return "".join(digits)


def same_template(one: TemplateView, other: TemplateView) -> bool:
    """Whether two templates make the same Pods. The hash among the labels is no part of that."""
    return _wire(one) == _wire(other)


def _wire(template: TemplateView) -> dict[str, Any]:
    labels = {key: value for key, value in template.metadata.labels.items() if key != HASH}
    meta = msgspec.structs.replace(template.metadata, labels=labels, creation_timestamp=None)
    return {"metadata": to_wire(meta), "spec": template.spec}


def find_new(
    sets: Iterable[ReplicaSet], template_of: Mapping[str, TemplateView], template: TemplateView
) -> ReplicaSet | None:
    """The ReplicaSet with the template of the Deployment, by uid in `template_of`; of several, the oldest."""
    fitting = [each for each in sets if same_template(template_of[each.metadata.uid], template)]
    return min(fitting, key=by_age, default=None)


def by_age(rs: ReplicaSet) -> tuple[datetime, str]:
    """Orders by age, the oldest first."""
    return rs.metadata.creation_timestamp or _EPOCH, rs.metadata.name


def revision_of(obj: Object) -> int:
    """Its revision; 0 where none is written down."""
    return number_of(obj, REVISION) or 0


def number_of(obj: Object, annotation: str) -> int | None:
    """What an annotation says, if that is a number."""
    said = obj.metadata.annotations.get(annotation, "")
    return int(said) if said.isascii() and said.isdecimal() and len(said) <= _LONGEST_NUMBER else None


def annotations_of(
    deployment: Deployment, rs: ReplicaSet | None, old: Sequence[ReplicaSet], most: int
) -> dict[str, str]:
    """The annotations that the new ReplicaSet is to have; what is at it besides stays."""
    wanted = {key: value for key, value in deployment.metadata.annotations.items() if key not in _NOT_COPIED}
    revision = max(map(revision_of, old), default=0) + 1
    if rs is None:
        desired = 1 if deployment.spec.replicas is None else deployment.spec.replicas
        return {**wanted, REVISION: str(revision), DESIRED: str(desired), MOST: str(most)}
    before = revision_of(rs)
    if before < revision:
        wanted[REVISION] = str(revision)
        if before:
            wanted[HISTORY] = _history(rs.metadata.annotations.get(HISTORY, ""), before)
    return {key: value for key, value in wanted.items() if rs.metadata.annotations.get(key) != value}


def _history(said: str, revision: int) -> str:
    revisions = [*filter(None, said.split(",")), str(revision)]
    while len(",".join(revisions)) > _LONGEST_HISTORY:
        del revisions[0]
    return ",".join(revisions)


def new_replica_set(
    deployment: Deployment, template: TemplateView, replicas: int, annotations: Mapping[str, str]
) -> NewReplicaSet:
    """The ReplicaSet for the template that the Deployment has now."""
    digest = hash_of(template, deployment.status.collision_count)
    labels = {**template.metadata.labels, HASH: digest}
    meta = ObjectMeta(
        name=f"{deployment.metadata.name}-{digest}",
        namespace=deployment.metadata.namespace,
        labels=labels,
        annotations=dict(annotations),
        owner_references=[owner_reference(deployment)],
    )
    selector = to_wire(deployment.spec.selector)
    made = msgspec.structs.replace(template.metadata, labels=labels)
    spec = {
        "replicas": replicas,
        "minReadySeconds": deployment.spec.min_ready_seconds or 0,
        "selector": {**selector, "matchLabels": {**selector.get("matchLabels", {}), HASH: digest}},
        "template": {"metadata": to_wire(made), "spec": template.spec},
    }
    return NewReplicaSet(metadata=meta, spec=spec)


def superfluous(old: Iterable[ReplicaSet], limit: int | None) -> list[ReplicaSet]:
    """The ReplicaSets that are no longer remembered: the oldest revisions beyond the limit that have no Pods."""
    if limit is None:
        return []
    alive = [each for each in old if each.metadata.deletion_timestamp is None]
    alive.sort(key=lambda each: (revision_of(each), by_age(each)))
    return [each for each in alive[: max(len(alive) - limit, 0)] if _is_empty(each)]


def _is_empty(rs: ReplicaSet) -> bool:
    is_seen = (rs.metadata.generation or 0) <= rs.status.observed_generation
    return rs.status.replicas == 0 and rs.spec.replicas == 0 and is_seen
