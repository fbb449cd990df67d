"""The examples: README shows what is in the files, and what is in the files works."""

import asyncio
import os
import signal
import sys
from pathlib import Path

from trimtab.client import Client, MergePatch, NotFound, load_config
from trimtab.kube.core.v1 import ConfigMap, Namespace
from trimtab.kube.meta.v1 import ObjectMeta
from trimtab.testing.control_plane import ControlPlane

ROOT = Path(__file__).parents[2]


def test_readme_shows_the_first_controller_as_it_is() -> None:
    example = (ROOT / "examples/welcome.py").read_text()
    assert f"```python\n{example}```\n" in (ROOT / "README.md").read_text()


async def test_the_first_controller_welcomes_old_and_new_namespaces_and_mends_what_is_broken(
    control_plane: ControlPlane, real_namespace: str
) -> None:
    kubeconfig = control_plane.kubeconfig()
    env = os.environ | {"KUBECONFIG": str(kubeconfig)}
    program = (sys.executable, "-m", "trimtab", "run", str(ROOT / "examples/welcome.py"), "--listen", "off")
    process = await asyncio.create_subprocess_exec(*program, env=env, stderr=asyncio.subprocess.DEVNULL)
    try:
        async with asyncio.timeout(30), Client(load_config(kubeconfig)) as client:
            await welcomed(client, real_namespace)
            made = await client.create(Namespace(metadata=ObjectMeta(generate_name="later-")))
            name = made.metadata.name
            await welcomed(client, name)
            await client.delete(ConfigMap, "welcome", namespace=name)
            await welcomed(client, name)
            await client.patch(ConfigMap, "welcome", MergePatch({"data": {"text": "Go away."}}), namespace=name)
            await welcomed(client, name)
            await client.delete(made)
    finally:
        process.send_signal(signal.SIGINT)
        await process.wait()
    assert process.returncode == 0


async def welcomed(client: Client, namespace: str) -> None:
    """Until the ConfigMap says so."""
    while True:
        try:
            text = (await client.get(ConfigMap, "welcome", namespace=namespace)).data["text"]
        except NotFound:
            text = ""
        if text.startswith(f"Welcome to {namespace}, in use since 2"):
            return
        await asyncio.sleep(0.05)
