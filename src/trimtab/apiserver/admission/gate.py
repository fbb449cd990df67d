"""The station of admission: what the server itself, webhooks and policies make of a write, or refuse of it."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from trimtab.apiserver.access.escalation import check_escalation
from trimtab.apiserver.access.rbac import Rbac
from trimtab.apiserver.admission.matching import EXEMPT
from trimtab.apiserver.admission.mutations import Mutations
from trimtab.apiserver.admission.paramaccess import ParamAccess
from trimtab.apiserver.admission.policies import Policies
from trimtab.apiserver.admission.requests import Write
from trimtab.apiserver.admission.rounds import Rounds
from trimtab.apiserver.admission.webhooks import Webhooks
from trimtab.apiserver.calls import Call
from trimtab.apiserver.catalogue import Catalogue
from trimtab.apiserver.objects import decode
from trimtab.apiserver.plugins.chain import Plugins
from trimtab.apiserver.plugins.plugin import Means
from trimtab.apiserver.storage import Store
from trimtab.apiserver.surroundings import Surroundings

Json: TypeAlias = dict[str, Any]

_STATIC: Final = ".static.k8s.io"
_RESERVED: Final = (
    f'metadata.name: names ending with "{_STATIC}" are reserved for static manifest-based configurations and cannot '
    "be managed via the API"
)


class Gate:
    """Lets through what is written, changes it, or refuses it. Where nothing is configured it costs next to nothing."""

    def __init__(
        self, store: Store, catalogue: Catalogue, rbac: Rbac, around: Surroundings, plugins: Plugins | None = None
    ) -> None:
        self._store = store
        self._catalogue = catalogue
        self._rbac = rbac
        self._plugins = plugins if plugins is not None else Plugins(Means(store, catalogue, around, rbac))
        self._webhooks = Webhooks(store, catalogue, rbac, around)
        self._mutations = Mutations(store, catalogue, rbac)
        self._policies = Policies(store, catalogue, rbac)
        self._params = ParamAccess(store, catalogue, rbac)

    async def mutate(self, call: Call, operation: str, new: Json | None, old: Json | None) -> Json | None:
        """What is to be written instead."""
        self._plugins.admit(call, operation, new, old)
        if self._any_mutating and call.target.kind.bucket not in EXEMPT:
            if new is not None and call.target.namespace:
                new["metadata"]["namespace"] = call.target.namespace
            new = await self._changed(self._write(call, operation, new, old))
        if new is not None:
            check_escalation(self._rbac, call, new, old)
        return new

    async def validate(self, call: Call, operation: str, new: Json | None, old: Json | None) -> None:
        """Refuse what may not be written."""
        await self._validate(call, operation, new, old)
        self._plugins.count(call, operation, new, old)

    async def _validate(self, call: Call, operation: str, new: Json | None, old: Json | None) -> None:
        if operation == "DELETE":
            self._plugins.admit(call, operation, new, old)
        self._plugins.validate(call, operation, new, old)
        if call.target.kind.bucket in EXEMPT:
            if new is not None:
                self._params.check(call, new, old)
                if new["metadata"].get("name", "").endswith(_STATIC):
                    call.warnings.append(_RESERVED)
            return
        mutating = operation == "DELETE" and self._any_mutating  # nothing is left for them to change
        if not (mutating or self._policies.any or self._webhooks.any_validating):
            return
        write = self._write(call, operation, new, old)
        if mutating:
            await self._changed(write)
        if self._policies.any:
            self._policies.check(write)
        await self._webhooks.validate(write)

    @property
    def _any_mutating(self) -> bool:
        return self._webhooks.any_mutating or self._mutations.any

    async def _changed(self, write: Write) -> Json | None:
        """What policies and webhooks make of an object. Where any changed it, all have another look who want it."""
        policies, webhooks = Rounds(), Rounds()
        self._mutations.mutate(write, policies)
        await self._webhooks.mutate(write, webhooks)
        if policies.wanted or webhooks.wanted:
            policies.again = webhooks.again = True
            self._plugins.admit(write.call, write.operation, write.new, write.old)
            self._mutations.mutate(write, policies)
            await self._webhooks.mutate(write, webhooks)
        return write.new

    def _write(self, call: Call, operation: str, new: Json | None, old: Json | None) -> Write:
        target = call.target
        home = new or old if target.kind.bucket == "namespaces" else None
        if target.kind.bucket != "namespaces" and target.namespace:
            record = self._store.get("namespaces", target.namespace)
            home = None if record is None else decode(record.data)
        kind = target.kind
        return Write(
            call, operation, new, old, home, lambda version: self._catalogue.find(kind.group, version, kind.plural)
        )
