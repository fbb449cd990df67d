"""Finalizers that cannot be forgotten, and `gone`."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.cache.samples import Obj, config_map, merged, virtual
from tests.controller.apiserver import ApiServer
from tests.controller.working import Events, working

from trimtab.controller import App, Context, Finalizer, Predicate, annotated, generation_changed, requeue, terminal
from trimtab.controller.finalizers import Step, next_step
from trimtab.kube.core.v1 import ConfigMap

OURS = "example.com/bucket"
THEIRS = "other.example.com/wait"
LEAVING = {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}


@pytest.mark.parametrize(
    ("wanted", "deleting", "held", "step"),
    [
        (True, False, None, Step.RECONCILE),
        (True, True, None, Step.RECONCILE),
        (False, False, None, Step.FORGET),
        (False, True, None, Step.FORGET),
        (True, False, False, Step.HOLD),
        (True, False, True, Step.RECONCILE),
        (True, True, True, Step.CLEAN_UP),
        (True, True, False, Step.LEAVE),
        (False, False, True, Step.CLEAN_UP),
        (False, True, True, Step.CLEAN_UP),
        (False, False, False, Step.FORGET),
        (False, True, False, Step.FORGET),
    ],
)
def test_what_is_to_be_done(wanted: bool, deleting: bool, held: bool | None, step: Step) -> None:
    assert next_step(wanted=wanted, deleting=deleting, held=held) is step


class Bucket:
    """A controller with something outside to clean up. `log` is what happened, in order."""

    def __init__(self, where: Predicate | None = None) -> None:
        self.app = App("app")
        self.log: list[str] = []
        self.cleanup_answers: list[Any] = []
        self.server = ApiServer(ConfigMap)
        self.server.before_write = lambda asked: self.log.append(asked.verb)

        async def clean_up(cm: ConfigMap, ctx: Context) -> Any:
            self.log.append(f"clean up {ctx.name}")
            answer = self.cleanup_answers.pop(0) if self.cleanup_answers else None
            if isinstance(answer, OSError):
                raise answer
            return answer

        async def gone(key: str, ctx: Context) -> None:
            self.log.append(f"gone {key}")

        @self.app.controller(ConfigMap, where=where, finalizer=Finalizer(OURS, clean_up), gone=gone)
        async def make(cm: ConfigMap, ctx: Context) -> None:
            assert OURS in cm.metadata.finalizers
            self.log.append(f"make {ctx.name}")

    def obj(self, name: str = "a") -> Obj | None:
        return self.server.get("configmaps", f"default/{name}")

    def finalizers(self, name: str = "a") -> list[str]:
        obj = self.obj(name)
        assert obj is not None
        return obj["metadata"].get("finalizers", [])

    async def change(self, change: Obj, name: str = "a") -> None:
        self.server.put(merged(self.obj(name), change))
        await asyncio.sleep(1)

    async def new(self) -> list[str]:
        await asyncio.sleep(1)
        found, self.log[:] = list(self.log), []
        return found


@virtual
async def test_the_finalizer_is_on_before_the_reconciler_is_called_and_off_after_cleanup_returned() -> None:
    bucket = Bucket()
    bucket.server.put(config_map("a", finalizers=[THEIRS]))
    async with working(bucket.app, bucket.server):
        assert (await bucket.new())[:2] == ["patch", "make a"]
        assert bucket.finalizers() == [THEIRS, OURS]
        await bucket.change(LEAVING)
        assert await bucket.new() == ["clean up a", "patch"]
        assert bucket.finalizers() == [THEIRS]
        await bucket.change({"metadata": {"finalizers": None}})  # whoever held it as well lets go
        assert await bucket.new() == ["gone default/a"]


@virtual
async def test_it_stays_while_cleanup_fails_or_has_not_finished_and_an_event_says_why() -> None:
    bucket, events = Bucket(), Events()
    bucket.server.put(config_map("a"))
    async with working(bucket.app, bucket.server, events=events):
        await bucket.new()
        bucket.cleanup_answers = [OSError("no route to the bucket"), requeue(after=20), terminal("give up")]
        await bucket.change(LEAVING)
        assert await bucket.new() == ["clean up a"] * 2
        assert bucket.finalizers() == [OURS]
        told = ("a", "Warning", "CleanupFailed", f"{OURS} stays on, because cleaning up failed: no route to the bucket")
        assert events.told == [told]
        await asyncio.sleep(30)
        assert await bucket.new() == ["clean up a"]
        assert bucket.finalizers() == [OURS]
        assert events.told[-1][3].endswith("give up")
        await bucket.change({"data": {"x": "1"}})
        assert await bucket.new() == ["clean up a", "patch", "gone default/a"]


@virtual
async def test_other_peoples_finalizers_survive_a_race() -> None:
    bucket = Bucket()
    raced: list[str] = []

    def race(asked: Any) -> None:
        bucket.log.append(asked.verb)
        if len(raced) < 3:
            raced.append(f"race-{len(raced)}.example.com/x")
            obj = bucket.obj()
            assert obj is not None
            finalizers = [*obj["metadata"].get("finalizers", []), raced[-1]]
            bucket.server.put(merged(obj, {"metadata": {"finalizers": finalizers}}))

    bucket.server.put(config_map("a"))
    bucket.server.before_write = race
    async with working(bucket.app, bucket.server):
        assert set(bucket.finalizers()) == {OURS, *raced}
        raced.clear()
        await bucket.change(LEAVING)
        assert bucket.finalizers().count(OURS) == 0
        assert set(raced) <= set(bucket.finalizers())


@virtual
async def test_what_is_being_deleted_gets_no_finalizer_and_is_not_made() -> None:
    bucket = Bucket()
    bucket.server.put(merged(config_map("a", finalizers=[THEIRS]), LEAVING))
    async with working(bucket.app, bucket.server):
        assert await bucket.new() == []
        assert bucket.finalizers() == [THEIRS]


@virtual
async def test_an_object_that_is_no_longer_wanted_is_cleaned_up_and_let_go() -> None:
    bucket = Bucket(annotated("bucket"))
    bucket.server.put(config_map("a", annotations={"bucket": "1"}))
    async with working(bucket.app, bucket.server):
        assert (await bucket.new())[:2] == ["patch", "make a"]
        await bucket.change({"metadata": {"annotations": None}})
        assert (await bucket.new())[:2] == ["clean up a", "patch"]
        assert bucket.finalizers() == []


@virtual
async def test_one_that_was_left_behind_while_nobody_looked_is_cleaned_up_too() -> None:
    bucket = Bucket(annotated("bucket"))
    bucket.server.put(config_map("a", finalizers=[OURS]))
    async with working(bucket.app, bucket.server):
        assert (await bucket.new())[:2] == ["clean up a", "patch"]
        assert bucket.finalizers() == []


@virtual
async def test_a_predicate_of_changes_does_not_hide_a_deletion() -> None:
    bucket = Bucket(generation_changed)
    bucket.server.put(config_map("a"))
    async with working(bucket.app, bucket.server):
        await bucket.new()
        bucket.cleanup_answers = [terminal("not yet")]
        await bucket.change(LEAVING)
        assert await bucket.new() == ["clean up a"]
        await bucket.change({"data": {"x": "1"}})  # nor what happens to it then
        assert await bucket.new() == ["clean up a", "patch", "gone default/a"]


@virtual
async def test_a_namesake_of_what_was_deleted_meanwhile_is_left_alone() -> None:
    bucket = Bucket()
    bucket.server.put(config_map("a"))
    async with working(bucket.app, bucket.server):
        await bucket.new()

        def replace(asked: Any) -> None:
            bucket.server.before_write = lambda _: None
            bucket.server.delete("default/a", "configmaps")
            bucket.server.put(config_map("a", finalizers=[OURS]))

        bucket.server.before_write = replace
        before = len(bucket.server.writes)
        await bucket.change(LEAVING)
        await asyncio.sleep(1)
        assert bucket.finalizers() == [OURS]  # the new one's, which nobody wants to delete
        assert len(bucket.server.writes) == before + 1  # which was refused
        assert "make a" in await bucket.new()


@virtual
async def test_what_leaves_or_vanishes_while_it_gets_its_finalizer_is_not_made() -> None:
    def leave() -> None:
        bucket.server.put(merged(merged(bucket.obj(), LEAVING), {"metadata": {"finalizers": [THEIRS]}}))

    def vanish() -> None:
        bucket.server.delete("default/a", "configmaps")

    for happens in (leave, vanish):
        bucket = Bucket()

        def race(_: Any, happens: Any = happens, bucket: Bucket = bucket) -> None:
            bucket.server.before_write = lambda _: None
            happens()

        bucket.server.put(config_map("a"))
        bucket.server.before_write = race
        async with working(bucket.app, bucket.server) as controllers:
            assert [line for line in await bucket.new() if line != "gone default/a"] == []
            assert controllers.numbers["make"].results["error"] == 0
            assert bucket.obj() is None or bucket.finalizers() == [THEIRS]


@virtual
async def test_gone_is_called_with_the_key_of_what_vanished_or_is_not_wanted_any_more() -> None:
    app, server, told = App("app"), ApiServer(ConfigMap), []

    async def gone(key: str, ctx: Context) -> None:
        told.append(f"gone {key} {ctx.namespace} {ctx.name}")

    @app.controller(ConfigMap, where=annotated("x"), gone=gone)
    async def make(cm: ConfigMap, ctx: Context) -> None:
        told.append(f"make {ctx.name}")

    for name in "ab":
        server.put(config_map(name, annotations={"x": "1"}))
    server.put(config_map("c"))
    async with working(app, server):
        server.delete("default/a", "configmaps")
        server.put(config_map("b"))
        server.delete("default/c", "configmaps")
        await asyncio.sleep(1)
        assert told == ["make a", "make b", "gone default/a default a", "gone default/b default b"]
