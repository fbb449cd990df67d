"""Where a measurement was made: without it, a number says nothing."""

import os
import platform
import subprocess
from pathlib import Path

import msgspec


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """The facts that go with every table."""

    cpu: str
    cores: int
    memory_gb: float
    kernel: str
    python: str
    go: str
    kubernetes: str  # empty where none takes part
    load: float  # of others, in the minute before we started

    def sentence(self, peers: list[str]) -> str:
        """Say it in one line, with the versions of what was measured."""
        kubernetes = f"Kubernetes {self.kubernetes}, " if self.kubernetes else ""
        return (
            f"{self.cpu}, {self.cores} cores, {self.memory_gb:.0f} GB, {self.kernel}; {kubernetes}"
            f"Python {self.python}, {self.go}; {', '.join(peers)}; load before: {self.load:.1f}"
        )


def look_around(kubernetes: str = "") -> Machine:
    """Find the facts of this machine."""
    return Machine(
        cpu=cpu_model(_read("/proc/cpuinfo")) or platform.processor() or platform.machine(),
        cores=os.cpu_count() or 1,
        memory_gb=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9,
        kernel=f"{platform.system()} {platform.release()}",
        python=platform.python_version(),
        go=_go_version(),
        kubernetes=kubernetes,
        load=os.getloadavg()[0],
    )


def cpu_model(cpuinfo: str) -> str | None:
    """Find the processor's name in the text of Linux's /proc/cpuinfo."""
    for line in cpuinfo.splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return " ".join(value.split())
    return None


def _go_version() -> str:
    try:
        said = subprocess.run(["go", "env", "GOVERSION"], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return "no Go"
    return said.stdout.strip() or "Go"


def _read(path: str) -> str:
    try:
        return Path(path).read_text("utf-8")
    except OSError:  # not Linux
        return ""
