"""The station of writes: what all kinds have in common when they are created, changed and deleted.

Each write reads what is there, makes of it what is to be, and commits that under the condition that it is still there;
where it is not, it begins again. So there is no lock, and admission may take its time in between.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver import causes, metadata, statuses
from trimtab.apiserver.allotting import Allotments
from trimtab.apiserver.builtin.remarks import remarks_on
from trimtab.apiserver.calls import Admission, Call
from trimtab.apiserver.catalogue import Kind
from trimtab.apiserver.managed import fields_after
from trimtab.apiserver.objects import copied, decode, encode, in_order, load, restamped
from trimtab.apiserver.options import DeleteOptions
from trimtab.apiserver.patching import keep_times
from trimtab.apiserver.statuses import MODIFIED, Refused
from trimtab.apiserver.storage import Occupied, Record, Store
from trimtab.apiserver.strategies import strategy_for
from trimtab.apiserver.strategy import Strategy
from trimtab.apiserver.surroundings import Surroundings
from trimtab.apiserver.versions import Versions

Json: TypeAlias = dict[str, Any]
Make: TypeAlias = Callable[[Json | None], Json]
"""From the object that is there (None: none) to what is to be. It may keep and change what it is given."""

_SYSTEMS: Final = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink")
"""Metadata that nobody sets on what is new."""
_LONGEST_STEM: Final = 58  # characters of a generateName that stay before the five that are made
_NAMES_TRIED: Final = 8
_MOST_TRIES: Final = 100


@dataclass(frozen=True, slots=True)
class Written:
    """What became of a write."""

    obj: Json
    created: bool = False
    deleted: bool = False


class Writer:
    """Writes objects of every kind."""

    def __init__(
        self,
        store: Store,
        surroundings: Surroundings,
        *,
        admission: Admission | None = None,
        versions: Versions,
    ) -> None:
        self._store = store
        self._around = surroundings
        self._versions = versions
        self._admission = admission
        self._allotments = Allotments(store, surroundings.dice)
        self._strategies: dict[Kind, Strategy] = {}

    def strategy(self, kind: Kind) -> Strategy:
        """How a kind behaves."""
        found = self._strategies.get(kind)
        if found is None:
            found = self._strategies[kind] = strategy_for(kind, self._around.stamp)
        return found

    # Create

    async def create(self, call: Call, obj: Json) -> Json:
        """Create an object, under a name that is made where it asks for one."""
        if call.target.kind.terminating:
            kind, name = call.target.kind, obj["metadata"].get("name", "")
            raise statuses.being_withdrawn(kind.plural, kind.group, name)
        obj = await self._admitted(call, obj)
        kind, strategy, made = call.target.kind, self.strategy(call.target.kind), obj["metadata"]
        if not made.get("name") and made.get("generateName"):
            made["name"] = self._free_name(call, made["generateName"])
        made["uid"] = self._around.uid()
        made["creationTimestamp"] = self._around.stamp()
        if call.target.namespace:
            made["namespace"] = call.target.namespace
        wrong_generation = min(made.get("generation", 0), 0)
        strategy.note_writer(obj, call.user)
        strategy.prepare_create(obj)
        if wrong_generation:
            made["generation"] = wrong_generation
        found = self._allotments.check_name(obj) if strategy.allots else []
        if not found:
            found = metadata.check(made, strategy.name_rule, namespaced=kind.namespaced) + strategy.check_create(obj)
        if strategy.allots and not found:
            found = self._allotments.allot(call.target.key_of(made["name"]), obj, dry_run=call.options.dry_run)
        if found:
            raise statuses.invalid(kind.kind, kind.stored_group, made.get("name", ""), found)
        call.warnings += remarks_on(str(kind), obj, None)
        try:
            if self._admission is not None:
                await self._admission.validate(call, "CREATE", obj, None)
            return await self._commit_new(call, obj)
        finally:
            if strategy.allots:
                self._allotments.settle(call.target.key_of(made["name"]))

    async def _admitted(self, call: Call, obj: Json) -> Json:
        """A new object as its writer and all who have a say in it want it."""
        made = obj["metadata"]
        for name in _SYSTEMS:
            made.pop(name, None)
        if call.target.verb != "patch":
            metadata.without_repeated_owners(made, call.warnings, late=False)
        strategy = self.strategy(call.target.kind)
        strategy.fill(obj)
        await self._note_fields(call, None, obj)  # what others add from here on is nobody's
        if self._admission is not None:
            obj = cast("Json", await self._admission.mutate(call, "CREATE", obj, None))
            made = obj["metadata"]
            strategy.fill(obj)
        metadata.without_repeated_owners(made, call.warnings, late=True)
        for name in _SYSTEMS:
            made.pop(name, None)
        return obj

    def _free_name(self, call: Call, prefix: str) -> str:
        """A name that nothing has, if chance finds one."""
        name = ""
        for _ in range(_NAMES_TRIED):
            name = prefix[:_LONGEST_STEM] + self._around.suffix()
            if self._store.get(call.target.kind.bucket, call.target.key_of(name)) is None:
                break
        return name

    async def _commit_new(self, call: Call, obj: Json) -> Json:
        kind, name = call.target.kind, obj["metadata"]["name"]
        key = call.target.key_of(name)
        version = obj["metadata"].get("resourceVersion") or "0"
        if version != "0" and call.target.verb == "create" and not call.options.dry_run:
            raise statuses.bad_request("resourceVersion should not be set on objects to be created")
        if not (call.options.dry_run and version.isdecimal() and int(version)):
            obj["metadata"].pop("resourceVersion", None)
        stored = await self._versions.to_store(kind, obj, whole=not call.applies)
        there = self._store.get(kind.bucket, key)
        if there is not None:
            raise self._exists(kind, name, load(kind, there.data), generated="generateName" in obj["metadata"])
        if call.options.dry_run:
            return await self._shown(kind, obj, stored)
        return await self._commit(kind, key, obj, stored, expected=0)

    def _exists(self, kind: Kind, name: str, there: Json, *, generated: bool) -> Refused:
        refused = statuses.already_exists(kind.plural, kind.group, name)
        if generated:
            refused.message += ", the server was not able to generate a unique name for the object"
            refused.retry_after = 1
        if there["metadata"].get("deletionTimestamp"):
            refused.message = f"object is being deleted: {refused.message}"
        return refused

    # Change

    async def change(self, call: Call, make: Make, *, may_create: bool = False) -> Written:
        """Make of the object that is there what `make` makes of it. What does not change is not written."""
        target = call.target
        for _ in range(_MOST_TRIES):
            record = self._store.get(target.kind.bucket, target.key)
            if record is None:
                if not may_create:
                    raise statuses.not_found(target.kind.plural, target.kind.group, target.name)
                made = await self._versions.knowing(target.kind, call.known, lambda: make(None))
                return Written(await self.create(call, made), created=True)
            try:
                return await self._change(call, record, make)
            except Occupied:
                continue
        raise statuses.conflict(target.kind.plural, target.kind.group, target.name, MODIFIED)

    async def _change(self, call: Call, record: Record, make: Make) -> Written:
        kind = call.target.kind
        old = await self._versions.load(kind, record.data)
        new = await self._versions.knowing(kind, call.known, lambda: make(copied(old)))
        self._check_version(call, new, old)
        if call.target.verb != "patch":
            metadata.without_repeated_owners(new["metadata"], call.warnings, late=False)
        strategy = self.strategy(kind)
        strategy.fill(new)
        await self._note_fields(call, old, new)  # what others add from here on is nobody's
        if self._admission is not None:
            new = cast("Json", await self._admission.mutate(call, "UPDATE", new, old))
            strategy.fill(new)
        metadata.without_repeated_owners(new["metadata"], call.warnings, late=True)
        metadata.keep_identity(new["metadata"], old["metadata"])
        if call.target.namespace:
            new["metadata"]["namespace"] = call.target.namespace
        new["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
        self._prepare(call, strategy, new, old)
        found = metadata.check(new["metadata"], strategy.name_rule, namespaced=kind.namespaced)
        changed = metadata.check_change(new["metadata"], old["metadata"])
        sub = call.target.subresource
        wrong = strategy.check_update(new, old) if sub is None else strategy.check_part(sub.name, new, old)
        again = found if strategy.checks_metadata_again else []
        found = [*found, *changed, *wrong, *changed, *again]  # Kubernetes looks twice, and says so twice
        if strategy.allots and not found:
            found = self._allotments.allot(call.target.key, new, dry_run=call.options.dry_run)
        if found:
            raise statuses.invalid(kind.kind, kind.stored_group, call.target.name, found)
        if sub is None:
            call.warnings += remarks_on(str(kind), new, old)
        try:
            return await self._store_change(call, record, new, old)
        finally:
            if strategy.allots:
                self._allotments.settle(call.target.key)

    async def _store_change(self, call: Call, record: Record, new: Json, old: Json) -> Written:
        """Store what an object is to become, unless somebody objects."""
        kind = call.target.kind
        if self._admission is not None:
            await self._admission.validate(call, "UPDATE", new, old)
        new = in_order(kind, keep_times(old, in_order(kind, new)))
        if self._goes(new, old):
            if not call.options.dry_run:
                self._remove(kind, call.target.key, old, record)
            return Written(new, deleted=True)
        stored = await self._versions.to_store(kind, new, whole=not call.applies)
        if new == in_order(kind, old) if kind.definition is None else stored == decode(record.data):
            return Written(in_order(kind, old) if kind.definition is not None else new)
        if call.options.dry_run:
            return Written(await self._shown(kind, new, stored))
        return Written(await self._commit(kind, call.target.key, new, stored, expected=record.revision))

    def _prepare(self, call: Call, strategy: Strategy, new: Json, old: Json) -> None:
        subresource = call.target.subresource
        if subresource is None or subresource.name == "scale":
            strategy.prepare_update(new, old)
        else:
            strategy.prepare_part(subresource.name, new, old)

    def _check_version(self, call: Call, new: Json, old: Json) -> None:
        """The object has to be the one, and in the version, that the writer believes."""
        kind, name = call.target.kind, call.target.name
        given, was = new["metadata"], old["metadata"]
        version = given.get("resourceVersion") or ""
        if version and not (version.isascii() and version.isdigit()):
            raise statuses.bad_request(f"strconv.ParseUint: parsing {causes.quoted(version)}: invalid syntax")
        if version.strip("0"):
            if version != was["resourceVersion"]:
                raise statuses.conflict(kind.plural, kind.group, name, MODIFIED)
        elif not self.strategy(kind).unconditional_update:
            about = causes.invalid("metadata.resourceVersion", 0, "must be specified for an update")
            raise statuses.invalid(kind.plural, kind.group, name, [about])

    def _goes(self, new: Json, old: Json) -> bool:
        """Whether nothing holds any longer what is being deleted."""
        made = new["metadata"]
        if not old["metadata"].get("deletionTimestamp") or made.get("finalizers"):
            return False
        if cast("Json", new.get("spec") or {}).get("finalizers"):
            return False
        return not made.get("deletionGracePeriodSeconds")

    def amend(self, call: Call, make: Callable[[Json], Json]) -> Json:
        """Change an object as the server itself does: nobody is asked, and nobody comes to own what changes."""
        kind, key = call.target.kind, call.target.key
        record = self._store.get(kind.bucket, key)
        if record is None:
            raise statuses.not_found(kind.plural, kind.group, call.target.name)
        old = load(kind, record.data)
        new = in_order(kind, make(load(kind, record.data)))
        if call.options.dry_run or new == in_order(kind, old):
            return new
        self._put(kind, key, new, expected=record.revision)
        return new

    async def ask(self, call: Call, operation: str, obj: Json) -> None:
        """Ask admission about what is stored nowhere."""
        await self.propose(call, operation, obj)
        await self.approve(call, operation, obj)

    async def propose(self, call: Call, operation: str, obj: Json) -> None:
        """Show admission what is stored nowhere, as it came. Nothing of it is changed."""
        if call.target.namespace and not obj["metadata"].get("namespace"):
            obj["metadata"]["namespace"] = call.target.namespace
        if self._admission is not None:
            await self._admission.mutate(call, operation, obj, None)

    async def approve(self, call: Call, operation: str, obj: Json) -> None:
        """Ask admission whether what is stored nowhere may be, as it has become."""
        if self._admission is not None:
            await self._admission.validate(call, operation, obj, None)

    # Delete

    async def delete(self, call: Call, options: DeleteOptions, *, asking: bool = True) -> Written:
        """Delete an object, or begin to: it stays as long as something holds it. Admission is asked, where `asking`."""
        target = call.target
        for _ in range(_MOST_TRIES):
            record = self._store.get(target.kind.bucket, target.key)
            if record is None:
                raise statuses.not_found(target.kind.plural, target.kind.group, target.name)
            try:
                return await self._delete(call, record, options, asking=asking)
            except Occupied:
                continue
        raise statuses.conflict(target.kind.plural, target.kind.group, target.name, MODIFIED)

    async def _delete(self, call: Call, record: Record, options: DeleteOptions, *, asking: bool) -> Written:
        kind = call.target.kind
        old = await self._versions.load(kind, record.data)
        self.check_preconditions(call, old, options)
        if asking and self._admission is not None:
            await self._admission.validate(call, "DELETE", None, old)
        new, marked = self._marked(kind, old, options)
        if new is None:
            return Written(old)
        if self._held(new):
            if new == old or options.dry_run:
                return Written(new)
            return Written(await self._commit_whole(kind, call.target.key, new, expected=record.revision))
        if options.dry_run:
            return Written(new if marked else old, deleted=True)
        if marked:  # those who watch see it go in two steps
            old = await self._commit_whole(kind, call.target.key, new, expected=record.revision)
            there = self._store.get(kind.bucket, call.target.key)
            if there is None or there.revision != int(old["metadata"]["resourceVersion"]):
                return Written(old, deleted=True)  # somebody was faster
            record = there
        return Written(self._remove(kind, call.target.key, old, record), deleted=True)

    def _marked(self, kind: Kind, old: Json, options: DeleteOptions) -> tuple[Json | None, bool]:
        """The object as it is while it goes (None: as it is), and whether that is told where nothing holds it."""
        strategy = self.strategy(kind)
        made = dict(old["metadata"])
        grace = strategy.grace(old, options.grace)
        if made.get("deletionTimestamp") and grace is not None:
            left = made.get("deletionGracePeriodSeconds", 0)
            if options.grace is None or options.grace >= left > 0:
                return None, False
        if kind.bucket == "namespaces":
            return self._terminating(old), False
        doomed = strategy.doomed(old, self._around.stamp())
        if doomed is not None:
            return in_order(kind, doomed), False
        first = not made.get("deletionTimestamp")
        finalizers = _finalizers(strategy, made.get("finalizers") or [], options.policy)
        if finalizers != (made.pop("finalizers", None) or []) or finalizers:
            made["finalizers"] = finalizers
        shorter = grace is not None and grace < made.get("deletionGracePeriodSeconds", 0)
        if first or shorter:
            made["deletionTimestamp"] = self._stamp_in(grace or 0)
            made["deletionGracePeriodSeconds"] = grace or 0
            if first and made.get("generation"):
                made["generation"] += 1
        elif "deletionGracePeriodSeconds" not in made:
            made["deletionGracePeriodSeconds"] = 0
        return in_order(kind, {**old, "metadata": made}), grace is not None

    def _terminating(self, old: Json) -> Json:
        if old["metadata"].get("deletionTimestamp"):
            return old
        made = {**old["metadata"], "deletionTimestamp": self._around.stamp()}
        return {**old, "metadata": made, "status": {**(old.get("status") or {}), "phase": "Terminating"}}

    def _held(self, new: Json) -> bool:
        made = new["metadata"]
        spec = cast("Json", new.get("spec") or {})
        return bool(made.get("finalizers") or made.get("deletionGracePeriodSeconds") or spec.get("finalizers"))

    def check_preconditions(self, call: Call, old: Json, options: DeleteOptions) -> None:
        """Refuse where an object is not the one that is to be deleted, or not in that version."""
        kind, name = call.target.kind, call.target.name
        uid, version = old["metadata"]["uid"], old["metadata"]["resourceVersion"]
        if options.uid is not None and options.uid != uid:
            why = (
                f"the UID in the precondition ({options.uid}) does not match the UID in record ({uid}). "
                "The object might have been deleted and then recreated"
            )
            raise statuses.conflict(kind.kind, kind.group, name, why)
        if options.resource_version is not None and options.resource_version != version:
            why = (
                f"the ResourceVersion in the precondition ({options.resource_version}) does not match the "
                f"ResourceVersion in record ({version}). The object might have been modified"
            )
            raise statuses.conflict(kind.kind, kind.group, name, why)

    def _stamp_in(self, seconds: int) -> str:
        wrapped = (seconds * 10**9 + 2**63) % 2**64 - 2**63  # Go counts it in nanoseconds, of 64 bits
        return (self._around.now() + timedelta(microseconds=wrapped // 1000)).strftime("%Y-%m-%dT%H:%M:%SZ")

    # Inner parts

    async def _note_fields(self, call: Call, old: Json | None, new: Json) -> None:
        """Note who sets what: before the server sets what nobody else may, for that is nobody's."""
        if not call.applies:
            new["metadata"]["managedFields"] = await self._versions.knowing(
                call.target.kind, call.known, lambda: fields_after(call, old, new, self._around.now())
            )

    async def _commit_whole(self, kind: Kind, key: str, obj: Json, *, expected: int) -> Json:
        stored = await self._versions.to_store(kind, obj, whole=True)
        return await self._commit(kind, key, obj, stored, expected=expected)

    async def _commit(self, kind: Kind, key: str, obj: Json, stored: Json, *, expected: int) -> Json:
        """Store the object, as what it is stored as, and return it as it is from now on."""
        self._put(kind, key, stored, expected=expected)
        return await self._shown(kind, obj, stored)

    def _put(self, kind: Kind, key: str, stored: Json, *, expected: int) -> None:
        revision = self._store.revision + 1
        self._store.commit(kind.bucket, key, encode(kind, stored, revision), expected=expected)
        stored["metadata"]["resourceVersion"] = str(revision)

    async def _shown(self, kind: Kind, obj: Json, stored: Json) -> Json:
        """The object that is stored so, as it is read."""
        if stored is obj:
            return in_order(kind, obj)
        version = stored["metadata"].get("resourceVersion", "")  # a dry run has made nothing that has one
        shown = await self._versions.load(kind, encode(kind, stored, int(version or self._store.revision)))
        if not version:
            del shown["metadata"]["resourceVersion"]
        return shown

    def _remove(self, kind: Kind, key: str, old: Json, record: Record) -> Json:
        revision = self._store.revision + 1
        data = restamped(record.data, revision)
        self._store.commit(kind.bucket, key, data, expected=record.revision, gone=True)
        return {**old, "metadata": {**old["metadata"], "resourceVersion": str(revision)}}


def check_uid(call: Call, new: Json, old: Json) -> None:
    """The object that an update brings has to be the one that is there, and no other of its name."""
    uid, was, kind = new["metadata"].get("uid"), old["metadata"]["uid"], call.target.kind
    if uid and uid != was:
        where = f"/registry/{kind.plural}/{call.target.key}"
        said = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {was}"
        why = f"StorageError: invalid object, Code: 4, Key: {where}, ResourceVersion: 0, AdditionalErrorMsg: {said}"
        raise statuses.conflict(kind.plural, kind.group, call.target.name, why)


def _finalizers(strategy: Strategy, there: list[str], policy: str) -> list[str]:
    """What holds an object once it is to be deleted in this way."""
    if not policy:
        policy = "Orphan" if "orphan" in there else "Foreground" if "foregroundDeletion" in there else ""
    policy = policy or strategy.default_policy
    kept = [each for each in there if each not in ("orphan", "foregroundDeletion")]
    added = {"Orphan": ["orphan"], "Foreground": ["foregroundDeletion"]}.get(policy, [])
    return kept + added
