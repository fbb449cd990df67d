"""How `trimtab run` ends where a reconciler does not: nothing but a signal that cannot be caught should be needed."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

import pytest
from tests.apiserver.running import program

from trimtab.kube.core.v1 import ConfigMap
from trimtab.kube.meta.v1 import ObjectMeta

APP = """
import asyncio, trimtab
from trimtab.kube.core.v1 import ConfigMap
app = trimtab.App("deaf")

@app.controller(ConfigMap, where=lambda cm: cm.metadata.name == "a")
async def never(cm, ctx):
    ctx.log.info("begins")
    while True:
        try:
            await asyncio.sleep(1e9)
        except asyncio.CancelledError:
            pass
"""


@pytest.mark.parametrize(("signals", "code"), [(1, 0), (2, 128 + signal.SIGINT)])
async def test_a_reconciler_that_ignores_its_cancellation_is_named_and_left(
    signals: int, code: int, tmp_path: Path
) -> None:
    (tmp_path / "app.py").write_text(APP)
    async with program(tmp_path) as server:
        async with server.client() as client:
            await client.create(ConfigMap(metadata=ObjectMeta(name="a")))
        words = ("--kubeconfig", server.kubeconfig, "--listen", "off", "--grace", "1" if signals == 1 else "60")
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "trimtab", "run", tmp_path / "app.py", *words), stderr=asyncio.subprocess.PIPE
        )
        try:
            async with asyncio.timeout(40):
                await _says(process, "begins")
                process.send_signal(signal.SIGTERM)
                if signals == 2:
                    await _says(process, "waiting for app deaf (never default/a)")
                    process.send_signal(signal.SIGINT)
                else:
                    await _says(process, "app deaf (never default/a) is abandoned")
                    await _says(process, "stopped")
                assert await process.wait() == code
        finally:
            if process.returncode is None:
                process.kill()
            await process.communicate()


async def _says(process: asyncio.subprocess.Process, text: str) -> None:
    assert process.stderr is not None
    seen: list[str] = []
    while line := (await process.stderr.readline()).decode():
        seen.append(line)
        if text in line:
            return
    pytest.fail("".join(seen))
