"""What admission is asked about: a write, as webhooks and policies see it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from trimtab.apiserver.calls import Call
from trimtab.apiserver.catalogue import Kind
from trimtab.apiserver.messages import User
from trimtab.apiserver.objects import in_order
from trimtab.apiserver.scaling import scale_of

Json: TypeAlias = dict[str, Any]

_OPTIONS: Final = {"CREATE": "CreateOptions", "UPDATE": "UpdateOptions", "DELETE": "DeleteOptions"}


@dataclass(slots=True)
class Write:
    """One write: what it makes of what."""

    call: Call
    operation: str  # CREATE, UPDATE or DELETE
    new: Json | None
    old: Json | None
    namespace: Json | None  # the object's namespace, or what is made of it where it is one itself
    in_version: Callable[[str], Kind | None] = lambda _: None  # the kind in another of its versions
    annotations: dict[str, str] = field(default_factory=dict[str, str])  # for those who audit

    @property
    def kind(self) -> Kind:
        """Of which kind the object is."""
        return self.call.target.kind

    @property
    def subresource(self) -> str:
        """`status`, or ""."""
        sub = self.call.target.subresource
        return sub.name if sub is not None else ""

    @property
    def name(self) -> str:
        """The object's name; "" where it is to be generated, or is one of a collection that is deleted."""
        if self.call.collective:
            return ""
        return self.call.target.name or (self.new or {}).get("metadata", {}).get("name", "")

    @property
    def title(self) -> str:
        """How a refusal names the object."""
        made = (self.new or {}).get("metadata", {})
        return self.name or made.get("name") or made.get("generateName") or "Unknown"

    @property
    def about(self) -> tuple[str, str, str]:
        """Group, version and kind of what is written: of a subresource those that it holds."""
        sub = self.call.target.subresource
        if sub is None:
            return self.kind.group, self.kind.version, self.kind.kind
        return sub.group, sub.version, sub.kind

    @property
    def foreign(self) -> bool:
        """Whether a subresource is written that is of another kind than what it hangs below."""
        return self.about[::2] != (self.kind.group, self.kind.kind)

    def shown(self, obj: Json | None, version: str) -> Json | None:
        """The object as it is sent in a version of its group."""
        if obj is None:
            return None
        if self.subresource == "scale":
            return scale_of(self.kind, obj)
        shown = in_order(self.kind, obj if self.foreign else self._converted(obj, self.kind, self.in_version(version)))
        group, own, shown["kind"] = self.about
        wanted = own if self.foreign else version
        shown["apiVersion"] = f"{group}/{wanted}" if group else wanted
        return shown

    def taken(self, obj: Json, version: str) -> Json:
        """An object in a version of its group as its own kind has it."""
        found = self._converted(obj, self.in_version(version), self.kind)
        return {**found, "kind": self.kind.kind, "apiVersion": self.kind.api_version}

    def _converted(self, obj: Json, was: Kind | None, wanted: Kind | None) -> Json:
        if was is None or wanted is None or was.version == wanted.version:
            return obj
        stored = obj if was.conversion is None else was.conversion.write(obj)
        return stored if wanted.conversion is None else wanted.conversion.read(stored)


def request_body(write: Write, uid: str, version: str) -> Json:
    """The `request` of an AdmissionReview; `version` is the one in which a rule named the kind."""
    kind, call = write.kind, write.call
    group, own, name = write.about
    resource = {"group": kind.group, "version": version, "resource": kind.plural}
    made: Json = {
        "uid": uid,
        "kind": {"group": group, "version": own if write.foreign else version, "kind": name},
        "resource": resource,
        "subResource": write.subresource,
        "requestKind": {"group": group, "version": own, "kind": name},
        "requestResource": {**resource, "version": kind.version},
        "requestSubResource": write.subresource,
        "name": write.name,
        "namespace": call.target.namespace or (write.name if kind.bucket == "namespaces" else ""),
        "operation": write.operation,
        "userInfo": user_info(call.user),
    }
    made = {name: value for name, value in made.items() if value}
    return made | {
        "object": write.shown(write.new, version),
        "oldObject": write.shown(write.old, version),
        "dryRun": call.options.dry_run,
        "options": _options(write),
    }


def user_info(user: User) -> Json:
    """Who asks, as it stands in reviews."""
    made: Json = {"username": user.name, "uid": user.uid, "groups": list(user.groups)}
    made["extra"] = {key: list(values) for key, values in user.extra.items()}
    return {name: value for name, value in made.items() if value}


def _options(write: Write) -> Json:
    """The options of the request; those of a patch as if it were the create or the update that it comes to."""
    call = write.call
    made: Json = {"kind": _OPTIONS[write.operation], "apiVersion": "meta.k8s.io/v1"}
    if call.deletion is not None:
        return made | call.deletion.body()
    if call.options.dry_run:
        made["dryRun"] = ["All"]
    if call.options.manager:
        made["fieldManager"] = call.options.manager
    if call.options.validation != "Warn":  # which is what it is where nobody asks
        made["fieldValidation"] = call.options.validation
    return made
