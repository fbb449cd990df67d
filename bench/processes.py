"""Contestants as processes: started, listened to, and ended when the bench ends."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

import msgspec

from bench.cost import Cost
from bench.harness import Answers, BenchError, Contestant, Question, Reading

_LONGEST_LINE = 1 << 20
_T = TypeVar("_T")


class Running:
    """A contestant that runs. What it does not do, or prints wrong, is a BenchError of one line."""

    def __init__(self, who: str, process: asyncio.subprocess.Process) -> None:
        self._who = who
        self._process = process
        assert process.stdout is not None
        assert process.stderr is not None
        self._lines = process.stdout
        self._errors = asyncio.create_task(process.stderr.read())  # else it would stop at a full pipe

    async def line(self, seconds: float) -> bytes:
        """Wait for its next line."""
        try:
            async with asyncio.timeout(seconds):
                line = await self._lines.readline()
        except TimeoutError as error:
            raise BenchError(f"{self._who} said nothing for {seconds:.0f} s") from error
        return line or await self._ended()

    async def read(self, kind: type[_T], seconds: float) -> _T:
        """Wait for its next line, which is of this kind."""
        line = await self.line(seconds)
        try:
            return msgspec.json.decode(line, type=kind)
        except msgspec.MsgspecError as error:
            raise BenchError(f"{self._who} did not print a {kind.__name__}: {error}") from error

    async def _ended(self) -> bytes:
        code = await self._process.wait()
        said = (await self._errors).decode(errors="replace").strip().splitlines() or ["it said nothing"]
        raise BenchError(f"{self._who} ended with {code}: {said[-1]}")


@asynccontextmanager
async def started(contestant: Contestant, work: str) -> AsyncIterator[Running]:
    """Start a contestant for some work."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*contestant.command, stdout=pipe, stderr=pipe, limit=_LONGEST_LINE)
    try:
        yield Running(f"{contestant.name} ({work})", process)
    finally:
        if process.returncode is None:  # it has said all that is wanted, or the bench was told to stop
            process.kill()
        await process.wait()


def one_cost(question: Question, count: int, seconds: float = 1800) -> Callable[[Contestant], Awaitable[Answers]]:
    """Run contestants that do so much work and print one Cost."""

    async def run(contestant: Contestant) -> Answers:
        async with started(contestant, question.name) as running:
            cost = await running.read(Cost, seconds)
        if cost.count != count:
            who = f"{contestant.name} ({question.name})"
            raise BenchError(f"{who} did {cost.count} of {count}: nothing to compare")
        return {question.name: Reading(each=cost.each, version=cost.version, wall=cost.wall, rss=cost.rss)}

    return run
