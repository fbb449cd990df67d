"""The local clusters' contest, with the one that needs no binaries."""

import os
import time

import pytest
from bench.harness import compete
from bench.local import clusters
from bench.local.contest import manifest, scenario


async def test_a_cluster_is_measured_from_its_start_to_its_rest() -> None:
    told: list[str] = []
    outcomes = await compete(scenario(3, 2, idle=0.2).only(["dev"]), 1, told.append)
    each = {outcome.question.name: outcome.entries[0].readings[0].each for outcome in outcomes}
    assert set(each) == {"start", "wall", "cpu", "memory", "idle"}
    assert 0.1 < each["start"] < 20
    assert 0 < each["cpu"] <= 2 * each["wall"] + 0.1
    assert 30 < each["memory"] < 400
    assert len(told) == 1


def test_kubernetes_takes_part_with_its_rate_limits_only_where_that_ends_soon() -> None:
    assert [len(scenario(pods, 10, 1).contestants) for pods in (500, 10_000)] == [3, 2]
    assert manifest(7)["spec"]["replicas"] == 7  # type: ignore[index]


def test_processes_are_measured_from_outside(tmp_path: pytest.TempPathFactory) -> None:
    up = clusters.Up(tmp_path, (os.getpid(), os.getpid()), 0.0, "us")  # type: ignore[arg-type]
    before, began = up.cpu(), time.process_time()
    while time.process_time() - began < 0.1:
        pass
    assert 0.15 <= up.cpu() - before <= 0.4
    assert up.memory() > 40e6
