"""The clock of a lease: it goes on while the machine sleeps, and nobody can set it."""

from __future__ import annotations

import sys
import time
from typing import Final

# `time.monotonic` stands still while a Linux machine is suspended, and on macOS too: a leader that slept an hour would
# take its lease for fresh. Where there is no better clock, that is what is left.
_CLOCK: Final[int | None] = (
    getattr(time, "CLOCK_BOOTTIME", None)
    if sys.platform == "linux"
    else getattr(time, "CLOCK_MONOTONIC", None)
    if sys.platform == "darwin"
    else None
)


def lease_clock() -> float:
    """Seconds since some moment, those included in which the machine slept."""
    return time.monotonic() if _CLOCK is None else time.clock_gettime(_CLOCK)
