"""Signals, in a process of their own: once stops in good order, twice ends it, also where nothing lets the loop run."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest

PROGRAM = """
import asyncio, sys, time
from trimtab.manager.signals import stop_on_signals

async def main():
    stopping = asyncio.Event()
    with stop_on_signals(stopping):
        print("ready", flush=True)
        await stopping.wait()
        print("stopping", flush=True)
        if "busy" in sys.argv:
            while True:
                time.sleep(0.01)
        if "slow" in sys.argv:
            await asyncio.sleep(60)
    if "closing" in sys.argv:
        print("closing", flush=True)
        time.sleep(60)
    print("stopped", flush=True)

asyncio.run(main())
"""


class Program:
    def __init__(self, *words: str) -> None:
        self.process = subprocess.Popen([sys.executable, "-c", PROGRAM, *words], stdout=subprocess.PIPE, text=True)

    def says(self, line: str) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == line + "\n"


@pytest.fixture
def program(request: pytest.FixtureRequest) -> Iterator[Program]:
    program = Program(request.param)
    program.says("ready")
    yield program
    program.process.kill()
    program.process.communicate()


@pytest.mark.parametrize("program", ["quick"], indirect=True)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_once_stops_in_good_order(program: Program, number: signal.Signals) -> None:
    program.process.send_signal(number)
    program.says("stopping")
    program.says("stopped")
    assert program.process.wait(10) == 0


@pytest.mark.parametrize("program", ["slow", "busy"], indirect=True)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_twice_ends_it_now(program: Program, number: signal.Signals) -> None:
    program.process.send_signal(signal.SIGTERM)
    program.says("stopping")
    program.process.send_signal(number)
    assert program.process.wait(10) == 128 + number


@pytest.mark.parametrize("program", ["closing"], indirect=True)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_twice_ends_it_now_also_when_the_block_is_over(program: Program, number: signal.Signals) -> None:
    program.process.send_signal(signal.SIGTERM)
    program.says("stopping")
    program.says("closing")
    program.process.send_signal(number)
    assert program.process.wait(10) == 128 + number
