"""Writing the values, and what they were made of, in one request by server-side apply."""

from __future__ import annotations

from collections.abc import Mapping

from trimtab.client import Conflict
from trimtab.controller import Context
from trimtab.controllers.curl_me_that.ownership import claimants, keys_in_conflict, others, owners
from trimtab.controllers.curl_me_that.record import RECORD, Fetched, write_record
from trimtab.kube.core.v1 import ConfigMap
from trimtab.kube.meta.v1 import ObjectMeta


async def write(
    ctx: Context,
    config_map: ConfigMap,
    record: dict[str, Fetched],
    bodies: Mapping[str, bytes],
    had: Mapping[str, Fetched],
) -> dict[str, list[str]]:
    """Apply what is ours of a ConfigMap; `had` is what was ours before. Keys that others claim, and who those are.

    A key that another one claims is left to them, and taken out of `record`; one that was changed by hand is taken
    back. Neither stands in the way of the other keys.
    """
    try:
        await ctx.apply(ours(config_map, record, bodies))
    except Conflict as conflict:
        keys = keys_in_conflict(conflict)
        if not keys:
            raise
    else:
        return {}
    live = await ctx.client.get(ConfigMap, ctx.name, namespace=ctx.namespace)
    us = ctx.client.field_manager
    taken: dict[str, list[str]] = {}
    for key in keys & record.keys():
        by = claimants(live, key, us)
        if not by and key not in had:  # it was not there when we looked
            by = others(owners(live, key), us)
        if by:
            taken[key] = by
            del record[key]
    # At the version that was looked at: were it any other, this could take what others set meanwhile.
    await ctx.apply(ours(config_map, record, bodies, live.metadata.resource_version), force=True)
    return taken


def ours(
    config_map: ConfigMap, record: Mapping[str, Fetched], bodies: Mapping[str, bytes], version: str = ""
) -> ConfigMap:
    """All that we own of the ConfigMap. With its uid: else applying would make one that was deleted anew."""
    meta = config_map.metadata
    applied = ConfigMap(
        metadata=ObjectMeta(name=meta.name, namespace=meta.namespace, uid=meta.uid, resource_version=version)
    )
    if record:
        applied.metadata.annotations[RECORD] = write_record(record)
    for key in record.keys() & bodies.keys():
        text = text_of(bodies[key])
        if text is None:
            applied.binary_data[key] = bodies[key]
        else:
            applied.data[key] = text
    return applied


def text_of(body: bytes) -> str | None:
    """The text, if it is one."""
    try:
        return None if b"\0" in body else body.decode()
    except UnicodeDecodeError:
        return None
