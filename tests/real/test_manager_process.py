"""One process: what it tells, how it begins and how it ends."""

from __future__ import annotations

import asyncio
import re
import signal
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from trimtab.client import Client
from trimtab.kube.core.v1 import ConfigMap
from trimtab.testing.control_plane import ControlPlane

from .cache_helpers import config_map
from .manager_helpers import Replicas, replicas, writers

# As semantics.md lists them.
METRICS = {
    *("controller_runtime_reconcile_total", "controller_runtime_reconcile_errors_total"),
    *("controller_runtime_terminal_reconcile_errors_total", "controller_runtime_reconcile_panics_total"),
    *("controller_runtime_reconcile_timeouts_total", "controller_runtime_reconcile_time_seconds_bucket"),
    *("controller_runtime_max_concurrent_reconciles", "controller_runtime_active_workers"),
    *("workqueue_depth", "workqueue_adds_total", "workqueue_queue_duration_seconds_bucket"),
    *("workqueue_work_duration_seconds_bucket", "workqueue_unfinished_work_seconds"),
    *("workqueue_longest_running_processor_seconds", "workqueue_retries_total"),
    *("rest_client_requests_total", "leader_election_master_status", "process_cpu_seconds_total"),
}

STUBBORN = """
import time

import trimtab
from trimtab.kube.core.v1 import ConfigMap

app = trimtab.App("stubborn")


@app.controller(ConfigMap, where=trimtab.labelled("write"))
def stubborn(cm, ctx):
    ctx.log.info("at work")
    time.sleep(3600)
"""


@pytest.fixture
async def several(control_plane: ControlPlane, client: Client, tmp_path: Path) -> AsyncIterator[Replicas]:
    async with replicas(control_plane.kubeconfig(), client.namespace, tmp_path) as several:
        yield several


async def test_health_and_metrics_are_told_from_the_first_moment(several: Replicas, client: Client) -> None:
    one = await several.start("--leader-elect", "--workers", "write=3")
    await one.says("leading: ")
    assert await one.get("/healthz") == (200, "ok")
    assert (await one.get("/livez?verbose"))[1] == "[+]ping ok\n[+]watches ok\nlivez check passed\n"
    assert (await one.get("/readyz?verbose"))[1] == (
        "[+]ping ok\n[+]caches ok\n[+]leader-election ok\nreadyz check passed\n"
    )
    assert await one.get("/readyz/caches") == (200, "ok")
    assert (await one.get("/nothing"))[0] == 404

    told = await one.metrics()  # nothing has happened yet
    assert {name for name, *_ in told} >= METRICS
    results = {result: told["controller_runtime_reconcile_total", "controller=write", f"result={result}"]
               for result in ("error", "requeue", "requeue_after", "success")}  # fmt: skip
    assert results == {"error": 0, "requeue": 0, "requeue_after": 0, "success": 0}
    assert told["controller_runtime_max_concurrent_reconciles", "controller=write"] == 3
    assert told["leader_election_master_status", "name=writer"] == 1
    (host,) = {label for name, *labels in told if name == "rest_client_requests_total" for label in labels[1:2]}
    assert re.fullmatch(r"host=127\.0\.0\.1:\d+", host)

    async with writers(client) as seen:
        await client.create(config_map("in", write="yes"))
        await seen.more(10)
    told = await one.metrics()
    assert told["controller_runtime_reconcile_total", "controller=write", "result=requeue_after"] >= 10
    assert told["rest_client_requests_total", "code=200", host, "method=PATCH"] >= 9
    names = {name for name, *_ in told}
    assert {"trimtab_cache_objects", "trimtab_events_dropped_total"} <= names


async def test_a_role_that_is_missing_is_named_and_ends_the_process(
    control_plane: ControlPlane, client: Client, tmp_path: Path
) -> None:
    nobody = control_plane.kubeconfig("nobody", groups=())
    async with replicas(nobody, client.namespace, tmp_path) as several:
        one = await several.start("--sync-timeout", "3")
        assert await one.ended() == 1
        last = one.entries[-1]["message"]
        assert last.startswith(f"app writer cannot begin: not read within 3 s: configmaps in {client.namespace} ")
        assert re.search(r'User "nobody" cannot (list|watch) resource "configmaps"', last)
        assert not any("Traceback" in line for line in one.lines)


async def test_a_second_signal_ends_it_at_once(several: Replicas, client: Client) -> None:
    several._app.write_text(STUBBORN)
    await client.create(config_map("in", write="yes"))
    one = await several.start()
    await one.says("at work")
    one.process.send_signal(signal.SIGINT)
    await one.says("SIGINT: stopping")
    one.process.send_signal(signal.SIGTERM)
    assert await one.ended(5) == 128 + signal.SIGTERM


async def test_a_function_that_never_ends_is_left_when_the_grace_is_over(several: Replicas, client: Client) -> None:
    several._app.write_text(STUBBORN)
    await client.create(config_map("in", write="yes"))
    one = await several.start("--grace", "1")
    await one.says("at work")
    one.process.send_signal(signal.SIGTERM)
    asked = time.monotonic()
    assert await one.ended(15) == 0
    assert time.monotonic() - asked < 6
    messages = [entry["message"] for entry in one.entries]
    assert any(
        re.match(r"app stubborn \(\S+ \S+/in\) is cut: there is no more time to stop", said) for said in messages
    )


async def test_several_namespaces_and_two_apps_in_one_process(
    several: Replicas, client: Client, control_plane: ControlPlane, tmp_path: Path
) -> None:
    other = several._app.with_name("other.py")
    other.write_text(several._app.read_text().replace('"writer"', '"second"').replace('"out"', '"out2"'))
    with control_plane.namespace() as elsewhere:
        one = await several.start("--namespace", elsewhere, apps=(str(several._app), str(other)))
        await one.says("starting writer, second against https://")
        for namespace in (client.namespace, elsewhere):
            await client.create(config_map("in", write="yes"), namespace=namespace)
        async with asyncio.timeout(30):
            for namespace in (client.namespace, elsewhere):
                for name in ("out", "out2"):
                    async with client.watch(
                        ConfigMap, namespace=namespace, fields={"metadata.name": name}
                    ) as events:  # fmt: skip
                        async for event in events:
                            assert event.object.data["by"] == one.name
                            break
        told = await one.metrics()
        assert told["workqueue_adds_total", "controller=second.write", "name=second.write"] >= 1
