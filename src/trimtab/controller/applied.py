"""What we applied last, remembered so that applying it again makes no request. Pure: no I/O.

Comparing what we want with what is there does not do: the server writes quantities its own way, fills in defaults in
the items of our lists, and lets go of what we dropped only when it is told. So we remember what was sent, and what the
server made of those very fields. The same sent again is settled for as long as these fields are as the server made
them; whoever else changes one of them, or anything that we send otherwise, makes a request.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final, TypeAlias, cast

import msgspec

from trimtab.kube.dynamic import Dynamic
from trimtab.kube.kinds import ResourceClass
from trimtab.kube.shapes import Shape, fields

JSON: TypeAlias = Any

MOST: Final = 200_000
"""So many objects are remembered, about 300 bytes each. To forget one costs a request; what was unused longest goes."""


@dataclass(frozen=True, slots=True)
class Place:
    """Which object was written. What is written to it in several ways (its status, say) is remembered for each."""

    kind: type[Any]
    namespace: str
    name: str


@dataclass(slots=True)
class _Memory:
    sent: bytes
    uid: str
    made: bytes  # of our fields, by the server
    version: str  # at which our fields were seen to be so


class Applied:
    """What one controller applied, by place and way. `uid` and version tell objects and their states apart."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._memories: OrderedDict[Place, dict[str, _Memory]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._memories)

    def is_settled(
        self,
        place: Place,
        way: str,
        sent: bytes,
        uid: str,
        version: str,
        *,
        wire: Callable[[], JSON],
        current: Callable[[], JSON],
    ) -> bool:
        """Whether this is what was sent last to the object of this uid, and still holds at this version.

        `wire` and `current` give what would be sent and what is there, as JSON; asked for where the version is new.
        """
        memory = self._memories.get(place, _NOTHING).get(way)
        if memory is None or memory.sent != sent or memory.uid != uid:
            return False
        self._memories.move_to_end(place)
        if memory.version != version:
            if fingerprint(ours(place.kind, wire(), current())) != memory.made:
                return False
            memory.version = version
        return True

    def learn(self, place: Place, way: str, sent: bytes, wire: JSON, answer: JSON) -> None:
        """Remember what was sent, and what the server answered."""
        meta: dict[str, str] = answer.get("metadata") or {}
        made = fingerprint(ours(place.kind, wire, answer))
        memory = _Memory(sent, meta.get("uid", ""), made, meta.get("resourceVersion", ""))
        self._memories.setdefault(place, {})[way] = memory
        self._memories.move_to_end(place)
        if len(self._memories) > self._most:
            self._memories.popitem(last=False)

    def forget(self, kind: type[Any], namespace: str, name: str) -> None:
        """The object is gone."""
        if self._memories:
            self._memories.pop(Place(kind, namespace, name), None)


def ours(kind: type[Any], wire: JSON, current: JSON) -> JSON:
    """Of an object as it is, the fields that we sent."""
    shape = Shape() if issubclass(kind, Dynamic) else Shape(struct=kind)
    return _ours(shape, wire, current)


def fingerprint(value: object) -> bytes:
    """The same bytes for the same JSON."""
    return blake2b(msgspec.json.encode(value, order="deterministic"), digest_size=16).digest()


def sent_as(obj: ResourceClass, *how: object) -> bytes:
    """The same bytes for the same object sent in the same way."""
    content: Any = obj.to_wire() if isinstance(obj, Dynamic) else obj
    return fingerprint([content, *how])


def _ours(shape: Shape, wire: JSON, current: JSON) -> JSON:
    if isinstance(wire, dict) and isinstance(current, dict):
        inner = {f.name: f.shape for f in fields(shape.struct)} if shape.struct else {}
        other = shape.values or _UNKNOWN
        there = cast("dict[str, JSON]", current)
        return {
            name: _ours(inner.get(name, other), value, there.get(name))
            for name, value in cast("dict[str, JSON]", wire).items()
        }
    if isinstance(wire, list) and isinstance(current, list) and shape.items and shape.keys:
        return _our_items(shape, shape.items, cast("list[JSON]", wire), cast("list[JSON]", current))
    return cast("JSON", current)


def _our_items(shape: Shape, of: Shape, wire: list[JSON], current: list[JSON]) -> list[JSON]:
    """Of a list whose items are told apart by keys, those that we sent; the server may fill in a key by its default."""
    defaults = {f.name: f.shape.default for f in fields(of.struct)} if of.struct else {}

    def identity(item: JSON) -> JSON:
        known = cast("dict[str, JSON]", item) if isinstance(item, dict) else {}
        return tuple(known.get(key, defaults.get(key)) for key in shape.keys)

    there = {identity(item): item for item in current}
    return [_ours(of, item, there.get(identity(item))) for item in wire]


_UNKNOWN: Final = Shape()
_NOTHING: Final[dict[str, _Memory]] = {}
