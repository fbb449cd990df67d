"""Sends requests, and says which answers are none that a server should give.

Every answer is a Status or a success and comes soon, none is a fault of ours, nothing is logged as one, the server
answers a plain request afterwards, and the process does not grow.
"""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
from tests.apiserver.fuzzing.dice import Source
from tests.apiserver.fuzzing.words import CMS, DEFINITION, DEFINITIONS, OBJECTS, WINGS

from trimtab.apiserver.messages import Request, Response, Streaming
from trimtab.apiserver.server import ADMIN, Server

AT_MOST = 3.0  # seconds of the processor for a request
GROWS_AT_MOST = 200 << 20  # bytes, after the first thousands of requests
A_SERVER_FOR = 1_000  # requests: what some leave behind, such as a webhook for all, would spoil the others
_NOT_OURS = ("failed calling webhook", "conversion webhook for", "cannot unmarshal", "strict decoding error")
"""What Kubernetes too answers with a 500: a webhook failed, or a mutating policy made of an object what is none."""
_PLAIN = (503, 504)
"""There is nobody behind a Service, and a revision that is not there yet."""
_HOOKS = "/apis/admissionregistration.k8s.io/v1/"


class Log(logging.Handler):
    """Keeps what is logged as a fault."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.kept: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.kept.append(record)

    def take(self) -> str:
        """What was logged since, in a line."""
        kept, self.kept = self.kept, []
        told = [
            f"{record.getMessage()}: {record.exc_info[1]!r}" if record.exc_info else record.getMessage()
            for record in kept
        ]
        return "; ".join(told)


@dataclass(frozen=True)
class Finding:
    """A request, and what is wrong with what became of it."""

    number: int
    request: Request
    what: str

    def __str__(self) -> str:
        asked = f"{self.request.method} {self.request.path}?{self.request.query[:200]} {dict(self.request.headers)}"
        return f"{self.number}: {self.what}\n    {asked[:600]}\n    {self.request.body[:600]!r}"


@dataclass
class Outcome:
    """What came of a run."""

    asked: int = 0
    statuses: dict[int, int] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    longest: float = 0.0
    grown: int = 0
    others: int = 0  # 500s of which somebody else is the cause


def memory() -> int:
    """Bytes that this process has now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


async def run(seed: int, count: int, *, tell: bool = False) -> Outcome:
    """Send so many requests into the entry of servers."""
    source, outcome, log = Source(seed), Outcome(), Log()
    logging.getLogger().addHandler(log)
    try:
        server, at_first = await prepared(), 0
        for number in range(count):
            if number % A_SERVER_FOR == A_SERVER_FOR - 1:
                server.close()
                server = await prepared()
            if number % 100 == 99:
                await clear(server)
            if number == min(5 * A_SERVER_FOR, count // 2):
                at_first = memory()
            request = source.request()
            await ask(server, request, number, outcome, log)
            if tell and number % 5000 == 4999:
                print(f"{number + 1:,} requests, {memory() >> 20} MB, {len(outcome.findings)} findings", flush=True)
        outcome.grown = memory() - at_first
        if outcome.grown > GROWS_AT_MOST:
            outcome.findings.append(Finding(count, Request("", ""), f"grown by {outcome.grown >> 20} MB"))
    finally:
        logging.getLogger().removeHandler(log)
    return outcome


async def prepared() -> Server:
    """A server with a little in it."""
    server = Server()
    for obj, path in [(OBJECTS[0], CMS), (DEFINITION, DEFINITIONS), (OBJECTS[6], WINGS)]:
        await server.handle(Request("POST", path, "", {}, msgspec.json.encode(obj), ADMIN))
    namespace = b'{"metadata":{"name":"other"}}'
    await server.handle(Request("POST", "/api/v1/namespaces", "", {}, namespace, ADMIN))
    return server


async def clear(server: Server) -> None:
    """Take away who has a say in other requests, and see that a plain one is answered."""
    for plural in ("validatingwebhookconfigurations", "mutatingwebhookconfigurations", "validatingadmissionpolicies"):
        await server.handle(Request("DELETE", _HOOKS + plural, "", {}, b"", ADMIN))
    answer = await server.handle(Request("GET", "/api/v1/namespaces/default", "", {}, b"", ADMIN))
    assert answer.status == 200


async def ask(server: Server, request: Request, number: int, outcome: Outcome, log: Log) -> None:
    """Send a request, and note what is wrong."""
    before = time.process_time()
    try:
        async with asyncio.timeout(60):
            answer = await server.handle(request)
            if isinstance(answer, Streaming):
                answer = await _beginning(answer)
            wrong = wrong_with(answer)
    except TimeoutError:
        wrong, answer = "no answer in 60 s", Response(0)
    except Exception as error:  # noqa: BLE001 - that is what is looked for
        wrong, answer = f"raised {error!r}", Response(0)
    took = time.process_time() - before
    outcome.asked += 1
    outcome.longest = max(outcome.longest, took)
    outcome.statuses[answer.status] = outcome.statuses.get(answer.status, 0) + 1
    if answer.status == 500:
        outcome.others += 1
    if logged := log.take():
        wrong = f"{wrong}; logged {logged}"
    if took > AT_MOST:
        wrong = f"{wrong}; took {took:.1f} s"
    if wrong:
        outcome.findings.append(Finding(number, request, wrong))


async def _beginning(answer: Streaming) -> Response:
    """What a watch says first, if it says anything by itself."""
    reading = asyncio.ensure_future(answer.source.read())
    await asyncio.sleep(0)
    answer.source.close()
    await reading
    return Response(answer.status, b"", answer.content_type, answer.headers)


def wrong_with(answer: Response, *, bodiless: bool = False) -> str:
    """What is wrong with an answer, or ""."""
    said = answer.body[:4000].decode("utf-8", "replace")
    if answer.status >= 500 and answer.status not in _PLAIN and not any(text in said for text in _NOT_OURS):
        return f"{answer.status}: {said[:300]}"
    if answer.status >= 400 and answer.content_type == "application/json" and not bodiless:
        body = msgspec.json.decode(answer.body)
        if body.get("kind") != "Status" or body.get("code") != answer.status:
            return f"no Status: {said[:300]}"
    elif answer.content_type == "application/json" and answer.body:
        try:
            msgspec.json.decode(answer.body)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            return f"no JSON: {error}"
        except RecursionError:
            return ""
    return ""
