"""Going through the script, with what no two servers answer alike masked."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from hooked_script import steps
from hooks_server import Webhook

Json = dict[str, Any]
Send = Callable[[str, str, "bytes | None"], "tuple[int, str, str]"]

_MASKS = (
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "(uid)"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "(time)"),
    (re.compile(r"127\.0\.0\.1:\d{4,5}"), "(hook)"),
)


def masked(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: masked(v) for k, v in value.items() if k not in ("managedFields", "resourceVersion", "generation")}
    if isinstance(value, list):
        return [masked(item) for item in value]
    if isinstance(value, str):
        for pattern, name in _MASKS:
            value = pattern.sub(name, value)
    return value


def play(send: Send, settle: Callable[[], None] = lambda: None) -> list[Json]:
    """The answers, each with what the webhook was asked for it; `settle` lets what was configured be heard of."""
    webhook = Webhook()
    answers: list[Json] = []
    try:
        for method, path, body in steps():
            text = None if body is None else json.dumps(body)
            if text is not None:
                text = text.replace("{hook}", webhook.url).replace("{bundle}", webhook.bundle)
            webhook.seen.clear()
            status, warning, answer = send(method, path, None if text is None else text.encode())
            told = {"asked": f"{method} {path}", "status": status}
            if "admissionregistration" in path:
                if status >= 300:
                    told["body"] = masked(json.loads(answer))
                settle()
            else:
                told["body"] = masked(json.loads(answer))
                told["warning"] = warning
                told["seen"] = masked(sorted(webhook.seen, key=lambda each: each["path"]))
            answers.append(told)
    finally:
        webhook.close()
    return answers
