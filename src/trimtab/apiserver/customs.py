"""The station that serves custom resources: it follows the definitions, and keeps the catalogue like them.

It hears of a definition in the moment in which that is stored. So a kind is served as soon as the answer to its
definition is out, though its status says so a revision later, as everywhere in Kubernetes.
"""

from __future__ import annotations

import logging
import re
from typing import Any, Final, TypeAlias

from trimtab.apiserver.catalogue import Catalogue, Kind, Subresource
from trimtab.apiserver.custom.conditions import condition, settle
from trimtab.apiserver.custom.definition import Definition, Version, compile_definition
from trimtab.apiserver.facts import Facts
from trimtab.apiserver.objects import decode, encode, restamped
from trimtab.apiserver.storage import Record, Store
from trimtab.apiserver.surroundings import Surroundings

Json: TypeAlias = dict[str, Any]

_log = logging.getLogger("trimtab.apiserver")
DEFINITIONS: Final = "customresourcedefinitions.apiextensions.k8s.io"
_STATUS_VERBS: Final = ("get", "patch", "update")
_VERSION: Final = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?")
_MOST: Final = 1000  # definitions that are looked at in one go


class CustomKinds:
    """The kinds that definitions define."""

    def __init__(self, store: Store, catalogue: Catalogue, facts: Facts, surroundings: Surroundings) -> None:
        self._store = store
        self._catalogue = catalogue
        self._facts = facts
        self._around = surroundings
        self._served: dict[str, list[Kind]] = {}
        self._bucket = store.bucket(DEFINITIONS)
        self._following = False
        for record in list(store.scan(DEFINITIONS)):
            self._serve(record.key, decode(record.data), record.revision)
        self._place = self._bucket.place_after(store.revision)
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
            self._clear(record.key)
            return
        if self._bucket.find(record.key) is not record:
            return  # there is a newer one
        definition = decode(record.data)
        others = [decode(each.data) for each in self._store.scan(DEFINITIONS) if each.key != record.key]
        status = settle(definition, others, self._around.stamp())
        if status != definition.get("status"):
            kind = self._catalogue.find("apiextensions.k8s.io", "v1", "customresourcedefinitions")
            assert kind is not None
            definition = {**definition, "status": status}
            data = encode(kind, definition, self._store.revision + 1)
            self._store.commit(DEFINITIONS, record.key, data, expected=record.revision)
        self._withdraw(record.key)
        self._serve(record.key, definition, record.revision)

    def _serve(self, name: str, definition: Json, revision: int) -> None:
        if not condition(definition, "Established"):
            return
        compiled = compile_definition(definition)
        served = sorted((v for v in compiled.versions.values() if v.served), key=lambda v: _priority(v.name))
        kinds = [self._kind(compiled, version, revision) for version in served]
        self._served[name] = kinds
        for kind in kinds:
            self._catalogue.put(kind)

    def _kind(self, compiled: Definition, version: Version, revision: int) -> Kind:
        subresources: dict[str, Subresource] = {}
        group = compiled.group
        if version.has_status:
            subresources["status"] = Subresource("status", compiled.kind, _STATUS_VERBS, group, version.name)
        if version.scale is not None:
            subresources["scale"] = Subresource("scale", "Scale", _STATUS_VERBS, "autoscaling", "v1")
        return Kind(
            group,
            version.name,
            compiled.kind,
            compiled.plural,
            compiled.singular,
            compiled.scope == "Namespaced",
            short_names=compiled.short_names,
            categories=compiled.categories,
            subresources=subresources,
            storage_version=compiled.storage_version,
            list_kind=compiled.list_kind,
            schema=compiled.schema(version.name, self._facts.definition),
            custom=version,
            definition=compiled,
            since=revision,
        )

    def _withdraw(self, name: str) -> None:
        for kind in self._served.pop(name, []):
            self._catalogue.remove(kind)

    def _clear(self, bucket: str) -> None:
        """Objects do not outlive their definition."""
        for record in list(self._store.scan(bucket)):
            last = restamped(record.data, self._store.revision + 1)
            self._store.commit(bucket, record.key, last, expected=record.revision, gone=True)


def _priority(version: str) -> tuple[int, int, int, str]:
    """The order in which versions are preferred: v2, v1, v1beta1, v1alpha1, then others by name."""
    found = _VERSION.fullmatch(version)
    if found is None:
        return (3, 0, 0, version)
    stage = {None: 0, "beta": 1, "alpha": 2}[found[2]]
    return (stage, -int(found[1]), -int(found[3] or 0), version)
