"""Which objects of a collection are meant: by labels, by fields."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver import selectorwords, statuses
from trimtab.apiserver.catalogue import Kind
from trimtab.apiserver.objects import is_current, labels_of, load, settled
from trimtab.kube.fieldselectors import FieldSelector
from trimtab.kube.invalid import InvalidValueError
from trimtab.kube.selectors import Selector

Json: TypeAlias = dict[str, Any]

_OF_KEYS: Final = frozenset({"metadata.name", "metadata.namespace"})


@dataclass(frozen=True, slots=True)
class Selection:
    """What has to be true of an object."""

    labels: Selector
    fields: FieldSelector
    by_key: bool  # the fields can be told from the key alone
    kind: Kind

    @property
    def is_everything(self) -> bool:
        """Whether nothing is left out."""
        return self.labels.is_everything and self.fields.is_everything

    def has(self, key: str, data: bytes) -> bool:
        """Whether a stored object is meant."""
        if not self.labels.is_everything and not self.labels.matches(labels_of(data)):
            return False
        if self.fields.is_everything:
            return True
        if self.by_key:
            namespace, _, name = key.rpartition("/")
            return self.fields.matches({"metadata.name": name, "metadata.namespace": namespace})
        if self.kind.definition is not None and not is_current(self.kind, data):
            data = settled(self.kind, data)
        names = (each.field for each in self.fields.requirements)
        return self.fields.matches(_fields_of(self.kind, load(self.kind, data), names))

    @property
    def name(self) -> str:
        """The one name that is meant, or ""."""
        return dict(self.fields.equalities).get("metadata.name", "")


def selection(kind: Kind, labels: str, fields: str) -> Selection:
    """Read the selectors of a request; refused where they cannot be read, or name fields that the kind has not."""
    try:
        by_labels = Selector.parse(labels) if labels else Selector.everything()
        by_fields = FieldSelector.parse(fields) if fields else FieldSelector()
    except InvalidValueError as error:
        why = selectorwords.label_fault(labels) or selectorwords.field_fault(fields)
        raise statuses.bad_request(why or str(error)) from error
    names = {each.field for each in by_fields.requirements}
    own = kind.facts.field_labels if kind.facts is not None else kind.custom.selectable if kind.custom else ()
    known = _OF_KEYS.union(own)
    if kind.custom is not None and not kind.namespaced:
        known -= {"metadata.namespace"}
    for name in sorted(names - known):
        said = kind.facts.unknown_field_label if kind.facts is not None else "field label not supported: {}"
        said = said or '"{}" is not a known field selector: only "metadata.name", "metadata.namespace"'
        raise statuses.bad_request(said.replace("{}", name))
    return Selection(by_labels, by_fields, names <= _OF_KEYS, kind)


def _fields_of(kind: Kind, obj: Json, names: Iterable[str]) -> dict[str, str]:
    """What an object has in these fields, as field selectors see it."""
    own = _OWN.get(kind.bucket, {})
    return {name: _text(own[name](obj) if name in own else _look_up(obj, name)) for name in names}


def _look_up(obj: Json, name: str) -> Any:
    value: Any = obj
    for part in name.split("."):
        value = cast("Json", value).get(part) if isinstance(value, dict) else None
    return value


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def _first_address(pod: Json) -> str:
    addresses = cast("list[Json]", _look_up(pod, "status.podIPs") or [{}])
    return addresses[0].get("ip", "")


def _source(event: Json) -> str:
    return _look_up(event, "source.component") or event.get("reportingComponent") or ""


# What is not simply what the field of that name holds: zeros that objects leave out, and other names.
_OWN: Final[Mapping[str, Mapping[str, Callable[[Json], Any]]]] = {
    "events": {"source": _source},
    "jobs.batch": {"status.successful": lambda job: _look_up(job, "status.succeeded") or 0},
    "nodes": {"spec.unschedulable": lambda node: bool(_look_up(node, "spec.unschedulable"))},
    "pods": {
        "spec.hostNetwork": lambda pod: bool(_look_up(pod, "spec.hostNetwork")),
        "status.podIP": _first_address,
        "status.podIPs": lambda _: "",
    },
    "replicationcontrollers": {"status.replicas": lambda rc: _look_up(rc, "status.replicas") or 0},
}
