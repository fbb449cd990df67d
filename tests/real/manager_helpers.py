"""`trimtab run` as processes: replicas that can be killed, paused, asked to stop, and looked into."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

from prometheus_client.parser import text_string_to_metric_families

from trimtab.client import Client, Watch
from trimtab.kube.core.v1 import ConfigMap

WRITER = '''
import os
import signal

import trimtab
from trimtab.kube.core.v1 import ConfigMap
from trimtab.kube.meta.v1 import ObjectMeta

app = trimtab.App("writer")
BEAT = app.option("beat", "Seconds between two writes.", default=0.02, parse=float)
PAUSE = app.option("pause-at", "Stop this process right before that write.", default=0, parse=int)
count = 0


@app.controller(ConfigMap, where=trimtab.labelled("write"), writes=[ConfigMap])
async def write(cm, ctx):
    """Write all the time, and say who did it."""
    global count
    count += 1
    out = ConfigMap(metadata=ObjectMeta(name="out"), data={"by": os.environ["REPLICA"], "count": str(count)})
    if count == ctx.option(PAUSE):
        os.kill(os.getpid(), signal.SIGSTOP)  # until somebody sends SIGCONT
    await ctx.apply(out, force=True)
    return trimtab.requeue(after=ctx.option(BEAT))
'''


class Replica:
    """One process."""

    def __init__(self, name: str, process: asyncio.subprocess.Process) -> None:
        self.name = name
        self.process = process
        self.lines: list[str] = []
        self._reading = asyncio.create_task(self._read())
        self._said = asyncio.Condition()

    async def _read(self) -> None:
        assert self.process.stderr is not None
        async for line in self.process.stderr:
            async with self._said:
                self.lines.append(line.decode().rstrip("\n"))
                self._said.notify_all()
        async with self._said:
            self._said.notify_all()

    def __str__(self) -> str:
        return f"{self.name} ({self.process.returncode}):\n" + "\n".join(self.lines)

    @property
    def entries(self) -> list[dict[str, Any]]:
        """What it logged."""
        return [json.loads(line) for line in self.lines if line.startswith("{")]

    async def says(self, text: str, seconds: float = 60) -> str:
        """The line with this text, once it is there."""
        try:
            async with asyncio.timeout(seconds), self._said:
                while True:
                    found = next((line for line in self.lines if text in line), None)
                    if found is not None:
                        return found
                    assert not self._reading.done(), f"it ended without saying {text!r}: {self}"
                    await self._said.wait()
        except TimeoutError:
            raise AssertionError(f"it did not say {text!r} within {seconds} s: {self}") from None

    async def ended(self, seconds: float = 60) -> int:
        """Its exit code, once it has ended."""
        try:
            async with asyncio.timeout(seconds):
                code = await self.process.wait()
                await self._reading
        except TimeoutError:
            raise AssertionError(f"it did not end within {seconds} s: {self}") from None
        return code

    async def get(self, path: str) -> tuple[int, str]:
        """What it answers over HTTP."""
        said = await self.says("health and metrics at ")
        base = json.loads(said)["message"].partition("http://")[2].removesuffix("/metrics")
        return await asyncio.to_thread(_get, f"http://{base}{path}")

    async def metrics(self) -> dict[tuple[str, ...], float]:
        """Values by name and labels."""
        status, text = await self.get("/metrics")
        assert status == 200
        return {
            (sample.name, *(f"{name}={value}" for name, value in sorted(sample.labels.items()))): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        }

    async def leads(self) -> bool:
        """Whether it says that it leads."""
        told = await self.metrics()
        return any(value == 1 for key, value in told.items() if key[0] == "leader_election_master_status")


def _get(url: str) -> tuple[int, str]:
    try:
        with urlopen(url, timeout=10) as answer:
            return answer.status, answer.read().decode()
    except HTTPError as error:
        return error.code, error.read().decode()


class Replicas:
    """Several, of one app."""

    def __init__(self, kubeconfig: Path, namespace: str, app: Path) -> None:
        self.all: list[Replica] = []
        self._kubeconfig = kubeconfig
        self._namespace = namespace
        self._app = app

    async def start(self, *flags: str, apps: tuple[str, ...] = ()) -> Replica:
        name = f"replica-{len(self.all)}"
        words = [
            *("run", *(apps or (str(self._app),)), "--kubeconfig", str(self._kubeconfig)),
            *("--namespace", self._namespace, "--lease-namespace", self._namespace),
            *("--listen", "127.0.0.1:0", "--log-format", "json", *flags),
        ]
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "trimtab", *words),
            env=os.environ | {"REPLICA": name},
            stderr=asyncio.subprocess.PIPE,
            limit=1 << 20,
        )
        replica = Replica(name, process)
        self.all.append(replica)
        return replica

    async def end(self) -> None:
        for replica in self.all:
            if replica.process.returncode is None:
                replica.process.send_signal(signal.SIGKILL)
                await replica.ended()


@asynccontextmanager
async def replicas(kubeconfig: Path, namespace: str, folder: Path, app: str = WRITER) -> AsyncIterator[Replicas]:
    """Start some in the block; they end with it."""
    path = folder / "app.py"
    path.write_text(app)
    several = Replicas(kubeconfig, namespace, path)
    try:
        yield several
    finally:
        await several.end()


class Writers:
    """Who wrote the object `out`, in order, each once for an uninterrupted series of writes."""

    def __init__(self) -> None:
        self.order: list[str] = []
        self.writes = 0
        self._changed = asyncio.Condition()

    async def follow(self, events: Watch[ConfigMap]) -> None:
        async for event in events:
            if event.type != "DELETED" and event.object.metadata.name == "out":
                async with self._changed:
                    self.writes += 1
                    by = event.object.data["by"]
                    if self.order[-1:] != [by]:
                        self.order.append(by)
                    self._changed.notify_all()

    async def until(self, *names: str, seconds: float = 60) -> None:
        """Until exactly these wrote, one after the other."""
        try:
            async with asyncio.timeout(seconds), self._changed:
                await self._changed.wait_for(lambda: len(self.order) >= len(names))
        except TimeoutError:
            pass
        assert self.order == [*names]

    async def more(self, number: int = 20, seconds: float = 30) -> None:
        """Until there were so many writes more."""
        wanted = self.writes + number
        async with asyncio.timeout(seconds), self._changed:
            await self._changed.wait_for(lambda: self.writes >= wanted)


@asynccontextmanager
async def writers(client: Client) -> AsyncIterator[Writers]:
    """Follow who writes."""
    seen = Writers()
    async with client.watch(ConfigMap, namespace=client.namespace) as events:
        following = asyncio.create_task(seen.follow(events))
        try:
            yield seen
        finally:
            following.cancel()
