"""Writers, a server that is killed while they write, and the comparison of what is there with what they were told."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from trimtab.client import ApiError, Client, Retry, TransportError, load_config
from trimtab.kube.core.v1 import ConfigMap
from trimtab.kube.meta.v1 import ObjectMeta

_WRITERS = 4
_NAMES = 8  # of each writer
_BEFORE_READY = 0.2  # of the kills come while the server starts
_STARTS = 0.03  # seconds, about
_WRITES = 0.12  # seconds at most
_PATIENCE = 60.0


@dataclass
class Outcome:
    """What came of it."""

    kills: int = 0
    early: int = 0  # of them before the server was ready
    acknowledged: int = 0
    compared: int = 0
    lost: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Known:
    """What a writer was told last of an object, or asked and was not told: then either may be so."""

    version: int  # 0: it is gone
    text: str
    asked: str | None = None  # "": to delete it

    def fits(self, found: ConfigMap | None) -> bool:
        """Whether it can be so."""
        if found is None:
            return self.version == 0 or self.asked == ""
        text = (found.data or {}).get("text", "")
        version = int(found.metadata.resource_version or "0")
        if self.asked and text == self.asked:
            return version > self.version
        return self.version != 0 and (version, text) == (self.version, self.text)


class Nursery:
    """The process that has servers born."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def bear(self, *arguments: str) -> int:
        """Have one born, and tell its process."""
        assert self._process.stdin is not None
        self._process.stdin.write("\t".join(arguments).encode() + b"\n")
        return int(await self.line())

    async def line(self) -> str:
        """The next line that is said."""
        assert self._process.stdout is not None
        async with asyncio.timeout(_PATIENCE):
            return (await self._process.stdout.readline()).decode().strip()


@asynccontextmanager
async def nursery() -> AsyncGenerator[Nursery]:
    """One that is there until the end of the context."""
    pipe = asyncio.subprocess.PIPE
    program = ("-m", "tests.apiserver.killing.nursery")
    process = await asyncio.create_subprocess_exec(sys.executable, *program, stdin=pipe, stdout=pipe)
    assert process.stdin is not None
    try:
        yield Nursery(process)
    finally:
        process.stdin.close()
        await process.wait()


async def run(folder: Path, kills: int, seed: int, *, tell: bool = False) -> Outcome:
    """Kill so many servers on one folder of data, one after the other."""
    dice, outcome = random.Random(seed), Outcome()
    known: dict[str, _Known] = {}
    kubeconfig = folder / "kubeconfig"
    arguments = ("--kubeconfig", str(kubeconfig), "--data-dir", str(folder / "data"))
    async with nursery() as born:
        while outcome.kills < kills:
            process = await born.bear(*arguments)
            outcome.kills += 1
            if dice.random() < _BEFORE_READY:
                outcome.early += 1
                await asyncio.sleep(dice.random() * _STARTS)
                os.kill(process, signal.SIGKILL)
                while await born.line() != "ended":  # it may have been ready all the same
                    pass
            else:
                said = await born.line()
                assert said.startswith("ready at "), said
                await _use(kubeconfig, process, dice, known, outcome)
                assert await born.line() == "ended"
            if tell and outcome.kills % 100 == 0:
                print(f"{outcome.kills:,} kills, {outcome.acknowledged:,} writes, {len(outcome.lost)} lost", flush=True)
        process = await born.bear(*arguments)
        assert (await born.line()).startswith("ready at ")
        async with Client(load_config(kubeconfig), retry=Retry(attempts=1)) as client:
            await _compare(client, known, outcome)
        os.kill(process, signal.SIGTERM)
        assert await born.line() == "ended"
    return outcome


async def _use(kubeconfig: Path, process: int, dice: random.Random, known: dict[str, _Known], outcome: Outcome) -> None:
    """See that all is there, and write until the server is killed."""
    async with Client(load_config(kubeconfig), retry=Retry(attempts=1)) as client:
        await _compare(client, known, outcome)
        seeds = [dice.randrange(1 << 30) for _ in range(_WRITERS)]
        writing = [asyncio.create_task(_write(client, n, seed, known, outcome)) for n, seed in enumerate(seeds)]
        await asyncio.sleep(dice.random() * _WRITES)
        os.kill(process, signal.SIGKILL)
        await asyncio.gather(*writing)


async def _write(client: Client, number: int, seed: int, known: dict[str, _Known], outcome: Outcome) -> None:
    dice = random.Random(seed)
    with suppress(TransportError):
        while True:
            name = f"w{number}-{dice.randrange(_NAMES)}"
            text = "" if dice.random() < 0.2 else f"{dice.getrandbits(64)}" * dice.choice([1, 100])
            before = known.get(name, _Known(0, ""))
            known[name] = _Known(before.version, before.text, text)
            if text:
                made = ConfigMap(metadata=ObjectMeta(name=name), data={"text": text})
                made = await client.apply(made, force=True)
                known[name] = _Known(int(made.metadata.resource_version or "0"), text)
            else:
                with suppress(ApiError):  # it is not there
                    await client.delete(ConfigMap, name)
                known[name] = _Known(0, "")
            outcome.acknowledged += 1


async def _compare(client: Client, known: dict[str, _Known], outcome: Outcome) -> None:
    there = {each.metadata.name: each for each in await client.list(ConfigMap)}
    for name, told in known.items():
        outcome.compared += 1
        found = there.get(name)
        if not told.fits(found):
            is_there = found and (found.metadata.resource_version, (found.data or {}).get("text"))
            outcome.lost.append(f"after {outcome.kills} kills, {name}: {is_there}, and was told {told}")
        if found is None:
            known[name] = _Known(0, "")
        else:
            known[name] = _Known(int(found.metadata.resource_version or "0"), (found.data or {}).get("text", ""))
