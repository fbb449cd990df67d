"""`python -m trimtab.apiserver`: a server on loopback, until it is told to stop."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import signal
import sys
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

from trimtab.apiserver.http import Listener
from trimtab.apiserver.keys import Keys
from trimtab.apiserver.server import ADMIN, Server
from trimtab.apiserver.storage import Database, Store
from trimtab.errors import TrimtabError
from trimtab.startup import begun


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(prog="python -m trimtab.apiserver", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="for HTTPS; 0 takes any that is free")
    parser.add_argument("--http-port", type=int, help="for HTTP without TLS, with the bearer token; off by default")
    parser.add_argument("--kubeconfig", type=Path, required=True, help="the file to write for clients")
    parser.add_argument("--data-dir", type=Path, help="keep all objects here; without, they are in memory")
    given = parser.parse_args(arguments)
    try:
        asyncio.run(_run(given))
    except TrimtabError as error:
        print(f"trimtab: {error}", file=sys.stderr)  # noqa: T201 - it is a program
        return 1
    except OSError as error:
        print(f"trimtab: cannot listen or write: {error}", file=sys.stderr)  # noqa: T201
        return 1
    return 0


async def _run(given: argparse.Namespace) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    folder: Path | None = given.data_dir
    keys = Keys.make() if folder is None else Keys.in_folder(folder)
    store = Store(None if folder is None else Database(folder / "objects.db"))
    async with serving(Server(store), keys, given.port, given.http_port) as (secure, plain):
        keys.write_kubeconfig(given.kubeconfig, secure.url, ADMIN.name, ("system:masters",))
        where = f"{secure.url} and {plain.url}" if plain else secure.url
        begun()
        print(f"ready at {where}, kubeconfig in {given.kubeconfig}", flush=True)  # noqa: T201
        await stop.wait()


@contextlib.asynccontextmanager
async def serving(
    server: Server, keys: Keys, port: int = 0, http_port: int | None = None
) -> AsyncGenerator[tuple[Listener, Listener | None]]:
    """Serve over HTTPS, and over HTTP where that has a port."""
    server.identities.add_token(keys.token, ADMIN)
    if keys.accounts:
        server.access.tokens.use(keys.accounts)
    secure = Listener(server.handle, tls=keys.server_context())
    plain = Listener(server.handle) if http_port is not None else None
    try:
        await secure.start(port)
        server.address = secure.url.removeprefix("https://")
        if plain is not None:
            await plain.start(http_port or 0)
        yield secure, plain
    finally:
        await secure.stop()
        if plain is not None:
            await plain.stop()
        server.close()
