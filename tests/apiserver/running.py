"""The program in a process of its own."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from trimtab.client import Client, load_config


@dataclass
class Program:
    """A server that runs."""

    process: asyncio.subprocess.Process
    kubeconfig: Path

    def client(self) -> Client:
        return Client(load_config(self.kubeconfig))

    async def kubectl(self, *arguments: str, stdin: str = "", fails: bool = False) -> str:
        """What kubectl prints."""
        environment = {**os.environ, "KUBECONFIG": str(self.kubeconfig), "KUBECACHEDIR": str(self.kubeconfig.parent)}
        pipe = asyncio.subprocess.PIPE
        kubectl = await asyncio.create_subprocess_exec(
            "kubectl", *arguments, env=environment, stdin=pipe, stdout=pipe, stderr=pipe
        )
        out, err = await asyncio.wait_for(kubectl.communicate(stdin.encode()), 60)
        assert (kubectl.returncode != 0) == fails, f"kubectl {' '.join(arguments)}: {out.decode()}{err.decode()}"
        return (err if fails else out).decode()

    async def kill(self) -> None:
        """End it as a crash does."""
        self.process.kill()
        await self.process.wait()


@asynccontextmanager
async def program(folder: Path, *arguments: str) -> AsyncGenerator[Program]:
    """Run it until the end of the context."""
    kubeconfig = folder / "kubeconfig"
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "trimtab.apiserver",
        "--kubeconfig",
        kubeconfig,
        *arguments,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        line = await asyncio.wait_for(process.stdout.readline(), 30)
        assert line.startswith(b"ready at https://"), line
        yield Program(process, kubeconfig)
    finally:
        if process.returncode is None:
            process.terminate()
            await asyncio.wait_for(process.wait(), 30)
        process.stdout.feed_eof()
        await process.stdout.read()
