"""What a real API server answered to `script.py` (recorded in `data/answers.json`), the one inside answers too."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from hooked import play

from trimtab.apiserver.messages import Request, Response, User
from trimtab.apiserver.server import Server

ANSWERS = json.loads((Path(__file__).parent / "data/answers.json").read_text())
ADMIN = User("admin", ("system:masters", "system:authenticated"), "admin")


def answers() -> list[dict[str, Any]]:
    server = Server()
    with asyncio.Runner() as runner:

        def send(method: str, path: str, body: bytes | None) -> tuple[int, str, str]:
            where, _, query = path.partition("?")
            headers = {"content-type": "application/json"}
            answer = runner.run(server.handle(Request(method, where, query, headers, body or b"", ADMIN)))
            assert isinstance(answer, Response)
            warning = next((value for name, value in answer.headers if name == "Warning"), "")
            return answer.status, warning, answer.body.decode()

        return play(send)


def test_answers_are_those_of_a_real_server() -> None:
    ours = answers()
    different = [
        f"{theirs['asked']}\n  theirs: {json.dumps(theirs)}\n  ours:   {json.dumps(mine)}"
        for mine, theirs in zip(ours, ANSWERS, strict=True)
        if mine != theirs
    ]
    assert not different, f"{len(different)} of {len(ours)} differ:\n" + "\n".join(different)
