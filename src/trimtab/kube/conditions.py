"""Conditions: what a controller reports of an object's state, each under its type."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypeVar, get_args, overload

import msgspec

from trimtab.kube.invalid import InvalidValueError
from trimtab.kube.meta.v1 import Condition

if TYPE_CHECKING:
    from collections.abc import Sequence

ConditionStatus: TypeAlias = Literal["True", "False", "Unknown"]


class AnyCondition(Protocol):
    """What `Condition` and the built-in kinds' own, as PodCondition, have in common."""

    @property
    def type(self) -> str | None:
        """What it is about, in one word: `Ready`."""
        ...

    @property
    def status(self) -> str | None:
        """`True`, `False` or `Unknown`."""
        ...


C = TypeVar("C", bound=AnyCondition)


def find_condition(conditions: Sequence[C], type_: str) -> C | None:
    """Return the condition of this type, if there is one."""
    return next((each for each in conditions if each.type == type_), None)


def is_condition_true(conditions: Sequence[AnyCondition], type_: str) -> bool:
    """Tell whether the condition of this type is there and `True`."""
    condition = find_condition(conditions, type_)
    return condition is not None and condition.status == "True"


@overload
def set_condition(
    conditions: list[Condition],
    type_: str,
    status: ConditionStatus,
    *,
    reason: str,
    message: str = "",
    observed_generation: int | None = None,
    now: datetime | None = None,
) -> bool: ...


@overload
def set_condition(
    conditions: list[C],
    type_: str,
    status: ConditionStatus,
    *,
    reason: str,
    message: str = "",
    observed_generation: int | None = None,
    now: datetime | None = None,
    of: type[C],
) -> bool: ...


def set_condition(
    conditions: list[Any],
    type_: str,
    status: ConditionStatus,
    *,
    reason: str,
    message: str = "",
    observed_generation: int | None = None,
    now: datetime | None = None,
    of: type[Any] = Condition,
) -> bool:
    """Set the condition of this type, and tell whether that changed anything.

    The time of its last transition moves only when its status changes. `of` is the class of a built-in kind's own
    conditions, such as PodCondition.
    """
    if status not in get_args(ConditionStatus):
        raise InvalidValueError(
            f"status {status!r} of condition {type_!r} is invalid: use 'True', 'False' or 'Unknown'"
        )
    told: dict[str, Any] = {"type": type_, "status": status, "reason": reason, "message": message}
    if observed_generation is not None or hasattr(of, "observed_generation"):
        told["observed_generation"] = observed_generation
    position = next((i for i, each in enumerate(conditions) if each.type == type_), None)
    before = None if position is None else conditions[position]
    if before is None or before.status != status:
        # To the second, as it comes back from the server.
        told["last_transition_time"] = (now or datetime.now(UTC)).replace(microsecond=0)
    if position is None:
        conditions.append(of(**told))
        return True
    conditions[position] = msgspec.structs.replace(conditions[position], **told)
    return conditions[position] != before


def remove_condition(conditions: list[C], type_: str) -> bool:
    """Remove the condition of this type, and tell whether there was one."""
    kept = [each for each in conditions if each.type != type_]
    removed = len(kept) < len(conditions)
    conditions[:] = kept
    return removed
