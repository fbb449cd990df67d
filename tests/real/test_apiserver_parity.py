"""The embedded server and kube-apiserver answer the same scripts alike, field by field and revision by revision."""

from __future__ import annotations

import asyncio
import http.client
import ssl
from collections.abc import Generator
from contextlib import closing, contextmanager

import pytest
from tests.parity.masking import Mask
from tests.parity.playing import Answer, Script, Send, play
from tests.parity.scripts import AREAS

from trimtab.apiserver.messages import Request, Response
from trimtab.apiserver.server import ADMIN, Server
from trimtab.testing.control_plane import ControlPlane

# The scripts in which every answer is equal by now; the rest of the corpus says what is still to be done.
EQUAL = frozenset(
    {
        "errors/unknown paths",
        "errors/not there",
        "errors/too large",
        "writes/create twice with a name made",
        "writes/dry run",
        "updates/nothing changes",
        "updates/finalizers while it is deleted",
        "deletes/delete",
        "deletes/preconditions",
        "deletes/propagation",
        "deletes/deletecollection",
        "deletes/namespaces",
        "lists/lists",
        "watches/events",
        "watches/from now",
        "watches/initial events",
        "watches/with finalizers",
        "watches/nothing changed",
    }
)
CHOSEN = [(area, script) for area, scripts in AREAS.items() for script in scripts if f"{area}/{script.name}" in EQUAL]


@contextmanager
def asking_real(plane: ControlPlane) -> Generator[Send]:
    tls = ssl.create_default_context(cadata=plane.authority.certificate.decode())
    connection = http.client.HTTPSConnection(plane.url.removeprefix("https://"), context=tls, timeout=60)
    token = plane.token("token-admin")

    def send(
        method: str, path: str, body: bytes | None, headers: dict[str, str]
    ) -> tuple[int, list[tuple[str, str]], bytes]:
        connection.request(method, path, body, {"Authorization": f"Bearer {token}", **headers})
        answer = connection.getresponse()
        return answer.status, answer.getheaders(), answer.read()

    with closing(connection):
        yield send


def ask_ours(server: Server) -> Send:
    async def ask(
        method: str, path: str, body: bytes | None, headers: dict[str, str]
    ) -> tuple[int, list[tuple[str, str]], bytes]:
        path, _, query = path.partition("?")
        named = {name.lower(): value for name, value in headers.items()}
        answer = await server.handle(Request(method, path, query, named, body or b"", ADMIN))
        told = [("Content-Type", answer.content_type), *answer.headers]
        if isinstance(answer, Response):
            return answer.status, told, answer.body if method != "HEAD" else b""
        pieces = b""
        while piece := await answer.source.read():
            pieces += piece
        return answer.status, told, pieces

    def send(
        method: str, path: str, body: bytes | None, headers: dict[str, str]
    ) -> tuple[int, list[tuple[str, str]], bytes]:
        return asyncio.run(ask(method, path, body, headers))

    return send


def played(script: Script, send: Send, namespace: str) -> list[dict[str, object]]:
    send("POST", "/api/v1/namespaces", b'{"metadata":{"name":"%b"}}' % namespace.encode(), {})
    answers: list[Answer] = play(script, send, namespace)
    mask = Mask(namespace, answers)
    return [mask.of(answer) for answer in answers]


@pytest.mark.parametrize(("area", "script"), CHOSEN, ids=[f"{area}-{script.name}" for area, script in CHOSEN])
def test_both_servers_answer_alike(control_plane: ControlPlane, real_namespace: str, area: str, script: Script) -> None:
    namespace = f"{real_namespace}-p"
    with asking_real(control_plane) as send:
        theirs = played(script, send, namespace)
    ours = played(script, ask_ours(Server()), namespace)
    for number, (step, one, other) in enumerate(zip(script.steps, ours, theirs, strict=True)):
        assert one == other, f"{area}/{script.name}, step {number}: {step.method} {step.path}"
