"""Ask a real API server all of `script.py`, and keep what it answers: python tests/apiserver/access/recording.py"""

from __future__ import annotations

import json
import ssl
import sys
import time
from http.client import HTTPSConnection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).parent))
from playing import play
from script import USERS, steps

from trimtab.testing.control_plane import ControlPlane

ANSWERS = Path(__file__).parent / "data/answers.json"


def main() -> None:
    users = {"admin": ("system:masters",), **USERS}
    with ControlPlane(users=users) as plane, TemporaryDirectory():
        tls = ssl.create_default_context(cadata=plane.authority.certificate.decode())
        connection = HTTPSConnection(urlsplit(plane.url).netloc, context=tls, timeout=10)

        def send(
            method: str, path: str, body: bytes | None, headers: dict[str, str]
        ) -> tuple[int, dict[str, str], str]:
            if "watch" in path:
                headers = {**headers, "Connection": "close"}
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            body_ = response.read().decode()
            if method == "DELETE" or (method != "GET" and "rbac" in path):
                time.sleep(0.1)  # the real one hears of what it looks at
            return response.status, dict(response.headers), body_

        bearers = {name: token for name, (token, _) in plane._users.items()}
        answers: list[Any] = play(steps(), bearers, send)
    lines = ",\n".join(json.dumps(answer, ensure_ascii=False) for answer in answers)
    ANSWERS.write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
