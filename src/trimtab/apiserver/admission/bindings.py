"""The bindings of policies: where a policy holds, and with which parameters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeVar, cast

from trimtab.apiserver.access.rbac import selector_of
from trimtab.apiserver.admission.hooks import Compiled
from trimtab.apiserver.admission.matching import Match
from trimtab.apiserver.admission.requests import Write
from trimtab.apiserver.catalogue import Catalogue, Kind
from trimtab.apiserver.objects import load
from trimtab.apiserver.storage import Store

Json: TypeAlias = dict[str, Any]

_EVERYTHING: Final = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}


class Bindable(Protocol):
    """A policy."""

    @property
    def name(self) -> str:
        """Of the policy."""
        ...

    @property
    def match(self) -> Match:
        """Which writes it is about."""
        ...

    @property
    def param_kind(self) -> tuple[str, str] | None:
        """API version and kind of its parameters."""
        ...


P = TypeVar("P", bound=Bindable)


@dataclass(frozen=True, slots=True)
class Binding:
    """Where a policy holds."""

    name: str
    policy: str
    match: Match | None
    actions: tuple[str, ...]
    params: Json | None


@dataclass(frozen=True, slots=True)
class Bound(Generic[P]):
    """A policy that is about a write: with each of its parameters, or what is wrong with how it is set up."""

    policy: P
    binding: Binding | None  # None where what is wrong is the policy itself
    version: str  # of the kind, as a rule named it
    params: tuple[Any, ...] = ()  # one that is None where there are none to have
    problem: str = ""


class Bindings(Generic[P]):
    """Finds the policies that are bound to a write."""

    def __init__(
        self, store: Store, catalogue: Catalogue, policies: Compiled[P], bucket: str, default: tuple[str, ...] = ()
    ) -> None:
        self._store = store
        self._catalogue = catalogue
        self._policies = policies
        self._bindings = Compiled(store, bucket, lambda name, obj: [_read(name, obj, default)])

    @property
    def any(self) -> bool:
        """Whether there are policies that are bound."""
        return bool(self._bindings.all()) and bool(self._policies.all())

    def bound(self, write: Write) -> Iterator[Bound[P]]:
        """Those that are about a write."""
        versions = self._catalogue.versions_of(write.kind)
        bindings = self._bindings.all()
        for policy in self._policies.all():
            mine = [binding for binding in bindings if binding.policy == policy.name]
            version = policy.match.version(write, versions) if mine else ""
            if version:
                yield from self._with_params(policy, mine, write, versions, version)

    def _with_params(
        self, policy: P, bindings: Iterable[Binding], write: Write, versions: list[str], version: str
    ) -> Iterator[Bound[P]]:
        kind: Kind | None = None
        if policy.param_kind is not None:
            kind = self._kind(*policy.param_kind)
            if kind is None:
                api_version, name = policy.param_kind
                shown = f"{api_version if '/' in api_version else f'/{api_version}'}, Kind={name}"
                why = f"failed to configure policy: failed to find resource referenced by paramKind: '{shown}'"
                yield Bound(policy, None, version, problem=why)
                return
        for binding in bindings:
            if binding.match is not None and not binding.match.version(write, versions):
                continue
            try:
                yield Bound(policy, binding, version, tuple(self._params(kind, binding, write)))
            except _UnboundError as error:
                yield Bound(policy, binding, version, problem=f"failed to configure binding: {error}")

    def _params(self, kind: Kind | None, binding: Binding, write: Write) -> Sequence[Any]:
        """The objects that a policy is evaluated with, one after the other; None where it needs none."""
        ref = binding.params
        if kind is None or ref is None:
            return [None]
        namespace = ref.get("namespace") or write.call.target.namespace if kind.namespaced else ""
        if kind.namespaced and not namespace:
            raise _UnboundError(
                "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
            )
        if ref.get("namespace") and not kind.namespaced:
            raise _UnboundError("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
        found: list[Json] = []
        if ref.get("name"):
            record = self._store.get(kind.bucket, f"{namespace}/{ref['name']}" if namespace else ref["name"])
            found = [] if record is None else [load(kind, record.data)]
        else:
            selector = selector_of(ref.get("selector") or {})
            for record in self._store.scan(kind.bucket, f"{namespace}/" if namespace else ""):
                obj = load(kind, record.data)
                if selector.matches(obj["metadata"].get("labels") or {}):
                    found.append(obj)
        if not found and ref.get("parameterNotFoundAction") != "Allow":
            raise _UnboundError("no params found for policy binding with `Deny` parameterNotFoundAction")
        return found

    def _kind(self, version: str, name: str) -> Kind | None:
        group, _, short = version.rpartition("/")
        kinds = (kind for kind in self._catalogue.kinds() if (kind.group, kind.version) == (group, short))
        return next((kind for kind in kinds if kind.kind == name), None)


class _UnboundError(Exception):
    """A binding's parameters cannot be had."""


def _read(name: str, obj: Json, default: tuple[str, ...]) -> Binding:
    spec = cast("Json", obj.get("spec") or {})
    match = cast("Json | None", spec.get("matchResources"))
    if match is not None and not match.get("resourceRules"):  # all that the policy matches
        match = {**match, "resourceRules": [_EVERYTHING]}
    return Binding(
        name,
        spec.get("policyName", ""),
        None if match is None else Match.read(match, "resourceRules"),
        tuple(spec.get("validationActions") or default),
        spec.get("paramRef"),
    )
