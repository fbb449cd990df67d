"""Builds the peers written in Go, once: Go's own cache knows when there is something to do."""

import asyncio
import os
import shutil
from pathlib import Path

from bench.harness import BenchError

_SOURCE = Path(__file__).parent / "peers" / "go"


async def build(folder: Path) -> Path:
    """Build them into `folder` and return the program."""
    go = shutil.which("go")
    if go is None:
        raise BenchError("Go is not installed, and the peers on client-go are built with it: install it")
    program = (folder / "peer").resolve()
    process = await asyncio.create_subprocess_exec(
        *(go, "build", "-trimpath", "-o", str(program), "."),
        cwd=_SOURCE,
        env={**os.environ, "CGO_ENABLED": "0"},
        stderr=asyncio.subprocess.PIPE,
    )
    _, errors = await process.communicate()
    if process.returncode:
        said = errors.decode(errors="replace").strip().splitlines() or ["it said nothing"]
        raise BenchError(f"go build of bench/peers/go failed: {said[-1]}")
    return program
