"""Events on a real API server, as `kubectl describe` shows them."""

import asyncio
import shutil
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from trimtab.client import Client
from trimtab.controller.events import Recorder
from trimtab.kube.core.v1 import ConfigMap
from trimtab.kube.events.v1 import Event
from trimtab.kube.meta.v1 import ObjectMeta
from trimtab.kube.rbac.v1 import ClusterRole
from trimtab.testing.control_plane import ControlPlane


def describe(config: Path, *what: str) -> str:
    program = shutil.which("kubectl")
    if program is None:
        pytest.skip("no kubectl on PATH")
    command = [program, "--kubeconfig", str(config), "describe", *what]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout


@pytest.fixture
async def recorder(client: Client) -> AsyncIterator[Recorder]:
    recorder = Recorder(client, instance="host")
    running = asyncio.create_task(recorder.run())
    yield recorder
    running.cancel()
    await asyncio.wait([running])


async def test_describe_shows_what_was_told(control_plane: ControlPlane, client: Client, recorder: Recorder) -> None:
    about = await client.create(ConfigMap(metadata=ObjectMeta(name="told")))
    await client.create(ConfigMap(metadata=ObjectMeta(name="other")))
    namesake = ConfigMap(metadata=ObjectMeta(name="told", namespace=client.namespace, uid="of-one-before"))
    recorder.event(namesake, "Normal", "Before", "not of this one", action="Try", controller="tester")
    for _ in range(7):
        recorder.event(about, "Warning", "TooLong", "x" * 2000, action="Try", controller="tester")
    recorder.event(about, "Normal", "Tried", "all is well", action="", controller="tester")
    await recorder.flush(10)
    assert not any(recorder.dropped.values())
    config = control_plane.kubeconfig()
    shown = (await asyncio.to_thread(describe, config, "configmap", "told", "-n", client.namespace)).splitlines()
    events = shown[shown.index("Events:") :] if "Events:" in shown else shown
    lines = [line.split() for line in events if line.startswith("  ")]
    assert [line[:2] for line in lines if line[0] in ("Warning", "Normal")] == [
        ["Warning", "TooLong"],
        ["Normal", "Tried"],
    ]
    long, tried = (line for line in lines if line[0] in ("Warning", "Normal"))
    assert "(x7" in " ".join(long)
    assert " ".join(tried).endswith("tester all is well")
    other = await asyncio.to_thread(describe, config, "configmap", "other", "-n", client.namespace)
    assert "Events:  <none>" in other


async def test_of_an_object_whose_name_no_event_can_have(client: Client, recorder: Recorder) -> None:
    role = await client.get(ClusterRole, "system:node-problem-detector")
    recorder.event(role, "Normal", "Seen", "a role", action="Look", controller="tester")
    await recorder.flush(10)
    assert not any(recorder.dropped.values())
    events = await client.list(Event, namespace="default", fields={"regarding.uid": role.metadata.uid})
    assert [event.note for event in events] == ["a role"]
