import sys

import pytest
from bench.cost import Cost, Meter
from bench.harness import BenchError, Contestant, Scenario, compete

PRINT = "import sys; sys.stdout.write({!r})"


def scenario(*programs: str, count: int = 10) -> Scenario:
    contestants = tuple(Contestant(f"c{n}", (sys.executable, "-c", program)) for n, program in enumerate(programs))
    return Scenario("patch", "ten patches", "patch", count, contestants)


def printing(count: int = 10) -> str:
    return PRINT.format(Cost(cpu=0.5, wall=1.0, count=count, rss=1, version="x").line().decode())


async def test_contestants_take_turns() -> None:
    heard: list[str] = []
    outcome = await compete(scenario(printing(), printing()), 2, heard.append)
    assert [line[6:13] for line in heard] == ["1/2, c0", "1/2, c1", "2/2, c1", "2/2, c0"]
    assert [len(entry.costs) for entry in outcome.entries] == [2, 2]


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("import sys; sys.exit('no such server')", "c0 (patch) ended with 1: no such server"),
        ("raise SystemExit(3)", "c0 (patch) ended with 3: it said nothing"),
        ("print('hello')", "c0 (patch) did not print what it cost"),
        (printing(count=9), "c0 (patch) did 9 of 10"),
    ],
)
async def test_a_contestant_that_fails_ends_the_bench_in_one_line(program: str, said: str) -> None:
    with pytest.raises(BenchError) as error:
        await compete(scenario(program), 1, lambda _: None)
    assert str(error.value).startswith(said)
    assert "\n" not in str(error.value)


def test_the_meter_counts_what_this_process_does() -> None:
    meter = Meter.start()
    total = sum(range(2_000_000))
    cost = meter.stop(total, "sum")
    assert cost.cpu > 0
    assert cost.wall > 0
    assert cost.count == total
    assert Cost.parse(cost.line()) == cost
