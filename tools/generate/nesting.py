"""Which nested values are always there."""

from __future__ import annotations

from typing import Any

from schemas import BUILT_IN, reference


class Nesting:
    """Whether a nested value can be made where it is absent.

    In Go a nested struct that is no pointer is always there; the schema shows it by the default `{}`. Here it can be
    made when it is absent only where its class asks for nothing. Elsewhere it has to be given, as the API server would
    refuse the object without it; except in a status, which nobody writes by hand: there, what the class asks for has
    zeros, or the value may be None where the class serves a spec too.
    """

    def __init__(self, schemas: dict[str, Any]) -> None:
        uses = [
            (owner, name, target, prop.get("default") == {})
            for owner, schema in schemas.items()
            for name, prop in schema.get("properties", {}).items()
            if (target := reference(prop) or reference(prop.get("items", {}))) and target not in BUILT_IN
        ]
        self._of_status: set[str] = set()
        while True:
            elsewhere = {target for owner, name, target, _ in uses if not self._is_status(owner, name)}
            of_status = {target for _, _, target, _ in uses} - elsewhere
            if of_status == self._of_status:
                break
            self._of_status = of_status
        self._zeroed = {target for _, _, target, always in uses if always and target in self._of_status}
        self._demanding: set[str] = set()
        while more := {name for name, schema in schemas.items() if self._asks(name, schema)} - self._demanding:
            self._demanding |= more

    def _is_status(self, owner: str, name: str) -> bool:
        return name == "status" or owner.endswith("Status") or owner in self._of_status

    def _asks(self, name: str, schema: dict[str, Any]) -> bool:
        if name in self._zeroed:
            return False
        required = schema.get("required", ())
        return any(
            reference(prop) in self._demanding if prop.get("default") == {} and reference(prop) else field in required
            for field, prop in schema.get("properties", {}).items()
        )

    def zeroed(self, schema: str) -> bool:
        """True for a class whose required fields have zeros."""
        return schema in self._zeroed

    def of(self, owner: str, name: str, prop: dict[str, Any]) -> str:
        """`made` when absent, `given` always, or `none`."""
        if reference(prop) not in self._demanding:
            return "made"
        return "none" if self._is_status(owner, name) else "given"
