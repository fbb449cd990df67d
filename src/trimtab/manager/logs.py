"""The log of a process: one line an entry, JSON or for a terminal, from whoever it comes.

What libraries say through Python's `logging` goes the same way as what controllers say through structlog. What looks
like a secret is taken out on that way, and tracebacks come without the values of variables.
"""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Iterable, Mapping, MutableMapping
from typing import Any, Final, Literal, TextIO, TypeAlias, cast

from trimtab.controller.context import current_context

Format: TypeAlias = Literal["json", "console"]
Level: TypeAlias = Literal["debug", "info", "warning", "error"]

HIDDEN: Final = "[hidden]"
_DEEPEST: Final = 20  # what is nested deeper, or in itself, is not looked through
_NAMED_SECRET: Final = re.compile(
    r"(?i)(^|[_.-])(password|passwd|token|authorization|api_?key|private_?key|client_?secret|credentials?)$"
)
_SECRET: Final = re.compile(r"(?i)(?P<before>\b(?:bearer|basic)\s+)[A-Za-z0-9._~+/=-]{6,}|(?P<scheme>://)[^/\s@]+@")


def configure_logs(form: Format | None = None, level: Level = "info", *, stream: TextIO | None = None) -> Format:
    """Set up structlog and `logging` for this process; says in which form.

    Without one it is for a terminal where there is one, else JSON.
    """
    import structlog  # noqa: PLC0415 - it takes long where rich is installed, and a program may be ready first

    out = stream or sys.stderr
    form = form or ("console" if out.isatty() else "json")
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        say_for_which,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    if form == "json":
        rendering: list[Any] = [
            structlog.processors.EventRenamer("message"),
            structlog.processors.format_exc_info,  # before secrets are hidden: they may be in a traceback too
            hide_secrets,
            structlog.processors.JSONRenderer(default=repr),
        ]
    else:
        console = structlog.dev.ConsoleRenderer(
            colors=out.isatty(), exception_formatter=structlog.dev.plain_traceback, pad_event_to=40
        )
        rendering = [structlog.processors.format_exc_info, hide_secrets, console]
    handler = logging.StreamHandler(out)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *rendering],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    logging.captureWarnings(True)
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.PositionalArgumentsFormatter(),
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    return form


def say_for_which(_: object, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Put controller, key and reconcile id on whatever is said during a reconcile, also by libraries."""
    context = current_context()
    if context is not None:
        for name, value in context.log_fields().items():
            event.setdefault(name, value)
    return event


def hide_secrets(_: object, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Take out what is named like a secret, and what looks like one: bearer tokens, passwords in URLs."""
    for name, value in event.items():
        event[name] = _hidden(name, value)
    return event


def _hidden(name: object, value: Any, depth: int = 0) -> Any:
    if depth > _DEEPEST or (isinstance(name, str) and _NAMED_SECRET.search(name)):
        return HIDDEN
    match value:
        case str():
            return _without_secrets(value)
        case bytes():
            return HIDDEN
        case BaseException():
            return _without_secrets(str(value))
        case Mapping():  # such as the headers of a request
            inner = cast("Mapping[object, Any]", value)
            return {of: _hidden(of, each, depth + 1) for of, each in inner.items()}
        case list() | tuple():
            return [_hidden("", each, depth + 1) for each in cast("Iterable[Any]", value)]
        case _:
            return value


def _without_secrets(text: str) -> str:
    return _SECRET.sub(
        lambda found: f"{found['before'] or found['scheme']}{HIDDEN}{'@' if found['scheme'] else ''}", text
    )
