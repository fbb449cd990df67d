"""The station of the plugins: which are asked about a write, and in which order."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, TypeAlias

from trimtab.apiserver.calls import Call
from trimtab.apiserver.plugins.accounts import ServiceAccount
from trimtab.apiserver.plugins.attempt import Attempt
from trimtab.apiserver.plugins.certificates import (
    CertificateApproval,
    CertificateSigning,
    CertificateSubjectRestriction,
)
from trimtab.apiserver.plugins.classes import DefaultIngressClass, DefaultStorageClass
from trimtab.apiserver.plugins.lifecycle import NamespaceLifecycle
from trimtab.apiserver.plugins.limits import LimitRanger
from trimtab.apiserver.plugins.plugin import Means, Plugin
from trimtab.apiserver.plugins.podsecurity import PodSecurity
from trimtab.apiserver.plugins.priority import Priority
from trimtab.apiserver.plugins.protection import StorageObjectInUseProtection
from trimtab.apiserver.plugins.quotas import ResourceQuota
from trimtab.apiserver.plugins.resize import PersistentVolumeClaimResize
from trimtab.apiserver.plugins.runtimes import RuntimeClass
from trimtab.apiserver.plugins.taints import TaintNodesByCondition
from trimtab.apiserver.plugins.tolerations import DefaultTolerationSeconds
from trimtab.errors import TrimtabError

Json: TypeAlias = dict[str, Any]

ORDER: Final[tuple[type[Plugin], ...]] = (
    NamespaceLifecycle,
    LimitRanger,
    ServiceAccount,
    TaintNodesByCondition,
    PodSecurity,
    Priority,
    DefaultTolerationSeconds,
    DefaultStorageClass,
    StorageObjectInUseProtection,
    PersistentVolumeClaimResize,
    RuntimeClass,
    CertificateApproval,
    CertificateSigning,
    CertificateSubjectRestriction,
    DefaultIngressClass,
    ResourceQuota,
)
"""All that there are, in the order in which kube-apiserver asks them."""

OFF: Final = frozenset({"ServiceAccount"})
"""Those that are asked only where they are wanted: what they want has to be made by somebody."""


class UnknownPlugin(TrimtabError):
    """There is no plugin of this name."""

    def __init__(self, name: str, known: list[str]) -> None:
        super().__init__(f"there is no admission plugin {name!r}: those that there are: {', '.join(known)}")


class Plugins:
    """The plugins of a server. They are known by the names that kube-apiserver's flags give them."""

    def __init__(self, means: Means, *, on: Iterable[str] = (), off: Iterable[str] = ()) -> None:
        left_out = (OFF - frozenset(on)) | frozenset(off)
        known = {plugin.__name__ for plugin in ORDER}
        if unknown := sorted({*on, *off} - known):
            raise UnknownPlugin(unknown[0], sorted(known))
        self._plugins: list[Plugin] = [plugin(means) for plugin in ORDER if plugin.__name__ not in left_out]
        self._asked: dict[str, list[Plugin]] = {}

    def admit(self, call: Call, operation: str, new: Json | None, old: Json | None) -> None:
        """Let each change what is to be written, in place, or refuse it."""
        attempt = Attempt(call, operation, new, old)
        for plugin in self._about(attempt.bucket):
            plugin.admit(attempt)

    def validate(self, call: Call, operation: str, new: Json | None, old: Json | None) -> None:
        """Let each refuse what is about to be written."""
        attempt = Attempt(call, operation, new, old)
        for plugin in self._about(attempt.bucket):
            plugin.validate(attempt)

    def count(self, call: Call, operation: str, new: Json | None, old: Json | None) -> None:
        """Let each count what nobody refused, when webhooks and policies were asked too."""
        attempt = Attempt(call, operation, new, old)
        for plugin in self._about(attempt.bucket):
            plugin.count(attempt)

    def _about(self, bucket: str) -> list[Plugin]:
        found = self._asked.get(bucket)
        if found is None:
            found = [plugin for plugin in self._plugins if not plugin.buckets or bucket in plugin.buckets]
            self._asked[bucket] = found
        return found
