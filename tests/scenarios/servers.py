"""Where scenarios are played: on a local cluster in virtual time, and on a real control plane with kwok's nodes."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.client.conftest import JumpingLoop
from tests.scenarios import stages
from tests.scenarios.observing import Observed
from tests.scenarios.playing import Pace, play
from tests.scenarios.reading import Scenario
from tests.scenarios.watching import watched

from trimtab.client import Client, load_config
from trimtab.local import Cluster
from trimtab.testing.control_plane import WITH_NODES, ControlPlane

NODES = 2
_START = datetime(2026, 7, 1, 12, tzinfo=UTC)
_LOCAL = Pace(quiet=1.5, patience=900.0)
REAL = Pace(quiet=1.5, patience=75.0)
_FLAGS = {
    # Many scenarios at once: the usual 20 requests a second would make them wait for each other.
    "kube-controller-manager": ["--kube-api-qps=1000", "--kube-api-burst=1000", "--concurrent-cron-job-syncs=20"],
    "kube-scheduler": ["--kube-api-qps=1000", "--kube-api-burst=1000"],
}


def locally(scenario: Scenario) -> Observed:
    """Play a scenario on a cluster of its own."""

    async def run() -> Observed:
        clock = asyncio.get_running_loop().time

        def now() -> datetime:
            return _START + timedelta(seconds=clock())

        async with Cluster(nodes=NODES, clock=clock, now=now) as cluster, watched(cluster.client) as journals:
            return await play(scenario, "scenario", cluster.client, journals, _LOCAL)

    with asyncio.Runner(loop_factory=JumpingLoop) as runner:
        return runner.run(run())


def really(scenarios: Iterable[Scenario], times: int, at_once: int) -> list[list[Observed]]:
    """Play scenarios on a real control plane, each so many times: what was seen, for each scenario."""
    wanted = list(scenarios)

    async def run(plane: ControlPlane) -> list[list[Observed]]:
        room = asyncio.Semaphore(at_once)
        async with Client(load_config(plane.kubeconfig())) as client, watched(client) as journals:

            async def one(number: int, time: int) -> Observed:
                async with room:
                    return await play(wanted[number], f"s{number:03}{'abcdefgh'[time]}", client, journals, REAL)

            pairs = [(number, time) for time in range(times) for number in range(len(wanted))]
            seen = dict(zip(pairs, await asyncio.gather(*(one(*pair) for pair in pairs)), strict=True))
            return [[seen[number, time] for time in range(times)] for number in range(len(wanted))]

    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as config:
        stages.write(Path(config.name))
        flags = {**_FLAGS, "kwok": [f"--config={config.name}"]}
        with ControlPlane(components=WITH_NODES, nodes=NODES, flags=flags) as plane:
            return asyncio.run(run(plane))
