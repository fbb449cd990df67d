"""The station between versions: objects of custom kinds as they are stored, and as they are asked for.

What is stored is in the storage version of its time, and may lack what the definition has defaults for today. So what
is read is made good first: pruned and defaulted by the schema of the version in which it is stored, converted, and
pruned by that of the version that was asked for. Where a webhook converts, that is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias, TypeVar

import msgspec

from trimtab.apiserver.catalogue import Kind
from trimtab.apiserver.conversion import between
from trimtab.apiserver.custom.converting import Convert, converted
from trimtab.apiserver.custom.definition import Definition
from trimtab.apiserver.objects import copied, decode, in_order, is_current, load, settled

Json: TypeAlias = dict[str, Any]
Known: TypeAlias = dict[tuple[str, bytes], Json]
"""By API version and object (as JSON), what a webhook made of it."""
_Made = TypeVar("_Made")

_MOST_KEPT: Final = 4096  # answers of webhooks


class Needed(Exception):
    """An object is needed in another version, for which a webhook has to be asked first."""

    def __init__(self, obj: Json, api_version: str) -> None:
        super().__init__(api_version)
        self.obj = obj
        self.api_version = api_version


class Versions:
    """Objects of custom kinds between their versions; those of other kinds are left as they are."""

    def __init__(self, convert: Convert) -> None:
        self._convert = convert
        self._kept: dict[tuple[Kind, bytes], bytes] = {}

    async def served(self, kind: Kind, stored: Sequence[bytes]) -> list[bytes]:
        """What is stored, as its kind shows it. What a webhook has to convert is sent to it together."""
        if kind.definition is None:
            return list(stored)
        if not kind.definition.asks:
            return [data if is_current(kind, data) else settled(kind, data) for data in stored]
        shown = [self._known(kind, data) for data in stored]
        missing = [place for place, data in enumerate(shown) if data is None]
        if missing:
            objects = [decode(settled(kind, stored[place])) for place in missing]
            made = await self._converted(kind.definition, objects, kind.api_version)
            for place, obj in zip(missing, made, strict=True):
                assert kind.custom is not None
                kind.custom.prune(obj)
                data = msgspec.json.encode(in_order(kind, obj))
                self._keep(kind, stored[place], data)
                shown[place] = data
        return [data for data in shown if data is not None]

    async def load(self, kind: Kind, stored: bytes) -> Json:
        """A stored object, as its kind has it."""
        return load(kind, (await self.served(kind, [stored]))[0])

    async def to_store(self, kind: Kind, obj: Json, *, whole: bool) -> Json:
        """The object as it is to be stored. `whole` says that what its schema does not know is out of it already."""
        definition = kind.definition
        if definition is None:
            return obj
        version = definition.versions[definition.storage_version]
        if version is kind.custom and whole:
            return obj
        [made] = await self._converted(definition, [in_order(kind, obj)], f"{kind.group}/{version.name}")
        made = copied(made)
        version.prune(made)
        if version is not kind.custom:
            version.default(made)  # as whoever reads it would
        return made

    async def knowing(self, kind: Kind, known: Known, make: Callable[[], _Made]) -> _Made:
        """What `make` makes, once it has been told what it has to know of objects in other versions."""
        while True:
            try:
                return make()
            except Needed as needed:
                assert kind.definition is not None
                [made] = await self._converted(kind.definition, [needed.obj], needed.api_version)
                known[needed.api_version, _key(needed.obj)] = made

    async def _converted(self, definition: Definition, objects: list[Json], api_version: str) -> list[Json]:
        return await converted(definition, objects, api_version, self._convert)

    def _known(self, kind: Kind, stored: bytes) -> bytes | None:
        """What is to be shown, where nobody has to be asked for it."""
        if is_current(kind, stored):
            return stored
        if stored.startswith(kind.header):
            return settled(kind, stored)
        return self._kept.get((kind, stored))

    def _keep(self, kind: Kind, stored: bytes, shown: bytes) -> None:
        if len(self._kept) >= _MOST_KEPT:
            self._kept.clear()
        self._kept[kind, stored] = shown


def in_version(kind: Kind, known: Known, obj: Json, api_version: str) -> Json | None:
    """An object in another version of its kind; None where there is no such version."""
    if api_version not in kind.schemas:
        return None
    definition = kind.definition
    if definition is None:
        return between(kind.plural, obj, api_version)
    if not definition.asks:
        return {**obj, "apiVersion": api_version}
    found = known.get((api_version, _key(obj)))
    if found is None:
        raise Needed(obj, api_version)
    return found


def _key(obj: Json) -> bytes:
    return msgspec.json.encode(obj, order="deterministic")
