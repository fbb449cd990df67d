"""What is created only for what it does to a Pod: bindings and evictions."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from trimtab.apiserver.calls import Call
from trimtab.apiserver.catalogue import Catalogue, Kind
from trimtab.apiserver.routing import Target
from trimtab.apiserver.storage import Store
from trimtab.apiserver.subresources.binding import bind
from trimtab.apiserver.subresources.eviction import Evictions
from trimtab.apiserver.surroundings import Surroundings
from trimtab.apiserver.writing import Writer

Json: TypeAlias = dict[str, Any]

_NAMES: Final = frozenset({"binding", "eviction"})


class Actions:
    """Does what they ask for."""

    def __init__(self, store: Store, catalogue: Catalogue, writer: Writer, around: Surroundings) -> None:
        self._writer = writer
        self._around = around
        self._evictions = Evictions(store, catalogue, writer, around)
        kind = catalogue.find("", "v1", "pods")
        assert kind is not None
        self._pods: Kind = kind

    def has(self, target: Target) -> bool:
        """Whether what is to be created is one of them. A Binding has an address of its own, too."""
        sub = target.subresource
        return target.kind.plural == "bindings" or (sub is not None and sub.name in _NAMES)

    async def act(self, call: Call, target: Target, obj: Json) -> None:
        """Do it; `call` is how it came, `target` to whom."""
        name = target.name or obj["metadata"].get("name", "")
        sub = target.subresource or self._pods.subresources["binding"]
        pod = Target(self._pods, target.verb, target.namespace, name, sub)
        own = Call(pod, call.user, call.options, call.manager, call.warnings)
        if sub.name == "eviction":
            await self._evictions.evict(own, obj)
        else:
            await bind(self._writer, own, obj, self._around.stamp())
