"""Plays a script against a server, and writes down what it answers.

`$NS` in a step is a namespace of the script's own, and `$3.metadata.uid` what the answer to the fourth step (the first
is 0) has there.
"""

from __future__ import annotations

import copy
import json
import re
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

HEADERS_THAT_MATTER = (
    "allow",
    "cache-control",
    "content-encoding",
    "content-type",
    "location",
    "retry-after",
    "vary",
    "warning",
    "www-authenticate",
)
_REFERENCE = re.compile(r"\$(\d+)((?:\.[\w-]+)+)")
_PAUSE = 0.05


@dataclass(frozen=True)
class Step:
    """One request, or one call of kubectl (KUBECTL and its arguments), or what webhooks were asked so far (HOOKS).

    It is repeated until its answer contains `until`. What is `live` goes on during the steps that follow.
    """

    method: str
    path: str
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    until: str = ""
    live: bool = False


@dataclass(frozen=True)
class Changed:
    """A body: the object that an earlier step was answered with, and what is to be set in it."""

    step: int
    change: dict[str, Any]


@dataclass(frozen=True)
class Script:
    """Requests one after the other, in one area of what a server does.

    One that is `alone` reads what other scripts change, so nothing else is played beside it. Minors before `since` do
    not stand it. One that is `homeless` needs no namespace of its own.
    """

    name: str
    steps: list[Step]
    alone: bool = False
    since: str = ""
    homeless: bool = False


@dataclass(frozen=True)
class Answer:
    """What came back: a watch has its events as the body."""

    status: int
    headers: dict[str, list[str]]
    body: Any


Raw = tuple[int, list[tuple[str, str]], bytes]


class Server(Protocol):
    """Where a script is played."""

    patience: float

    def send(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> Raw: ...

    def begin(self, method: str, path: str, headers: dict[str, str]) -> Callable[[], Raw]:
        """Send a request, wait for the head of its answer alone, and give what reads the rest."""
        ...

    def kubectl(self, arguments: str, stdin: str) -> tuple[int, str, str]: ...

    def reviews(self, namespace: str) -> list[Any]: ...

    def places(self) -> dict[str, str]:
        """What stands for words like $HOOK."""
        ...


def changed(base: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    """The object with what is to be set in it, by path: a number counts in a list, None takes out."""
    made = copy.deepcopy(base)
    for path, value in change.items():
        at: Any = made
        *way, last = path.split(".")
        for step in way:
            at = at[int(step)] if isinstance(at, list) else at.setdefault(step, {})
        if isinstance(at, list):
            at[int(last) :] = [value]
        elif value is None:
            at.pop(last, None)
        else:
            at[last] = value
    return made


def namespace_of(area: str, script: Script) -> str:
    """A namespace that is the same on all servers."""
    return f"p{zlib.crc32(f'{area}/{script.name}'.encode()):08x}"


def play(script: Script, server: Server, namespace: str) -> list[Answer]:
    """Send all steps, in order, in a namespace made for them."""
    if not script.homeless:
        server.send(
            "POST",
            "/api/v1/namespaces",
            json.dumps({"metadata": {"name": namespace}}).encode(),
            {"Content-Type": "application/json"},
        )
    answers: list[Answer] = []
    running: dict[int, Callable[[], Raw]] = {}
    for number, step in enumerate(script.steps):
        if step.live:
            method, path, _, headers = _fill(step, answers, namespace, server.places())
            running[number] = server.begin(method, path, headers)
            answers.append(Answer(0, {}, None))
        else:
            answers.append(_until(step, answers, namespace, server))
    for number, rest in running.items():
        answers[number] = _answer(rest())
    return answers


def _until(step: Step, answers: list[Answer], namespace: str, server: Server) -> Answer:
    deadline = time.monotonic() + server.patience
    while True:
        answer = _once(step, answers, namespace, server)
        if not step.until or step.until in f"{answer.status} {json.dumps(answer.body)}" or time.monotonic() > deadline:
            return answer
        time.sleep(_PAUSE)


def _once(step: Step, answers: list[Answer], namespace: str, server: Server) -> Answer:
    method, path, body, headers = _fill(step, answers, namespace, server.places())
    if method == "KUBECTL":
        code, out, err = server.kubectl(path, (body or b"").decode())
        return Answer(code, {}, {"stdout": out.splitlines(), "stderr": err.splitlines()})
    if method == "HOOKS":
        return Answer(0, {}, server.reviews(namespace))
    return _answer(server.send(method, path, body, headers))


def _answer(raw: Raw) -> Answer:
    status, headers, body = raw
    return Answer(status, _kept(headers), _read(body))


def _fill(
    step: Step, answers: list[Answer], namespace: str, places: dict[str, str]
) -> tuple[str, str, bytes | None, dict[str, str]]:
    def fill(text: str) -> str:
        if "$" not in text:
            return text
        text = _REFERENCE.sub(lambda m: _look_up(answers[int(m[1])].body, m[2][1:].split(".")), text)
        for word, place in places.items():
            text = text.replace(word, place)
        return text.replace("$NS", namespace)

    headers = {name: fill(value) for name, value in step.headers.items()}
    body: bytes | None = None
    if isinstance(step.body, bytes):
        body = step.body
    elif isinstance(step.body, Changed):
        body = fill(json.dumps(changed(answers[step.body.step].body, step.body.change))).encode()
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
            value = value[int(name)] if name.isdigit() and int(name) < len(value) else None
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
