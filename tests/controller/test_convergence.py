"""Whatever happens, in the end the world is as it should be, and then nothing is written any more."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cache.samples import BUSY, config_map, merged, status
from tests.client.conftest import JumpingLoop
from tests.controller.apiserver import ApiServer
from tests.controller.working import working

from trimtab.controller import App, Context, Finalizer
from trimtab.kube.core.v1 import ConfigMap, Secret
from trimtab.kube.meta.v1 import ObjectMeta

OWNERS, NAMES = ("one", "two"), ("a", "b", "c")
FAULTS = {
    "conflict": status(409, "Conflict"),
    "error": status(500, "InternalError"),
    "busy": BUSY,
}

owners, names = st.sampled_from(OWNERS), st.sampled_from(NAMES)
STEPS = st.one_of(
    st.tuples(st.just("want"), owners, st.dictionaries(names, st.sampled_from(["1", "2"]))),
    st.tuples(st.just("leave"), owners, st.just(None)),
    st.tuples(st.just("spoil"), owners, names),
    st.tuples(st.just("delete"), owners, names),
    st.tuples(st.just("fail"), st.sampled_from(["patch", "delete", "get"]), st.sampled_from(sorted(FAULTS))),
    st.tuples(st.just("miss"), st.just("patch"), st.just(None)),
    st.tuples(st.just("lose"), st.just(""), st.integers(1, 3)),
    st.tuples(st.just("cut"), st.just(""), st.just(None)),
    st.tuples(st.just("restart"), st.just(""), st.just(None)),
    st.tuples(st.just("wait"), st.just(""), st.sampled_from([0.0, 0.002, 0.05, 1.0])),
)


def an_app(outside: set[str]) -> App:
    """Each ConfigMap owns Secrets, one for each of its data; and something outside, which has to be cleaned up."""
    app = App("app")

    async def clean_up(cm: ConfigMap, ctx: Context) -> None:
        outside.discard(cm.metadata.uid)

    @app.controller(ConfigMap, owns=[Secret], finalizer=Finalizer("example.com/outside", clean_up), workers=2)
    async def own(cm: ConfigMap, ctx: Context) -> None:
        outside.add(cm.metadata.uid)
        await ctx.own(
            *(
                Secret(metadata=ObjectMeta(name=f"{ctx.name}-{name}"), string_data={"v": value})
                for name, value in cm.data.items()
            )
        )

    return app


class World:
    def __init__(self) -> None:
        self.server = ApiServer(ConfigMap, Secret)
        self.outside: set[str] = set()

    def owner(self, name: str) -> dict[str, Any] | None:
        return self.server.get("configmaps", f"default/{name}")

    def step(self, what: str, which: str, how: Any) -> None:
        server, secret = self.server, f"default/{which}-{how}"
        match what:
            case "want":
                there = self.owner(which)
                server.put(config_map(which, data=how) if there is None else {**there, "data": how})
            case "leave" if self.owner(which):
                leaving = merged(self.owner(which), {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}})
                server.put(leaving)
            case "spoil" if server.get("secrets", secret):
                server.put(merged(server.get("secrets", secret), {"stringData": {"v": "spoilt"}}))
            case "delete" if server.get("secrets", secret):
                server.delete(secret, "secrets")
            case "fail":
                server.next[which].append(FAULTS[how])
            case "miss":
                server.next[which].append(status(404, "NotFound"))
            case "lose":
                server.lost_answers += how
            case "cut":
                for watch in list(server.watches):
                    watch.cut(b'{"type":"MODI')
            case _:
                pass

    def collect(self) -> None:
        """What an owner left that is gone, the collector of a cluster takes."""
        there = {obj["metadata"]["uid"] for obj in self.server.current["configmaps"].values()}
        for key, obj in list(self.server.current["secrets"].items()):
            if obj["metadata"]["ownerReferences"][0]["uid"] not in there:
                self.server.delete(key, "secrets")

    def check(self) -> None:
        wanted = {}
        for name in OWNERS:
            there = self.owner(name)
            if there is not None:
                assert "deletionTimestamp" not in there["metadata"]
                wanted |= {f"default/{name}-{key}": (there["metadata"]["uid"], v) for key, v in there["data"].items()}
        found = {
            key: (obj["metadata"]["ownerReferences"][0]["uid"], obj["stringData"]["v"])
            for key, obj in self.server.current["secrets"].items()
        }
        assert found == wanted
        assert self.outside == {obj["metadata"]["uid"] for obj in self.server.current["configmaps"].values()}


async def live(steps: list[tuple[str, str, Any]]) -> None:
    world = World()
    app = an_app(world.outside)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(working(app, world.server))
        for what, which, how in steps:
            if what == "wait":
                await asyncio.sleep(how)
            elif what == "restart":
                await stack.aclose()
                await stack.enter_async_context(working(app, world.server))
            else:
                world.step(what, which, how)
        world.server.next.clear()
        world.server.lost_answers = 0
        await asyncio.sleep(1200)
        world.collect()
        await asyncio.sleep(1200)
        world.check()
        before = len(world.server.writes)
        await asyncio.sleep(1200)
        assert len(world.server.writes) == before


@settings(max_examples=60, deadline=None)
@given(st.lists(STEPS, max_size=12))
def test_in_the_end_all_is_as_it_should_be_and_then_silence(steps: list[tuple[str, str, Any]]) -> None:
    with asyncio.Runner(loop_factory=JumpingLoop) as runner:
        runner.run(live(steps))
