"""Several controllers on one kind, one function on several kinds, several apps in a process; and what they count."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from tests.cache.informing import informing
from tests.cache.samples import config_map, virtual
from tests.controller.apiserver import ApiServer, of_kind
from tests.controller.working import controllers_of, working

import trimtab
from trimtab.controller import App, Context, ControllerCollector, DeclarationError, terminal
from trimtab.kube.core.v1 import ConfigMap, Secret
from trimtab.kube.meta.v1 import ObjectMeta


@virtual
async def test_two_controllers_of_one_kind_share_a_watch_and_nothing_else() -> None:
    app, server, seen = App("app"), ApiServer(ConfigMap), []

    @app.controller(ConfigMap)
    async def one(cm: ConfigMap, ctx: Context) -> None:
        seen.append("one")
        raise OSError("no")

    @app.controller(ConfigMap)
    async def two(cm: ConfigMap, ctx: Context) -> None:
        seen.append("two")

    server.put(config_map("a"))
    async with working(app, server) as controllers:
        assert seen.count("two") == 1
        assert seen.count("one") > 2
        assert controllers.numbers["two"].results["error"] == 0
        assert len(server.watches) == 1


@virtual
async def test_one_function_on_several_kinds_is_one_controller_for_each() -> None:
    app, server, seen = App("app"), ApiServer(ConfigMap, Secret), []

    async def name_it(obj: ConfigMap | Secret, ctx: Context) -> None:
        seen.append(obj.kind)

    for kind in (ConfigMap, Secret):
        app.controller(kind)(name_it)
    server.put(config_map("a"))
    server.put(of_kind("v1", "Secret", "a"))
    async with working(app, server):
        assert sorted(seen) == ["ConfigMap", "Secret"]
        assert list(app.controllers) == ["name-it", "name-it-secret"]


def test_two_controllers_of_one_name_are_refused() -> None:
    app = App("app")

    @app.controller(ConfigMap)
    async def one(cm: ConfigMap, ctx: Context) -> None: ...

    with pytest.raises(DeclarationError, match="two controllers one: give one another name="):
        app.controller(Secret, name="one")(one)
    with pytest.raises(DeclarationError, match="two controllers one"):
        app.controller(ConfigMap)(one)


@virtual
async def test_two_apps_and_one_app_twice_run_side_by_side_over_the_same_informers() -> None:
    def an_app(name: str) -> App:
        app = App(name)

        @app.controller(ConfigMap, name=name, where=lambda cm: cm.metadata.name == "a")
        async def apply(cm: ConfigMap, ctx: Context) -> None:
            await ctx.apply(ConfigMap(metadata=ObjectMeta(name="said"), data={name: "1"}))

        return app

    server, one = ApiServer(ConfigMap), an_app("one")
    server.put(config_map("a"))
    async with informing(server) as informers:
        all_of_them = [controllers_of(app, informers) for app in (one, an_app("two"), one)]
        tasks = []
        for controllers in all_of_them:
            controllers.start()
            tasks.append(asyncio.create_task(controllers.run()))
        await asyncio.sleep(1)
        assert server.get("configmaps", "default/said")["data"] == {"one": "1", "two": "1"}
        assert {asked.query["fieldManager"] for asked in server.writes} == {"one", "two"}
        assert [c.numbers[c.app.name].results["success"] for c in all_of_them] == [1, 1, 1]
        assert len(server.watches) == 1
        for controllers, task in zip(all_of_them, tasks, strict=True):
            controllers.stop()
            await task


@virtual
async def test_metrics_have_controller_runtimes_names_and_begin_at_zero() -> None:
    app, server = App("app"), ApiServer(ConfigMap)

    @app.controller(ConfigMap, workers=3)
    async def c(cm: ConfigMap, ctx: Context) -> Any:
        if cm.data["n"] == "1":
            raise TypeError("a mistake")
        return terminal("no") if cm.data["n"] == "2" else None

    async with working(app, server) as controllers:
        registry = CollectorRegistry()
        registry.register(ControllerCollector(controllers.numbers))
        before = generate_latest(registry).decode()
        for result in ("error", "requeue", "requeue_after", "success"):
            assert f'controller_runtime_reconcile_total{{controller="c",result="{result}"}} 0.0' in before
        for name in ("errors", "panics", "timeouts"):
            assert f'controller_runtime_reconcile_{name}_total{{controller="c"}} 0.0' in before
        assert 'controller_runtime_terminal_reconcile_errors_total{controller="c"} 0.0' in before
        assert 'controller_runtime_reconcile_time_seconds_count{controller="c"} 0.0' in before
        assert 'controller_runtime_reconcile_time_seconds_bucket{controller="c",le="0.005"} 0.0' in before
        assert 'controller_runtime_max_concurrent_reconciles{controller="c"} 3.0' in before
        assert 'controller_runtime_active_workers{controller="c"} 0.0' in before
        server.put(config_map("a", data={"n": "2"}))
        server.put(config_map("b", data={"n": "3"}))
        await asyncio.sleep(1)
        after = generate_latest(registry).decode()
        assert 'controller_runtime_reconcile_total{controller="c",result="error"} 1.0' in after
        assert 'controller_runtime_terminal_reconcile_errors_total{controller="c"} 1.0' in after
        assert 'controller_runtime_reconcile_time_seconds_count{controller="c"} 2.0' in after
        server.put(config_map("a", data={"n": "1"}))
        await asyncio.sleep(0.001)
        assert 'controller_runtime_reconcile_panics_total{controller="c"} 1.0' in generate_latest(registry).decode()


def test_trimtab_offers_what_users_write_with_and_is_light_to_import() -> None:
    for name in trimtab._HOMES:
        assert getattr(trimtab, name) is not None
        assert name in dir(trimtab)
    with pytest.raises(AttributeError, match="no attribute 'Ap'"):
        _ = trimtab.Ap  # type: ignore[attr-defined]
    heavy = "[m for m in sys.modules if m.startswith('trimtab.') or m in ('msgspec', 'asyncio')]"
    out = subprocess.run(
        [sys.executable, "-c", f"import sys, trimtab; print({heavy})"], capture_output=True, text=True, check=True
    )
    assert out.stdout.strip() == "[]"


def test_types_are_as_they_are_meant_to_be() -> None:
    root = Path(__file__).parents[2]
    program = Path(sys.executable).with_name("pyright")
    pyright = [program, "--project", root, Path(__file__).with_name("typing_cases.py")]
    checked = subprocess.run(pyright, check=False, cwd=root, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout
