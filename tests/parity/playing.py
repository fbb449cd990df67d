"""Plays a script against a server, and writes down what it answers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

HEADERS_THAT_MATTER = ("content-type", "warning", "retry-after", "cache-control", "location", "allow")
_REFERENCE = re.compile(r"\$(\d+)((?:\.[\w-]+)+)")


@dataclass(frozen=True)
class Step:
    """One request."""

    method: str
    path: str
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Script:
    """Requests one after the other, in one area of what a server does."""

    name: str
    steps: list[Step]


@dataclass(frozen=True)
class Answer:
    """What came back: a watch has its events as the body."""

    status: int
    headers: dict[str, list[str]]
    body: Any


Send = Callable[[str, str, bytes | None, dict[str, str]], tuple[int, list[tuple[str, str]], bytes]]


def play(script: Script, send: Send, namespace: str) -> list[Answer]:
    """Send all steps, in order."""
    answers: list[Answer] = []
    for step in script.steps:
        filled = _fill(step, answers, namespace)
        status, headers, body = send(*filled)
        answers.append(Answer(status, _kept(headers), _read(body)))
    return answers


def _fill(step: Step, answers: list[Answer], namespace: str) -> tuple[str, str, bytes | None, dict[str, str]]:
    def fill(text: str) -> str:
        text = _REFERENCE.sub(lambda m: _look_up(answers[int(m[1])].body, m[2][1:].split(".")), text)
        return text.replace("$NS", namespace)

    headers = dict(step.headers)
    body: bytes | None = None
    if isinstance(step.body, bytes):
        body = step.body
    elif isinstance(step.body, str):
        body = fill(step.body).encode()
    elif step.body is not None:
        body = fill(json.dumps(step.body)).encode()
    if body is not None and not any(name.lower() == "content-type" for name in headers):
        headers["Content-Type"] = "application/json"
    return step.method, fill(step.path), body, headers


def _look_up(value: Any, way: list[str]) -> str:
    for name in way:
        if isinstance(value, list):
            value = value[int(name)]
        elif isinstance(value, dict):
            value = value.get(name, "absent")
        else:
            return "absent"
    return str(value)


def _kept(headers: list[tuple[str, str]]) -> dict[str, list[str]]:
    kept: dict[str, list[str]] = {}
    for name, value in headers:
        if name.lower() in HEADERS_THAT_MATTER:
            kept.setdefault(name.lower(), []).append(value)
    return {name: sorted(values) for name, values in kept.items()}


def _read(body: bytes) -> Any:
    """JSON, or JSON line by line, or text."""
    try:
        return json.loads(body)
    except ValueError:
        pass
    try:
        return [json.loads(line) for line in body.splitlines()]
    except ValueError:
        return body.decode("utf-8", "replace")
