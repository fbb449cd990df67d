"""The station that serves custom resources: it follows the definitions, and keeps the catalogue like them.

It hears of a definition in the moment in which that is stored. So a kind is served as soon as the answer to its
definition is out, though its status says so a revision later, as everywhere in Kubernetes.
"""

from __future__ import annotations

import base64
import hashlib
import logging
import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from trimtab.apiserver.catalogue import Catalogue, Kind, Subresource
from trimtab.apiserver.custom.conditions import CLEANUP, condition, next_status, with_condition
from trimtab.apiserver.custom.definition import Definition, Version, compile_definition
from trimtab.apiserver.facts import Facts
from trimtab.apiserver.metadata import tidy
from trimtab.apiserver.objects import decode, encode
from trimtab.apiserver.patching import record_update, resets_of
from trimtab.apiserver.storage import Record, Store
from trimtab.apiserver.surroundings import Surroundings

Json: TypeAlias = dict[str, Any]

_log = logging.getLogger("trimtab.apiserver")
DEFINITIONS: Final = "customresourcedefinitions.apiextensions.k8s.io"
_VERBS: Final = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
"""In the order in which discovery tells of them."""
_STATUS_VERBS: Final = ("get", "patch", "update")
_VERSION: Final = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?")
_MOST: Final = 1000  # definitions that are looked at in one go


class _Served(NamedTuple):
    """What of a definition is served."""

    says: Any  # what of the definition it was made of
    kinds: list[Kind]


