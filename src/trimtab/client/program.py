"""Running a program that talks to a cluster."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TypeVar

from trimtab.errors import TrimtabError

T = TypeVar("T")
_INTERRUPTED = 130  # as shells count it


def run(main: Coroutine[Any, Any, T]) -> T:
    """`asyncio.run`, on uvloop where that is installed. An error for people is one line on stderr, and exit code 1."""
    try:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            return runner.run(main)
    except TrimtabError as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    return import_module("uvloop").new_event_loop if find_spec("uvloop") else None
