"""StorageObjectInUseProtection: a volume or claim that is used does not go away under a Pod."""

from __future__ import annotations

from typing import Final

from trimtab.apiserver.plugins.attempt import Attempt
from trimtab.apiserver.plugins.plugin import Plugin

_FINALIZERS: Final = {
    "persistentvolumes": "kubernetes.io/pv-protection",
    "persistentvolumeclaims": "kubernetes.io/pvc-protection",
    "volumeattributesclasses.storage.k8s.io": "kubernetes.io/vac-protection",
}


class StorageObjectInUseProtection(Plugin):
    """Who finds that nothing uses it takes the finalizer away: the protection controllers."""

    buckets = frozenset(_FINALIZERS)

    def admit(self, attempt: Attempt) -> None:
        """Add the finalizer."""
        if attempt.operation != "CREATE" or attempt.subresource:
            return
        metadata = attempt.obj["metadata"]
        given, wanted = list(metadata.get("finalizers") or []), _FINALIZERS[attempt.bucket]
        if wanted not in given:
            metadata["finalizers"] = [*given, wanted]
