"""Waiting until a cluster is as somebody wants it: by watching, never by sleeping."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from trimtab.client import Client, Expired
from trimtab.client.options import LabelQuery
from trimtab.errors import TrimtabError
from trimtab.kube.wire import K, to_wire

if TYPE_CHECKING:
    from trimtab.kube.dynamic import Dynamic
    from trimtab.kube.objects import Object

SECONDS = 20.0
_SHOWN = 600


class Waited(TrimtabError):
    """What was waited for did not come true in time."""


async def until(
    client: Client,
    kind: type[K],
    name: str,
    condition: Callable[[K], object] | None = None,
    *,
    namespace: str | None = None,
    timeout: float = SECONDS,
) -> K:
    """Wait until an object is there, and the condition holds of it. Waited says how it was last."""
    last: K | None = None
    try:
        async with asyncio.timeout(timeout), aclosing(_states(client, kind, namespace, None, name)) as states:
            async for state in states:
                last = next(iter(state.values()), None)
                if last is not None and (condition is None or condition(last)):
                    return last
    except TimeoutError:
        pass
    what = f"{kind.resource.kind} {name}"
    raise Waited(f"waited {timeout:g} s in vain for {what}: {'it is not there' if last is None else _shown(last)}")


async def until_gone(
    client: Client, kind: type[Object | Dynamic], name: str, *, namespace: str | None = None, timeout: float = SECONDS
) -> None:
    """Wait until there is no such object."""
    last: Any = None
    try:
        async with asyncio.timeout(timeout), aclosing(_states(client, kind, namespace, None, name)) as states:
            async for state in states:
                if not state:
                    return
                last = next(iter(state.values()))
    except TimeoutError:
        pass
    raise Waited(f"waited {timeout:g} s in vain for {kind.resource.kind} {name} to go: {_shown(last)}")


async def until_all(
    client: Client,
    kind: type[K],
    condition: Callable[[list[K]], object],
    *,
    namespace: str | None = None,
    labels: LabelQuery = None,
    timeout: float = SECONDS,
) -> list[K]:
    """Wait until the condition holds of all objects that are selected; in all namespaces unless one is given."""
    last: list[K] = []
    try:
        async with asyncio.timeout(timeout), aclosing(_states(client, kind, namespace, labels)) as states:
            async for state in states:
                last = list(state.values())
                if condition(last):
                    return last
    except TimeoutError:
        pass
    shown = "; ".join(_shown(each) for each in last[:3]) or "there are none"
    raise Waited(f"waited {timeout:g} s in vain for {len(last)} {kind.resource.kind}s: {shown}")


async def _states(
    client: Client, kind: type[K], namespace: str | None, labels: LabelQuery, name: str = ""
) -> AsyncGenerator[dict[str, K]]:
    """What there is of a kind, now and after each change."""
    fields = {"metadata.name": name} if name else None
    where = (namespace or client.namespace) if name and kind.resource.namespaced else namespace
    while True:
        listed = await client.list(kind, namespace=where, labels=labels, fields=fields)
        state = {each.metadata.uid: each for each in listed}
        yield state
        version = listed.resource_version
        try:
            async with client.watch(
                kind, namespace=where, labels=labels, fields=fields, resource_version=version
            ) as events:
                async for event in events:
                    uid = event.object.metadata.uid
                    if event.type == "DELETED":
                        state.pop(uid, None)
                    else:
                        state[uid] = event.object
                    yield state
        except Expired:
            pass


def _shown(obj: Object | Dynamic) -> str:
    wire = to_wire(obj)
    text = f"{obj!r} {wire.get('status') or wire}"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
