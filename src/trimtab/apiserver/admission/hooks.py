"""The webhooks that are configured, compiled when their configuration changes, in the order of their calls."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeAlias, TypeVar, cast

from trimtab.apiserver.admission.conditions import Conditions
from trimtab.apiserver.admission.matching import Match
from trimtab.apiserver.objects import decode
from trimtab.apiserver.storage import Store

Json: TypeAlias = dict[str, Any]
T = TypeVar("T")

MUTATING: Final = "mutatingwebhookconfigurations.admissionregistration.k8s.io"
VALIDATING: Final = "validatingwebhookconfigurations.admissionregistration.k8s.io"
_TIMEOUT: Final = 10


@dataclass(frozen=True, slots=True)
class Hook:
    """One webhook."""

    name: str
    configuration: str
    client: Json  # its clientConfig
    bundle: bytes
    match: Match
    conditions: Conditions
    ignores_failure: bool
    timeout: int
    versions: tuple[str, ...]  # of AdmissionReview
    has_effects: bool  # so that it cannot be called for a dry run
    reinvoked: bool


class Compiled(Generic[T]):
    """What the objects of a bucket say, in the order of their names, compiled once for each change of the bucket."""

    def __init__(self, store: Store, bucket: str, compile_: Callable[[str, Json], list[T]]) -> None:
        self._store = store
        self._name = bucket
        self._bucket = store.bucket(bucket)
        self._compile = compile_
        self._changed = -1
        self._found: list[T] = []

    def all(self) -> list[T]:
        """All of them."""
        if self._bucket.changed != self._changed:
            self._changed = self._bucket.changed
            records = sorted(self._store.scan(self._name), key=lambda record: record.key)
            self._found = [each for record in records for each in self._compile(record.key, decode(record.data))]
        return self._found


def read_hooks(configuration: str, obj: Json) -> list[Hook]:
    """The webhooks of a configuration."""
    return [_hook(configuration, given) for given in cast("list[Json]", obj.get("webhooks") or ())]


def _hook(configuration: str, given: Json) -> Hook:
    client = cast("Json", given.get("clientConfig") or {})
    return Hook(
        given.get("name", ""),
        configuration,
        client,
        _bundle(client.get("caBundle") or ""),
        Match.read(given),
        Conditions(given.get("matchConditions") or ()),
        given.get("failurePolicy") == "Ignore",
        given.get("timeoutSeconds") or _TIMEOUT,
        tuple(given.get("admissionReviewVersions") or ("v1",)),
        given.get("sideEffects") not in ("None", "NoneOnDryRun"),
        given.get("reinvocationPolicy") == "IfNeeded",
    )


def _bundle(text: str) -> bytes:
    try:
        return base64.b64decode(text)
    except (binascii.Error, ValueError):
        return b"no certificate"  # so that nobody is trusted, instead of everybody whom the system trusts
