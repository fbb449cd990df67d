"""How many events the simulated parts of a cluster tell: as many as kubelets do, and no more."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from trimtab.controller import Options

_AT_ONCE: Final = 100.0
_PER_SECOND: Final = 50.0


class Budget:
    """A hundred at once, then fifty a second: thousands of Pods that start at once would make tens of thousands."""

    def __init__(self, _: Options | None = None) -> None:
        self._left = _AT_ONCE
        self._at: datetime | None = None

    def allows(self, now: datetime) -> bool:
        """Whether one more may be told."""
        if self._at is not None:
            gained = max(0.0, (now - self._at).total_seconds()) * _PER_SECOND
            self._left = min(_AT_ONCE, self._left + gained)
        self._at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True
