"""How what we hold, and what it takes to hold it, grows from a thousand objects to a million: in memory, no server."""

import subprocess
import sys
from collections.abc import Sequence

from bench.harness import Answers, BenchError, Contestant, Question, Scenario
from bench.informer.lines import Synced
from bench.informer.session import synced_answers
from bench.processes import started

COUNTS = (1_000, 10_000, 100_000, 1_000_000)

_SECONDS = 1800.0


def scenario(counts: Sequence[int]) -> Scenario:
    """Hold so many, and so many more."""
    command = (sys.executable, "-m", "bench", "informer", "--json", "--hold")
    contestants = tuple(Contestant(f"trimtab, {n:,} Pods", (*command, str(n)), ours=True) for n in counts)
    questions = (
        Question("memory sync", "Pods made in memory, to take them in", "Pod"),
        Question("memory held", "Pods made in memory, held", "Pod", measure="bytes"),
    )
    return Scenario("memory", questions, contestants, _run)


async def _run(contestant: Contestant) -> Answers:
    async with started(contestant, "memory") as running:
        synced = await running.read(Synced, _SECONDS)
    if str(synced.n) != contestant.command[-1]:
        raise BenchError(f"{contestant.name} (memory) holds {synced.n:,}")
    return synced_answers("memory", synced)


def hold(count: int) -> None:
    """Hold so many and say what they take. Another process makes them: neither its work nor its memory counts."""
    from bench.peers import informer_trimtab  # noqa: PLC0415 (only what is measured)

    with subprocess.Popen((sys.executable, "-m", "bench.serverless", str(count)), stdout=subprocess.PIPE) as maker:
        assert maker.stdout is not None
        informer_trimtab.hold(maker.stdout)
