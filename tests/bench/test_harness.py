import sys

import pytest
from bench.cost import Cost, Meter
from bench.harness import Answers, BenchError, Contestant, Question, Reading, Scenario, compete, rotated
from bench.processes import one_cost, started

PATCHES = Question("patch", "ten patches", "patch")
PRINT = "import sys; sys.stdout.write({!r})"


def contestants(*programs: str) -> tuple[Contestant, ...]:
    return tuple(Contestant(f"c{n}", (sys.executable, "-c", program)) for n, program in enumerate(programs))


def scenario(*programs: str, count: int = 10) -> Scenario:
    return Scenario("patch", (PATCHES,), contestants(*programs), one_cost(PATCHES, count))


def printing(count: int = 10) -> str:
    return PRINT.format(Cost(cpu=0.5, wall=1.0, count=count, rss=1, version="x").line().decode())


async def test_contestants_take_turns() -> None:
    heard: list[str] = []
    (outcome,) = await compete(scenario(printing(), printing()), 2, heard.append)
    assert [line[6:13] for line in heard] == ["1/2, c0", "1/2, c1", "2/2, c1", "2/2, c0"]
    assert [len(entry.readings) for entry in outcome.entries] == [2, 2]
    assert outcome.entries[0].readings[0] == Reading(each=50_000.0, version="x", wall=1.0, rss=1)


async def test_who_has_no_answer_to_a_question_has_no_place_under_it() -> None:
    questions = (Question("sync", "to sync", "Pod"), Question("read", "to read", "get"))

    async def run(contestant: Contestant) -> Answers:
        names = ("sync", "read") if contestant.name == "c0" else ("sync",)
        return {name: Reading(each=1.0, version="x") for name in names}

    outcomes = await compete(Scenario("pods", questions, contestants("", ""), run), 1, lambda _: None)
    assert [[entry.contestant.name for entry in outcome.entries] for outcome in outcomes] == [["c0", "c1"], ["c0"]]


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("import sys; sys.exit('no such server')", "c0 (patch) ended with 1: no such server"),
        ("raise SystemExit(3)", "c0 (patch) ended with 3: it said nothing"),
        ("print('hello')", "c0 (patch) did not print a Cost"),
        (printing(count=9), "c0 (patch) did 9 of 10"),
    ],
)
async def test_a_contestant_that_fails_ends_the_bench_in_one_line(program: str, said: str) -> None:
    with pytest.raises(BenchError) as error:
        await compete(scenario(program), 1, lambda _: None)
    assert str(error.value).startswith(said)
    assert "\n" not in str(error.value)


async def test_a_contestant_that_says_nothing_is_not_waited_for_and_ends() -> None:
    (silent,) = contestants("import time; time.sleep(3600)")
    with pytest.raises(BenchError, match=r"c0 \(sync\) said nothing for 0 s"):
        async with started(silent, "sync") as running:
            await running.line(0.05)


async def test_a_contestant_may_say_much_on_its_way_without_being_stopped_by_it() -> None:
    (chatty,) = contestants("import sys; sys.stderr.write('x' * 1_000_000); print('ready')")
    async with started(chatty, "sync") as running:
        assert await running.line(30) == b"ready\n"


def test_nobody_always_goes_first() -> None:
    assert [rotated("abc", number) for number in range(3)] == [tuple("abc"), tuple("bca"), tuple("cab")]


def test_the_meter_counts_what_this_process_does() -> None:
    meter = Meter.start()
    total = sum(range(2_000_000))
    cost = meter.stop(total, "sum")
    assert cost.cpu > 0
    assert cost.wall > 0
    assert cost.count == total
    assert Cost.parse(cost.line()) == cost
