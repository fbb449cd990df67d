"""Running a program that talks to a cluster."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable, Coroutine
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TypeVar

from trimtab.errors import TrimtabError

T = TypeVar("T")
_SIGNALLED = 128  # and the number of the signal: how shells tell of it


def run(main: Coroutine[Any, Any, T]) -> T:
    """`asyncio.run`, on uvloop where that is installed. An error for people is one line on stderr, and exit code 1.

    SIGTERM ends the program as Ctrl-C does: what is open is closed.
    """
    try:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            return runner.run(_until_terminated(main))
    except TrimtabError as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit(_SIGNALLED + signal.SIGINT)
    except asyncio.CancelledError:
        sys.exit(_SIGNALLED + signal.SIGTERM)


async def _until_terminated(main: Coroutine[Any, Any, T]) -> T:
    """Let SIGTERM end the program as Ctrl-C does: what is open is closed."""
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    return await main


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    return import_module("uvloop").new_event_loop if find_spec("uvloop") else None
