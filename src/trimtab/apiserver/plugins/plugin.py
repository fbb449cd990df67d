"""What all plugins have in common, and how they remember what they read of the cluster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

from trimtab.apiserver.access.rbac import Rbac
from trimtab.apiserver.catalogue import Catalogue
from trimtab.apiserver.objects import decode
from trimtab.apiserver.plugins.attempt import Attempt
from trimtab.apiserver.storage import Store
from trimtab.apiserver.surroundings import Surroundings

Json: TypeAlias = dict[str, Any]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Means:
    """What plugins look at beside what is written."""

    store: Store
    catalogue: Catalogue
    around: Surroundings
    rbac: Rbac


class Plugin:
    """Completes or refuses what is written. It may be asked more than once for one request, and decides at once."""

    buckets: ClassVar[frozenset[str]]
    """What it is asked about. Nothing else costs anything."""

    def __init__(self, means: Means) -> None:
        self.store = means.store

    def admit(self, attempt: Attempt) -> None:
        """Change what is to be written, or refuse it."""

    def validate(self, attempt: Attempt) -> None:
        """Refuse what may not be written, as it is when all have changed what they wanted."""

    def count(self, attempt: Attempt) -> None:
        """Write down what is about to be written, when nobody refused it, or refuse it at last."""


class Remembered(Generic[T]):
    """What the objects of a bucket tell, read once for each change of the bucket; by namespace, or by "" for all."""

    def __init__(self, store: Store, bucket: str, read: Callable[[list[Json]], T]) -> None:
        self._store = store
        self._name = bucket
        self._bucket = store.bucket(bucket)
        self._read = read
        self._changed = -1
        self._found: dict[str, T] = {}

    def get(self, namespace: str = "") -> T:
        """What they tell now."""
        if self._bucket.changed != self._changed:
            self._changed = self._bucket.changed
            self._found.clear()
        if namespace not in self._found:
            prefix = f"{namespace}/" if namespace else ""
            self._found[namespace] = self._read([decode(each.data) for each in self._store.scan(self._name, prefix)])
        return self._found[namespace]
