"""What a server takes from the world around it, so that tests and the fault campaign can give it another."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from trimtab.kube.timestamps import format_time

_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"  # those that Kubernetes takes: no vowels, so no words


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """A clock and dice."""

    now: Callable[[], datetime] = _now
    dice: random.Random = field(default_factory=random.SystemRandom)

    def uid(self) -> str:
        """A new uid."""
        return str(uuid.UUID(int=self.dice.getrandbits(128), version=4))

    def suffix(self) -> str:
        """The end of a generated name."""
        return "".join(self.dice.choices(_LETTERS, k=5))

    def stamp(self) -> str:
        """The time, as it stands in objects."""
        return format_time(self.now())
