"""DefaultStorageClass and DefaultIngressClass: what names no class gets the one that is the default."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver.plugins.attempt import Attempt
from trimtab.apiserver.plugins.plugin import Means, Plugin, Remembered

Json: TypeAlias = dict[str, Any]

STORAGE_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
"""The annotation that named a claim's class before there was a field."""

_INGRESS_CLASS: Final = "kubernetes.io/ingress.class"
_DEFAULT_STORAGE: Final = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
_DEFAULT_INGRESS: Final = ("ingressclass.kubernetes.io/is-default-class",)


class _DefaultClass(Plugin):
    """The rule of both."""

    classes: str
    marks: tuple[str, ...]  # annotations that make a class the default
    field: str
    annotation: str  # named the class in former times, and still counts

    def __init__(self, means: Means) -> None:
        super().__init__(means)
        self._default = Remembered(means.store, self.classes, _newest(self.marks))

    def admit(self, attempt: Attempt) -> None:
        """Name the default class."""
        if attempt.operation != "CREATE" or attempt.subresource:
            return
        annotations = cast("Json", attempt.obj["metadata"].get("annotations") or {})
        if attempt.spec.get(self.field) is not None or self.annotation in annotations:
            return
        if found := self._default.get():
            attempt.spec[self.field] = found


class DefaultStorageClass(_DefaultClass):
    """For claims."""

    buckets = frozenset({"persistentvolumeclaims"})
    classes = "storageclasses.storage.k8s.io"
    marks = _DEFAULT_STORAGE
    field = "storageClassName"
    annotation = STORAGE_CLASS


class DefaultIngressClass(_DefaultClass):
    """For Ingresses."""

    buckets = frozenset({"ingresses.networking.k8s.io"})
    classes = "ingressclasses.networking.k8s.io"
    marks = _DEFAULT_INGRESS
    field = "ingressClassName"
    annotation = _INGRESS_CLASS


def _newest(marks: Sequence[str]) -> Callable[[list[Json]], str]:
    """Which class is the default; of several the newest, and of those the first by name."""

    def find(classes: list[Json]) -> str:
        marked = [each["metadata"] for each in classes if _is_marked(each, marks)]
        last = max((made["creationTimestamp"] for made in marked), default="")
        return min((made["name"] for made in marked if made["creationTimestamp"] == last), default="")

    return find


def _is_marked(obj: Json, marks: Sequence[str]) -> bool:
    annotations = cast("Json", obj["metadata"].get("annotations") or {})
    return any(annotations.get(mark) == "true" for mark in marks)
