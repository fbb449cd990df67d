"""NamespaceLifecycle: nothing comes into a namespace that is not there or about to go, and some never go."""

from __future__ import annotations

from typing import Final

from trimtab.apiserver import statuses
from trimtab.apiserver.causes import Cause
from trimtab.apiserver.objects import decode
from trimtab.apiserver.plugins.attempt import Attempt
from trimtab.apiserver.plugins.plugin import Plugin

IMMORTAL: Final = frozenset({"default", "kube-public", "kube-system"})
_REVIEWS: Final = "localsubjectaccessreviews.authorization.k8s.io"  # to say more of a namespace would tell who is in it


class NamespaceLifecycle(Plugin):
    """It is asked first, and about everything."""

    buckets = frozenset()

    def admit(self, attempt: Attempt) -> None:
        """Refuse what has no place."""
        if attempt.operation == "DELETE" and attempt.bucket == "namespaces" and attempt.name in IMMORTAL:
            raise attempt.forbidden("this namespace may not be deleted")
        namespace = attempt.namespace
        if attempt.operation != "CREATE" or not namespace or attempt.bucket in ("namespaces", _REVIEWS):
            return
        record = self.store.get("namespaces", namespace)
        if record is None:
            raise statuses.not_found("namespaces", "", namespace)
        # The phase stands in few of them: most need not be read at all.
        if b'"Terminating"' in record.data and decode(record.data).get("status", {}).get("phase") == "Terminating":
            why = f"unable to create new content in namespace {namespace} because it is being terminated"
            said = f"namespace {namespace} is being terminated"
            raise attempt.forbidden(why, [Cause("NamespaceTerminating", said, "metadata.namespace")])
