"""`EventSink`: where a controller's events go. The recorder (`events/`) is one."""

from __future__ import annotations

from typing import Literal, Protocol, TypeAlias

from trimtab.kube.dynamic import Dynamic
from trimtab.kube.objects import Object

EventType: TypeAlias = Literal["Normal", "Warning"]


class EventSink(Protocol):
    """Takes events for people to read. It never waits, and never fails because of the server."""

    def event(
        self,
        regarding: Object | Dynamic,
        type: EventType,  # noqa: A002  # its name in the API
        reason: str,
        note: str,
        *,
        action: str,
        related: Object | Dynamic | None = None,
        controller: str,
    ) -> None:
        """Something happened to an object: `reason` in one word, `note` in a sentence, `action` is what was done."""
        ...


class NoEvents:
    """Lets events fall, where nobody asked for them."""

    def event(
        self,
        regarding: Object | Dynamic,
        type: EventType,  # noqa: A002
        reason: str,
        note: str,
        *,
        action: str,
        related: Object | Dynamic | None = None,
        controller: str,
    ) -> None:
        """Do nothing."""
