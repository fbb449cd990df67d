"""Ask a real API server all of `script.py`, and keep what it answers: python tests/apiserver/admission/recording.py"""

from __future__ import annotations

import json
import ssl
import sys
import time
from http.client import HTTPSConnection
from pathlib import Path
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).parent))
from hooked import play

from trimtab.testing.control_plane import ControlPlane

ANSWERS = Path(__file__).parent / "data/answers.json"


def main() -> None:
    with ControlPlane(users={"admin": ("system:masters",)}) as plane:
        tls = ssl.create_default_context(cadata=plane.authority.certificate.decode())
        connection = HTTPSConnection(urlsplit(plane.url).netloc, context=tls, timeout=30)
        token = plane._users["admin"][0]

        def send(method: str, path: str, body: bytes | None) -> tuple[int, str, str]:
            headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            return response.status, response.headers.get("Warning", ""), response.read().decode()

        answers = play(send, lambda: time.sleep(1))
    lines = ",\n".join(json.dumps(answer, ensure_ascii=False) for answer in answers)
    Path(sys.argv[1] if len(sys.argv) > 1 else ANSWERS).write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
