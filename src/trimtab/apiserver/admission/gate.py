"""The station of admission: what the server itself, webhooks and policies make of a write, or refuse of it."""

from __future__ import annotations

from typing import Any, TypeAlias

from trimtab.apiserver.access.escalation import check_escalation
from trimtab.apiserver.access.rbac import Rbac
from trimtab.apiserver.calls import Call

Json: TypeAlias = dict[str, Any]


class Gate:
    """Lets through what is written, changes it, or refuses it."""

    def __init__(self, rbac: Rbac) -> None:
        self._rbac = rbac

    async def mutate(self, call: Call, operation: str, new: Json | None, old: Json | None) -> Json | None:
        """What is to be written instead."""
        if new is not None and operation != "DELETE":
            check_escalation(self._rbac, call, new, old)
        return new

    async def validate(self, call: Call, operation: str, new: Json | None, old: Json | None) -> None:
        """Refuse what may not be written."""
