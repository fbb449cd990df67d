"""SIGTERM and SIGINT: once drains, twice ends the process now."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

_log = logging.getLogger("trimtab.manager")
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)
_SIGNALLED: Final = 128  # and the number of the signal: how shells tell of it


@contextmanager
def stop_on_signals(stopping: asyncio.Event) -> Generator[None]:
    """Set `stopping` at the first signal; at the second leave without a word to anybody.

    Once the first came, that holds to the end of the process and not of the block: closing the loop may take long too.
    """
    loop = asyncio.get_running_loop()

    asked = False

    def first(number: signal.Signals) -> None:
        nonlocal asked
        asked = True
        for each in _SIGNALS:
            loop.remove_signal_handler(each)
            signal.signal(each, _leave)  # not by the loop: whatever does not let it run may be why we are asked twice
        _log.info("%s: stopping; once more ends this process at once", number.name)
        stopping.set()

    before = {number: signal.getsignal(number) for number in _SIGNALS}
    for number in _SIGNALS:
        loop.add_signal_handler(number, first, number)
    try:
        yield
    finally:
        if not asked:
            for number, handler in before.items():
                loop.remove_signal_handler(number)
                signal.signal(number, handler)


def _leave(number: int, _: object) -> None:
    os._exit(_SIGNALLED + number)
