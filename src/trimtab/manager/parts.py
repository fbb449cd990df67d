"""The parts of every manager, each as `lifecycle.py` runs it: until it is asked to stop, and then within its time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from trimtab.controller import Controllers
from trimtab.controller.events import Recorder
from trimtab.manager.leading import LeaderElector
from trimtab.manager.lifecycle import Stop

Ready = Callable[[], None]


async def record_events(recorder: Recorder, ready: Ready, stop: Stop) -> None:
    """Send events; in the end, those that wait."""
    async with _beside(recorder.run(), stop.wait()) as (sending, asked):
        ready()
        await _first(sending, asked)
        if not sending.done():
            await recorder.flush(stop.seconds * 0.9)
        else:
            await sending


async def lead(elector: LeaderElector, ready: Ready, stop: Stop) -> None:
    """Compete for the lease and hold it. It is let go of only where all that needs it came to its end in good order."""
    async with _beside(elector.run(), elector.elected.wait(), stop.wait()) as (renewing, elected, asked):
        await _first(renewing, elected, asked)
        if elected.done():
            ready()
            await _first(renewing, asked)
        if not renewing.done() and stop.clean:
            await elector.release(stop.seconds * 0.9)
        if renewing.done():
            await renewing


async def work(controllers: Controllers, ready: Ready, stop: Stop) -> None:
    """Run an app's workers; in the end, let them finish what they have and what is queued."""
    async with _beside(controllers.run(), stop.wait()) as (running, asked):
        ready()
        await _first(running, asked)
        if not running.done():
            controllers.stop(drain=stop.seconds + 1)  # who cuts it before is told that it was not clean
        await running


async def _first(*tasks: asyncio.Task[Any]) -> None:
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)


@asynccontextmanager
async def _beside(*work: Coroutine[Any, Any, Any]) -> AsyncGenerator[list[asyncio.Task[Any]]]:
    """Run these beside the block, and end them with it."""
    tasks = [asyncio.create_task(each) for each in work]
    try:
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
