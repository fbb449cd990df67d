"""Clusters to be measured: each is started, gives its kubeconfig and its processes, and ends."""

import asyncio
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.harness import BenchError
from trimtab import __version__
from trimtab.testing.control_plane import WITH_NODES, ControlPlane

_TICKS = os.sysconf("SC_CLK_TCK")
_UNLIMITED = ("--kube-api-qps=100000", "--kube-api-burst=100000")
_READY_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Up:
    """A cluster that answers, and has its nodes ready."""

    kubeconfig: Path
    pids: tuple[int, ...]
    seconds: float  # from its start
    version: str

    def cpu(self) -> float:
        """The CPU seconds that its processes have taken so far."""
        return sum(map(_cpu_of, self.pids))

    def memory(self) -> int:
        """The bytes that its processes took at the most, added up."""
        return sum(map(_peak_of, self.pids))


Start = Callable[[int], AbstractAsyncContextManager[Up]]
"""Starts a cluster with so many nodes."""


async def compiled() -> None:
    """Have all modules compiled that `trimtab dev` takes, as they are after it ran once."""
    async with local(1):
        pass


@asynccontextmanager
async def local(nodes: int) -> AsyncIterator[Up]:
    """`trimtab dev`, as people start it, without the controllers that come with it: the others have none either."""
    folder = Path(tempfile.mkdtemp(prefix="trimtab-bench-"))
    words = ("--port", "0", "--nodes", str(nodes), "--no-bundled", "--kubeconfig", str(folder / "kubeconfig"))
    with (folder / "said").open("wb") as said:
        began = time.perf_counter()
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "trimtab", "dev", *words), stdout=said, stderr=said, cwd=folder, env=_environment()
        )
        try:
            while b"ready in" not in (folder / "said").read_bytes():
                if process.returncode is not None or time.perf_counter() - began > _READY_SECONDS:
                    raise BenchError(f"trimtab dev is not ready: {(folder / 'said').read_text()[-500:]}")
                await asyncio.sleep(0.005)
            yield Up(folder / "kubeconfig", (process.pid,), time.perf_counter() - began, f"trimtab {__version__}")
        finally:
            if process.returncode is None:
                process.send_signal(signal.SIGINT)
            await process.wait()
            shutil.rmtree(folder)


@asynccontextmanager
async def real(nodes: int, flags: Iterable[str] = ()) -> AsyncIterator[Up]:
    """etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kwok: programs that are there already."""
    more = {name: tuple(flags) for name in ("kube-controller-manager", "kube-scheduler")}
    plane = ControlPlane(components=WITH_NODES, nodes=nodes, flags=more)
    began = time.perf_counter()
    try:
        await asyncio.to_thread(plane.start)
        seconds = time.perf_counter() - began
        yield Up(plane.kubeconfig(), tuple(plane.pids.values()), seconds, f"Kubernetes {plane.version} with kwok")
    finally:
        await asyncio.to_thread(plane.stop)


def unlimited(nodes: int) -> AbstractAsyncContextManager[Up]:
    """The same, where its controllers may ask as often as they like: by default they make 20 Pods a second."""
    return real(nodes, _UNLIMITED)


def _environment() -> dict[str, str]:
    """Let Python keep what it compiled, also where it is told not to keep that beside the sources."""
    folder = Path(tempfile.gettempdir()) / f"trimtab-bench-compiled-{os.getuid()}"
    return {**os.environ, "PYTHONPYCACHEPREFIX": str(folder), "PYTHONDONTWRITEBYTECODE": ""}


def _cpu_of(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text("ascii", "replace").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def _peak_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/status").read_text("utf-8").partition("VmHWM:")[2].split()[0]) * 1024
