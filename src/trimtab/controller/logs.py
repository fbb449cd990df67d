"""The logger that a context gives: structlog's where somebody configured that, else the standard library's."""

from __future__ import annotations

import logging
from collections.abc import MutableMapping
from typing import Any, Final

NAME: Final = "trimtab.controller"


def logger() -> Any:
    """A structlog logger, to be bound.

    Where structlog was not configured its own default would print to the terminal, tracebacks with all local variables,
    and so with what is in Secrets.
    """
    import structlog  # noqa: PLC0415 - it takes long where rich is installed, and most runs say nothing

    if structlog.is_configured():
        return structlog.stdlib.get_logger(NAME)
    return structlog.wrap_logger(logging.getLogger(NAME), [_as_a_line], wrapper_class=structlog.stdlib.BoundLogger)


def _as_a_line(_: Any, __: str, event: MutableMapping[str, Any]) -> tuple[tuple[str, str], dict[str, Any]]:
    error = event.pop("exc_info", None)
    said = event.pop("event", "")
    values = " ".join(f"{name}={value!r}" for name, value in event.items())
    return ("%s", f"{said} {values}"), {"exc_info": error}
