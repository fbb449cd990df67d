"""Going through a script: who asks is put into the headers, and what no two servers answer alike is masked."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from typing import Any

from script import Step

Json = dict[str, Any]
Send = Callable[[str, str, "bytes | None", dict[str, str]], "tuple[int, dict[str, str], str]"]

_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_JWT = re.compile(r"eyJ[\w-]+\.[\w-]+\.[\w-]+")


def masked(value: Any) -> Any:
    """Without what differs each time."""
    if isinstance(value, dict):
        return {key: masked(item) for key, item in value.items() if key not in ("managedFields", "resourceVersion")}
    if isinstance(value, list):
        return [masked(item) for item in value]
    if isinstance(value, str):
        for pattern, name in ((_JWT, "(token)"), (_UID, "(uid)"), (_TIME, "(time)")):
            value = pattern.sub(name, value)
    return value


class Player:
    """Makes requests of steps, and keeps the last token that was issued."""

    def __init__(self, bearers: dict[str, str]) -> None:
        self._bearers = bearers
        self._last = ""

    def request(self, step: Step) -> tuple[str, str, bytes | None, dict[str, str]]:
        who, method, path, body, more = step
        headers = {"Accept": "application/json", "Content-Type": "application/json"}
        if who:
            headers["Authorization"] = f"Bearer {self._last if who == 'last' else self._bearers[who]}"
        text = None if body is None else json.dumps(body)
        if text is not None:
            text = text.replace("{last}", self._last)
            for name, token in self._bearers.items():
                text = text.replace("{token:" + name + "}", token)
        return method, path, None if text is None else text.encode(), {**headers, **more}

    def answer(self, step: Step, status: int, headers: dict[str, str], body: str) -> Json:
        _, method, path, _, _ = step
        try:
            told: Any = json.loads(body)
        except ValueError:
            told = body
        if isinstance(told, dict) and told.get("kind") == "TokenRequest" and status == 201:
            self._last = told["status"]["token"]
        warnings = {name: value for name, value in headers.items() if name.lower() == "warning"}
        shown = masked(told)
        if status == 200 and (isinstance(told, str) or ("metadata" not in told and told.get("kind") != "Status")):
            shown = "(a document)"
        for token in self._bearers.values():
            shown = json.loads(json.dumps(shown).replace(token, "(bearer)"))
        return {"asked": f"{step[0]} {method} {path}", "status": status, "body": shown, **warnings}


def play(steps: Iterable[Step], bearers: dict[str, str], send: Send) -> list[Json]:
    player = Player(bearers)
    answers: list[Json] = []
    for step in steps:
        status, headers, body = send(*player.request(step))
        answers.append(player.answer(step, status, headers, body))
    return answers