class CustomKinds:
    """The kinds that definitions define, and what the definitions say of them in their status."""

    def __init__(self, store: Store, catalogue: Catalogue, facts: Facts, surroundings: Surroundings) -> None:
        self._store = store
        self._catalogue = catalogue
        self._facts = facts
        self._around = surroundings
        self._served: dict[str, _Served] = {}
        self._emptying: dict[str, Callable[[], None]] = {}
        self._bucket = store.bucket(DEFINITIONS)
        self._following = False
        self._place = self._bucket.place_after(store.revision)
        for record in list(store.scan(DEFINITIONS)):
            self._try_to_take(record)
        self._follow()
        self._bucket.listeners.add(self._follow)

    def _follow(self) -> None:
        """Look at what is new; what is written meanwhile is looked at in the same go."""
        if self._following:
            return
        self._following = True
        try:
            while records := self._bucket.read(self._place, _MOST):
                self._place += len(records)
                for record in records:
                    self._try_to_take(record)
        finally:
            self._following = False

    def _try_to_take(self, record: Record) -> None:
        try:
            self._take(record)
        except Exception:  # noqa: BLE001 - the definition is written: a fault here must not be told as if it were not
            _log.exception("%s cannot be served", record.key)

    def _take(self, record: Record) -> None:
        if record.gone:
            self._withdraw(record.key)
            return
        if self._bucket.find(record.key) is not record:
            return  # there is a newer one
        definition = decode(record.data)
        self._serve(record.key, definition, record.revision)
        others = [decode(each.data) for each in self._store.scan(DEFINITIONS) if each.key != record.key]
        status = next_status(definition, others, self._around.stamp())
        if status is not None:
            self._write(record, {**definition, "status": status})
        elif definition["metadata"].get("deletionTimestamp") and CLEANUP in definition["metadata"]["finalizers"]:
            self._clear(record, definition)

    def _write(self, record: Record, definition: Json) -> Record:
        """Write the status of a definition, as Kubernetes' own controllers do."""
        kind = self._catalogue.find("apiextensions.k8s.io", "v1", "customresourcedefinitions")
        assert kind is not None
        assert kind.schema is not None
        before = decode(record.data)
        made = {**definition, "metadata": dict(definition["metadata"])}
        made["metadata"]["managedFields"] = record_update(
            before,
            made,
            schema=kind.schema,
            manager="kube-apiserver",
            subresource="status",
            api_version=kind.api_version,
            now=self._around.now(),
            resets=resets_of(kind.group, kind.api_version, kind.kind, "status"),
        )
        data = encode(kind, made, self._store.revision + 1)
        gone = bool(made["metadata"].get("deletionTimestamp")) and not made["metadata"].get("finalizers")
        return self._store.commit(DEFINITIONS, record.key, data, expected=record.revision, gone=gone)

    # The kinds

    def _serve(self, name: str, definition: Json, revision: int) -> None:
        """Serve what a definition defines, anew only if what it says is new."""
        says = (definition["spec"], definition["status"].get("acceptedNames"))
        terminating = condition(definition, "Terminating")
        found = self._served.get(name)
        if not condition(definition, "Established"):
            self._withdraw(name)
        elif found is None or found.says != says:
            self._withdraw(name)
            compiled = compile_definition(definition)
            served = sorted((v for v in compiled.versions.values() if v.served), key=lambda v: _priority(v.name))
            kinds = [self._kind(compiled, version, revision, terminating=terminating) for version in served]
            self._put(name, says, kinds)
        elif any(kind.terminating != terminating for kind in found.kinds):
            self._withdraw(name)
            self._put(name, says, [replace(kind, terminating=terminating) for kind in found.kinds])

    def _put(self, name: str, says: Any, kinds: list[Kind]) -> None:
        self._served[name] = _Served(says, kinds)
        for kind in kinds:
            self._catalogue.put(kind)

    def _kind(self, compiled: Definition, version: Version, revision: int, *, terminating: bool) -> Kind:
        subresources: dict[str, Subresource] = {}
        group = compiled.group
        if version.has_status:
            subresources["status"] = Subresource("status", compiled.kind, _STATUS_VERBS, group, version.name)
        if version.scale is not None:
            subresources["scale"] = Subresource("scale", "Scale", _STATUS_VERBS, "autoscaling", "v1")
        schemas = {f"{group}/{name}": compiled.schema(name, self._facts.definition) for name in compiled.versions}
        return Kind(
            group,
            version.name,
            compiled.kind,
            compiled.plural,
            compiled.singular,
            compiled.scope == "Namespaced",
            _VERBS,
            short_names=compiled.short_names,
            categories=compiled.categories,
            subresources=subresources,
            storage_version=compiled.storage_version,
            storage_version_hash=_version_hash(compiled),
            list_kind=compiled.list_kind,
            schema=schemas[f"{group}/{version.name}"],
            schemas=schemas,
            custom=version,
            definition=compiled,
            since=revision,
            terminating=terminating,
        )

    def _withdraw(self, name: str) -> None:
        found = self._served.pop(name, None)
        for kind in found.kinds if found is not None else ():
            self._catalogue.remove(kind)

    # The end

    def _clear(self, record: Record, definition: Json) -> None:
        """Objects do not outlive their definition: they go first, and it waits for those that something holds."""
        status, bucket = definition["status"], self._store.bucket(record.key)
        if _reason(definition) == "InstanceDeletionPending":
            said = ("True", "InstanceDeletionInProgress", "CustomResource deletion is in progress")
            self._end(record, definition, said)
            return
        if not condition(definition, "Established"):
            self._end(record, definition, ("False", "NeverEstablished", "resource was never established"), last=True)
            return
        if record.key not in self._emptying:
            for each in list(self._store.scan(record.key)):
                self._delete(record.key, each)
        if next(self._store.scan(record.key), None) is not None:
            if record.key not in self._emptying:
                self._emptying[record.key] = partial(self._look_again, record.key)
                bucket.listeners.add(self._emptying[record.key])
            return
        if record.key in self._emptying:
            bucket.listeners.discard(self._emptying.pop(record.key))
        assert status is not None
        self._end(record, definition, ("False", "InstanceDeletionCompleted", "removed all instances"), last=True)

    def _look_again(self, name: str) -> None:
        record = self._bucket.find(name)
        if record is not None and not record.gone:
            self._try_to_take(record)

    def _end(self, record: Record, definition: Json, said: tuple[str, str, str], *, last: bool = False) -> None:
        """Say how far it is with the end; the last time, let it go as far as we are concerned."""
        status, made = definition["status"], dict(definition["metadata"])
        if last:
            made["finalizers"] = [each for each in made["finalizers"] if each != CLEANUP]
        conditions = with_condition(status, "Terminating", *said, self._around.stamp())
        self._write(record, {**definition, "metadata": made, "status": {**status, "conditions": conditions}})

    def _delete(self, bucket: str, record: Record) -> None:
        """Delete an object, or mark it where something holds it. Nobody is asked: so it is in Kubernetes."""
        obj = decode(record.data)
        made, revision = obj["metadata"], self._store.revision + 1
        made["resourceVersion"] = str(revision)
        if not made.get("finalizers"):
            self._store.commit(bucket, record.key, msgspec.json.encode(obj), expected=record.revision, gone=True)
        elif not made.get("deletionTimestamp"):
            made |= {"deletionTimestamp": self._around.stamp(), "deletionGracePeriodSeconds": 0}
            made["generation"] = made.get("generation", 0) + 1
            obj["metadata"] = tidy(made)
            self._store.commit(bucket, record.key, msgspec.json.encode(obj), expected=record.revision)


def _reason(definition: Json) -> str:
    """How far it is with the end of a definition."""
    conditions = definition["status"].get("conditions") or ()
    return next((each.get("reason", "") for each in conditions if each["type"] == "Terminating"), "")


def _version_hash(compiled: Definition) -> str:
    """What changes when objects are stored in another version."""
    name = f"{compiled.group}/{compiled.storage_version}/{compiled.kind}"
    return base64.b64encode(hashlib.sha256(name.encode()).digest()[:8]).decode()


def _priority(version: str) -> tuple[int, int, int, str]:
    """The order in which versions are preferred: v2, v1, v1beta1, v1alpha1, then others by name."""
    found = _VERSION.fullmatch(version)
    if found is None:
        return (3, 0, 0, version)
    stage = {None: 0, "beta": 1, "alpha": 2}[found[2]]
    return (stage, -int(found[1]), -int(found[3] or 0), version)
