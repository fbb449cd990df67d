"""Who takes part, started anew for each round: kube-apiserver with its etcd, and ours as a program."""

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.apiserver.driving import HttpsDoor, Used
from bench.harness import BenchError
from bench.loading import server_version
from bench.session import open_session
from trimtab.testing.control_plane import ControlPlane

_TICKS = os.sysconf("SC_CLK_TCK")


@asynccontextmanager
async def kubernetes(announce: Callable[[str], None]) -> AsyncIterator[tuple[HttpsDoor, Used, float]]:
    """Start etcd and kube-apiserver; the last value is how many seconds that took."""
    begun = time.perf_counter()
    with ControlPlane(announce=announce) as plane:
        took = time.perf_counter() - begun
        kubeconfig = str(plane.kubeconfig())
        version = f"Kubernetes {await server_version(kubeconfig)}"
        async with open_session(kubeconfig) as (session, url):
            yield HttpsDoor(session, url), used_by(list(plane.pids.values()), version), took


@asynccontextmanager
async def trimtab() -> AsyncIterator[tuple[HttpsDoor, Used, float]]:
    """Start ours over HTTPS, with objects in memory."""
    with TemporaryDirectory(prefix="trimtab-bench-") as folder:
        kubeconfig = Path(folder) / "kubeconfig"
        begun = time.perf_counter()
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "trimtab.apiserver", "--kubeconfig", kubeconfig), stdout=asyncio.subprocess.PIPE
        )
        try:
            assert process.stdout is not None
            if not await process.stdout.readline():
                raise BenchError("the server inside did not start")
            took = time.perf_counter() - begun
            async with open_session(str(kubeconfig)) as (session, url):
                yield HttpsDoor(session, url), used_by([process.pid], "Trimtab"), took
        finally:
            process.terminate()
            await process.wait()


def used_by(pids: Sequence[int], version: str) -> Used:
    """What these processes use, out of Linux's /proc."""
    return Used(lambda: sum(map(_cpu, pids)), lambda: sum(map(_memory, pids)), version)


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def _memory(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
