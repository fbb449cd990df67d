"""In which order the parts of a process start and stop, and what becomes of it where one fails."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

import pytest
from tests.cache.samples import virtual

from trimtab.manager.lifecycle import Lifecycle, Part, Phase, Stop


class Lost(Exception):
    pass


class Story:
    """What happened, and when."""

    def __init__(self, *, grace: float = 30.0) -> None:
        self.lifecycle = Lifecycle(grace=grace, urgent=Lost)
        self.stopping = asyncio.Event()
        self.told: list[str] = []
        self.clean: dict[str, bool] = {}
        self.seconds: dict[str, float] = {}

    def part(
        self,
        phase: Phase,
        name: str = "",
        *,
        start: float = 1.0,
        stop: float = 1.0,
        fails_after: float | None = None,
        error: Exception | None = None,
    ) -> None:
        name = name or phase.value

        async def run(ready: Callable[[], None], asked: Stop) -> None:
            self.told.append(f"{name} starts")
            try:
                await asyncio.sleep(start)
                ready()
                if fails_after is not None:
                    await asyncio.sleep(fails_after)
                    raise error or ValueError(f"{name} broke")
                self.seconds[name] = await asked.wait()
                self.clean[name] = asked.clean
                self.told.append(f"{name} stops")
                await asyncio.sleep(stop)
                self.told.append(f"{name} has stopped")
            except asyncio.CancelledError:
                self.told.append(f"{name} is cut")
                raise

        self.lifecycle.add(phase, Part(name, run))

    async def run(self, *, stop_after: float | None = None) -> None:
        if stop_after is not None:
            asyncio.get_running_loop().call_later(stop_after, self.stopping.set)
        await self.lifecycle.run(self.stopping)


@virtual
async def test_each_phase_waits_for_the_one_before_and_all_stop_in_reverse_the_lease_and_the_events_last() -> None:
    story = Story()
    for phase in reversed(Phase):  # in whatever order they were added
        story.part(phase)
    await story.run(stop_after=10)
    assert [line for line in story.told if line.endswith("starts")] == [
        f"{name} starts" for name in ("events", "health", "webhooks", "caches", "others", "election", "leading")
    ]
    stopped = story.told[7:]
    order = ("leading", "others", "caches", "webhooks", "health", "election", "events")
    assert stopped == [f"{name} {what}" for name in order for what in ("stops", "has stopped")]
    assert story.seconds["leading"] == 30
    assert story.seconds["others"] == 29  # it is one time for all
    assert story.seconds["election"] == story.seconds["events"] == 5


@virtual
async def test_what_needs_leadership_waits_for_it_and_a_standby_stops_without_it() -> None:
    story = Story()
    story.part(Phase.CACHES)
    story.part(Phase.ELECTION, start=1000)
    story.part(Phase.LEADING)
    await story.run(stop_after=60)
    assert story.told == [
        "caches starts", "election starts", "caches stops", "caches has stopped", "election is cut",
    ]  # fmt: skip


@virtual
async def test_what_does_not_stop_in_time_is_cut_and_the_lease_is_told_that_not_all_was_clean() -> None:
    story = Story(grace=10)
    story.part(Phase.CACHES, stop=0)
    story.part(Phase.ELECTION)
    story.part(Phase.LEADING, "slow", stop=3600)
    story.part(Phase.LEADING, "quick")
    start = asyncio.get_running_loop().time()
    await story.run(stop_after=10)
    assert asyncio.get_running_loop().time() - start == 10 + 10 + 1
    assert "quick has stopped" in story.told
    assert "slow is cut" in story.told
    assert story.seconds["caches"] == 1  # its own moment
    assert story.clean == {"slow": True, "quick": True, "caches": False, "election": False}


@virtual
async def test_it_is_said_once_what_is_waited_for_what_was_cut_and_what_goes_on_even_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO", "trimtab.manager")
    lifecycle, stopping, end = Lifecycle(grace=10), asyncio.Event(), asyncio.Event()

    async def deaf(ready: Callable[[], None], asked: Stop) -> None:
        ready()
        while not end.is_set():
            with suppress(asyncio.CancelledError):
                await end.wait()

    lifecycle.add(Phase.LEADING, Part("app slow", deaf, at_work=lambda: [f"c default/{n}" for n in range(7)]))
    asyncio.get_running_loop().call_later(5, stopping.set)
    await lifecycle.run(stopping)
    what = "app slow (c default/0, c default/1, c default/2, c default/3, c default/4, 2 more)"
    assert caplog.messages == [
        f"waiting for {what}, for 9 s at most",
        f"{what} is cut: there is no more time to stop",
        f"{what} is abandoned: it goes on although it was cancelled",
    ]
    end.set()


@virtual
async def test_a_part_that_fails_stops_the_others_in_good_order_and_is_raised() -> None:
    story = Story()
    story.part(Phase.HEALTH)
    story.part(Phase.CACHES, fails_after=5)
    story.part(Phase.LEADING)
    with pytest.raises(ValueError, match="caches broke"):
        await story.run()
    assert story.told[3:] == ["leading stops", "leading has stopped", "health stops", "health has stopped"]


@virtual
async def test_a_part_that_fails_before_it_is_ready_lets_nothing_after_it_start() -> None:
    story = Story()
    story.part(Phase.HEALTH)
    story.part(Phase.CACHES, start=0, fails_after=0)
    story.part(Phase.LEADING)
    with pytest.raises(ValueError, match="caches broke"):
        await story.run()
    assert "leading starts" not in story.told


@virtual
async def test_the_loss_of_the_lease_cuts_what_leads_at_once() -> None:
    story = Story()
    story.part(Phase.CACHES, stop=0)
    story.part(Phase.ELECTION, fails_after=20, error=Lost("gone"))
    story.part(Phase.OTHERS, stop=20)
    story.part(Phase.LEADING, stop=10)
    start = asyncio.get_running_loop().time()
    with pytest.raises(Lost):
        await story.run()
    assert asyncio.get_running_loop().time() - start == 3 + 20 + 1  # a moment for the others, not the grace
    assert story.told[4:] == [
        "leading is cut", "others stops", "others is cut", "caches stops", "caches has stopped",
    ]  # fmt: skip


@virtual
async def test_the_loss_of_the_lease_while_draining_cuts_the_drain() -> None:
    story = Story()
    story.part(Phase.ELECTION, fails_after=20, error=Lost("gone"))
    story.part(Phase.LEADING, stop=25)
    start = asyncio.get_running_loop().time()
    with pytest.raises(Lost):
        await story.run(stop_after=10)
    assert asyncio.get_running_loop().time() - start == 1 + 20
    assert story.told[-1] == "leading is cut"


@virtual
async def test_a_part_that_ends_by_itself_is_a_failure_unless_it_may() -> None:
    async def ends(ready: Callable[[], None], stop: Stop) -> None:
        await asyncio.sleep(1)

    story = Story()
    story.lifecycle.add(Phase.OTHERS, Part("job", ends, may_end=True))
    story.part(Phase.LEADING)
    await story.run(stop_after=10)

    story = Story()
    story.lifecycle.add(Phase.OTHERS, Part("server", ends))
    with pytest.raises(RuntimeError, match="server ended by itself"):
        await story.run(stop_after=10)
