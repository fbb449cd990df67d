"""What `trimtab dev` shows of what happens in its cluster: a line for each event."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import Final, TextIO

import click

from trimtab.client import ApiError, Client, TransportError
from trimtab.kube.events.v1 import Event

_OBJECT_WIDTH: Final = 42
_REASON_WIDTH: Final = 22
_AGAIN: Final = 1.0
_COLOURS: Final = {"Warning": "yellow"}


def in_colour(out: TextIO) -> bool:
    """Whether colours are wanted: on a terminal, unless NO_COLOR says otherwise."""
    return out.isatty() and not os.environ.get("NO_COLOR")


def line_of(event: Event, *, colour: bool) -> str:
    """One event as a line: when, about what, and what."""
    about = event.regarding
    where = f"{about.namespace}/{about.name}" if about.namespace else about.name or ""
    at = event.series.last_observed_time if event.series is not None else event.event_time
    shown_at = (at or event.metadata.creation_timestamp).astimezone().strftime("%H:%M:%S")
    object_ = f"{about.kind} {where}".ljust(_OBJECT_WIDTH)
    reason = (event.reason or "").ljust(_REASON_WIDTH)
    note = " ".join((event.note or "").split())
    count = event.series.count if event.series is not None else 1
    again = f"  (x{count})" if count > 1 else ""
    if not colour:
        return f"{shown_at}  {object_}  {reason}  {note}{again}"
    return (
        f"{click.style(shown_at, dim=True)}  {click.style(object_, fg='cyan')}  "
        f"{click.style(reason, fg=_COLOURS.get(event.type or '', 'green'), bold=event.type == 'Warning')}  "
        f"{note}{click.style(again, dim=True)}"
    )


async def tell_events(client: Client, say: Callable[[str], None], *, colour: bool) -> None:
    """Show each event of the cluster, from now on, until cancelled."""
    version = (await client.list(Event)).resource_version
    while True:
        try:
            async with client.watch(Event, resource_version=version) as events:
                async for each in events:
                    if each.type != "DELETED":
                        say(line_of(each.object, colour=colour))
                version = events.resource_version
        except (ApiError, TransportError):
            await asyncio.sleep(_AGAIN)
            version = (await client.list(Event)).resource_version
