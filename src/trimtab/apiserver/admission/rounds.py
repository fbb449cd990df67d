"""Who is asked once more: those that changed an object, or looked at it, before others changed it."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Final

import msgspec

_encode: Final = msgspec.json.Encoder(order="deterministic").encode


class Rounds:
    """What webhooks, or policies, did in the first round, and which of them are due in the second."""

    def __init__(self) -> None:
        self.again = False
        """Whether this is the second round."""
        self.wanted = False
        """Whether there has to be a second one."""
        self._asked: set[Hashable] = set()
        self._due: set[Hashable] = set()
        self._output = b""

    def begin(self, obj: Any) -> None:
        """A round begins with this object: where others changed it since the last, all are due."""
        if self.again and _encode(obj) != self._output:
            self._require()

    def end(self, obj: Any) -> None:
        """A round ends with this object."""
        self._output = _encode(obj)

    def skips(self, one: Hashable) -> bool:
        """Whether one is not asked in this round."""
        return self.again and one not in self._due

    def changed(self) -> None:
        """The object was changed: who was asked before is due."""
        self._require()
        self.wanted = True

    def asked(self, one: Hashable) -> None:
        """One was asked that wants to be asked once more when others change the object."""
        self._asked.add(one)

    def _require(self) -> None:
        self._due |= self._asked
        self._asked = set()
