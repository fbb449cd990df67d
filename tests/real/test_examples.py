"""The examples: README shows what is in the files, and what is in the files works."""

import asyncio
import os
import signal
import sys
from pathlib import Path

from trimtab.client import Client, NotFound, load_config
from trimtab.kube.core.v1 import ConfigMap, Namespace
from trimtab.kube.meta.v1 import ObjectMeta
from trimtab.testing.control_plane import ControlPlane

ROOT = Path(__file__).parents[2]


def test_readme_shows_the_first_controller_as_it_is() -> None:
    example = (ROOT / "examples/welcome.py").read_text()
    assert f"```python\n{example}```\n" in (ROOT / "README.md").read_text()


async def test_the_first_controller_welcomes_old_and_new_namespaces(
    control_plane: ControlPlane, real_namespace: str
) -> None:
    kubeconfig = control_plane.kubeconfig()
    env = os.environ | {"KUBECONFIG": str(kubeconfig)}
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(ROOT / "examples/welcome.py"), env=env, stdout=asyncio.subprocess.PIPE
    )
    try:
        async with asyncio.timeout(30), Client(load_config(kubeconfig)) as client:
            await welcomed(client, process, real_namespace)
            made = await client.create(Namespace(metadata=ObjectMeta(generate_name="later-")))
            await welcomed(client, process, made.metadata.name)
            await client.delete(made)
    finally:
        process.send_signal(signal.SIGINT)
        _, _ = await process.communicate()
    assert process.returncode == 130


async def welcomed(client: Client, process: asyncio.subprocess.Process, namespace: str) -> None:
    assert process.stdout is not None
    async for line in process.stdout:
        if line.decode() == f"{namespace} is welcoming\n":
            break
    try:
        made = await client.get(ConfigMap, "welcome", namespace=namespace)
    except NotFound:
        raise AssertionError(f"{namespace} was not welcomed") from None
    assert made.data["text"].startswith(f"Welcome to {namespace}, in use since 2")
