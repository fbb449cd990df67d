"""What a real API server answered to `script.py` (recorded in `data/answers.json`), the one inside answers too."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from playing import play
from script import USERS, steps

from trimtab.apiserver.messages import Request, Response, User
from trimtab.apiserver.server import ADMIN, Server

ANSWERS = json.loads((Path(__file__).parent / "data/answers.json").read_text())


def answers() -> list[dict[str, Any]]:
    server = Server()
    bearers = {name: f"{name}-token" for name in (*USERS, "admin")}
    for name, groups in USERS.items():
        server.identities.add_token(bearers[name], User(name, (*groups, "system:authenticated"), name))
    server.identities.add_token(bearers["admin"], User("admin", ADMIN.groups, "admin"))
    with asyncio.Runner() as runner:

        def send(
            method: str, path: str, body: bytes | None, headers: dict[str, str]
        ) -> tuple[int, dict[str, str], str]:
            where, _, query = path.partition("?")
            low = {name.lower(): value for name, value in headers.items()}
            answer = runner.run(server.handle(Request(method, where, query, low, body or b"")))
            assert isinstance(answer, Response)
            return answer.status, dict(answer.headers), answer.body.decode()

        return play(steps(), bearers, send)


def unordered(value: Any) -> Any:
    """The rules that hold for somebody come in any order."""
    status = value.get("status") if isinstance(value, dict) else None
    if isinstance(status, dict) and "resourceRules" in status:
        for name in ("resourceRules", "nonResourceRules"):
            status[name] = sorted(status[name], key=str)
            for rule in status[name]:
                rule["verbs"] = sorted(rule["verbs"])
    return value


def test_answers_are_those_of_a_real_server() -> None:
    ours = answers()
    assert len(ours) == len(ANSWERS)
    different = [
        f"{theirs['asked']}\n  theirs: {json.dumps(theirs)}\n  ours:   {json.dumps(mine)}"
        for mine, theirs in zip(ours, ANSWERS, strict=True)
        if {**mine, "body": unordered(mine["body"])} != {**theirs, "body": unordered(theirs["body"])}
    ]
    assert not different, f"{len(different)} of {len(ours)} differ:\n" + "\n".join(different)
