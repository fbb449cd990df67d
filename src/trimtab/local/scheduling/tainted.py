"""Taints, and who puts up with them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from trimtab.kube.core.v1 import Taint, Toleration
from trimtab.local.scheduling.board import Machine
from trimtab.local.scheduling.wanted import Wanted

_KEEP_OFF: Final = ("NoSchedule", "NoExecute")


def keeps_off(machine: Machine, pod: Wanted) -> bool:
    """Whether a node has a taint that a Pod does not put up with."""
    return any(taint.effect in _KEEP_OFF and not tolerates(pod.tolerations, taint) for taint in machine.taints)


def tolerates(tolerations: Iterable[Toleration], taint: Taint) -> bool:
    """Whether one of these puts up with a taint."""
    return any(
        (not one.effect or one.effect == taint.effect)
        and (not one.key or one.key == taint.key)
        and (one.operator == "Exists" or (bool(one.key) and (one.value or "") == (taint.value or "")))
        for one in tolerations
    )
