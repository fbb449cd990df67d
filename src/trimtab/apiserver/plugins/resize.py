"""PersistentVolumeClaimResize: a claim grows where it is bound, and its class says that its volumes can."""

from __future__ import annotations

from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver.objects import decode
from trimtab.apiserver.plugins.attempt import Attempt
from trimtab.apiserver.plugins.classes import STORAGE_CLASS
from trimtab.apiserver.plugins.plugin import Plugin
from trimtab.kube.quantity import Quantity

Json: TypeAlias = dict[str, Any]

_CLASSES: Final = "storageclasses.storage.k8s.io"


class PersistentVolumeClaimResize(Plugin):
    """Smaller it never gets: that its own rules say."""

    buckets = frozenset({"persistentvolumeclaims"})

    def validate(self, attempt: Attempt) -> None:
        """Refuse to promise room that nobody will make."""
        if attempt.operation != "UPDATE" or attempt.subresource or attempt.old is None:
            return
        old = attempt.old
        if _size(attempt.obj) <= _size(old):
            return
        if cast("Json", old.get("status") or {}).get("phase") != "Bound":
            raise attempt.forbidden("Only bound persistent volume claims can be expanded")
        name = _class_of(attempt.obj)
        record = self.store.get(_CLASSES, name) if name and name == _class_of(old) else None
        if record is None or not decode(record.data).get("allowVolumeExpansion"):
            raise attempt.forbidden(
                "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must "
                "support resize"
            )


def _size(claim: Json) -> Quantity:
    resources = cast("Json", cast("Json", claim.get("spec") or {}).get("resources") or {})
    return Quantity(cast("Json", resources.get("requests") or {}).get("storage", 0))


def _class_of(claim: Json) -> str:
    annotations = cast("Json", claim["metadata"].get("annotations") or {})
    if STORAGE_CLASS in annotations:
        return annotations[STORAGE_CLASS]
    return cast("Json", claim.get("spec") or {}).get("storageClassName") or ""
