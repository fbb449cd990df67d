"""The server inside without sockets: does all the work in this process, and prints the answers."""

import argparse
import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass

import msgspec

from bench.apiserver import driving
from bench.apiserver.driving import Used
from bench.cost import cpu_seconds
from bench.harness import BenchError, Reading
from bench.memory import held_memory
from bench.population import pods_by_name
from bench.serverless import served_pods
from trimtab.apiserver.messages import Request, Response
from trimtab.apiserver.server import ADMIN, Server


@dataclass(frozen=True)
class Inside:
    """Straight into the entry."""

    server: Server

    async def send(self, method: str, path: str, body: bytes = b"", content_type: str = "application/json") -> bytes:
        """Send a request."""
        path, _, query = path.partition("?")
        headers = {"content-type": content_type, "user-agent": "bench"}
        answer = await self.server.handle(Request(method, path, query, headers, body, ADMIN))
        assert isinstance(answer, Response)
        if answer.status >= 400:
            raise BenchError(f"{method} {path} was answered {answer.status}: {answer.body[:300].decode()}")
        return answer.body

    @asynccontextmanager
    async def watch(self, path: str) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open a watch."""
        path, _, query = path.partition("?")
        answer = await self.server.handle(Request("GET", path, query, {}, b"", ADMIN))
        assert not isinstance(answer, Response)
        source = answer.source

        async def told() -> AsyncIterator[bytes]:
            while piece := await source.read():
                yield piece

        try:
            yield told()
        finally:
            source.close()


async def _run(options: argparse.Namespace) -> dict[str, Reading]:
    begun = time.perf_counter()
    server = Server()
    used = Used(cpu_seconds, held_memory, "Trimtab")
    took = time.perf_counter() - begun
    if options.held:  # put where a write would put them: what is asked is what they take, not what a write costs
        for number, pod in enumerate(served_pods(options.held)):
            server.store.commit("pods", f"bench/p{number}", pod)
        return {"many": used.reading(used.memory() / 1e6)}
    answers = {"ready": used.reading(took * 1e3), "at first": used.reading(used.memory() / 1e6)}
    answers |= await driving.writes(Inside(server), used, options.writes)
    return answers | await driving.lists(Inside(server), used, pods_by_name(options.pods))


def main() -> None:
    """Do what is asked for."""
    parser = argparse.ArgumentParser("python -m bench.peers.apiserver_inside", description=__doc__)
    for name in ("writes", "pods", "held"):
        parser.add_argument(f"--{name}", type=int, default=0)
    answers = asyncio.run(_run(parser.parse_args()))
    sys.stdout.buffer.write(msgspec.json.encode({name: asdict(each) for name, each in answers.items()}) + b"\n")
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
