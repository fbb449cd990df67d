import sys
from collections.abc import Sequence

import msgspec
import pytest
from bench.harness import BenchError, Contestant
from bench.informer.job import Resource
from bench.informer.lines import STAMP, Followed, Read, Synced
from bench.informer.program import asked_for
from bench.informer.session import Asked
from bench.informer.stage import Stage, percentile, stamp_of
from bench.informer.writing import due, order

SYNCED = Synced(
    n=10, wall_s=2.0, cpu_s=0.001, rss_mb_before=50.0, rss_mb_after=50.25, rss_mb_peak=60.0, version="peer 1.0"
)
FOLLOWED = Followed(events=3, cpu_s=0.1, us_per_event=50.0, p50_ms=1.5, p99_ms=None, wall_s=4.0)
READ = Read(listed=2, label_us=30.0, owner_us=20.0, get_us=1.0)


def peer(*lines: object) -> Contestant:
    text = "".join(f"{line if isinstance(line, str) else msgspec.json.encode(line).decode()}\n" for line in lines)
    return Contestant("peer", (sys.executable, "-c", f"print({text!r}, end='')"))


async def test_one_run_answers_what_it_takes_to_sync_to_hold_and_to_follow() -> None:
    written: list[str] = []

    async def write() -> None:
        written.append("all")

    answers = await Asked("pods", 10, write)(peer(SYNCED, "ready", FOLLOWED))
    assert {name: answer.each for name, answer in answers.items()} == {
        "pods sync": pytest.approx(100.0),
        "pods held": pytest.approx(25_000.0),
        "pods event": 50.0,
    }
    assert (answers["pods sync"].wall, answers["pods sync"].rss) == (2.0, 60_000_000)
    assert (answers["pods event"].p50, answers["pods event"].p99) == (1.5, None)
    assert written == ["all"]


async def test_reads_are_answered_apart() -> None:
    answers = await Asked("reads", 10, reads=True)(peer(SYNCED, READ))
    assert {name: a.each for name, a in answers.items()} == {"reads label": 30.0, "reads owner": 20.0, "reads get": 1.0}


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ((msgspec.structs.replace(SYNCED, n=9),), r"peer \(pods\) knows 9 of 10 objects"),
        ((SYNCED, "steady"), r"peer \(pods\) is not ready, but says b'steady"),
        ((SYNCED, "ready"), r"peer \(pods\) ended with 0"),
    ],
)
async def test_a_contestant_that_does_something_else_ends_the_bench(lines: tuple[object, ...], said: str) -> None:
    async def write() -> None: ...

    with pytest.raises(BenchError, match=said):
        await Asked("pods", 10, write)(peer(*lines))


def test_a_stage_prints_what_every_contestant_prints() -> None:
    shown: list[bytes] = []
    finished: list[bool] = []
    stage = Stage("peer 1.0", shown.append, clock=lambda: 10.0)
    stage.begin()
    stage.synced(7)
    stage.show()
    stage.updated("before it listens")
    stage.follow(4, lambda: finished.append(True))
    for stamp in ("9.0", None, "9.9", "9.5", "after the last"):
        stage.updated(stamp)
    synced, ready, followed = shown
    assert ready == b"ready\n"
    assert finished == [True]
    assert (msgspec.json.decode(synced, type=Synced).n, msgspec.json.decode(synced)["version"]) == (7, "peer 1.0")
    line = msgspec.json.decode(followed, type=Followed)
    assert (line.events, line.p50_ms, line.p99_ms) == (4, pytest.approx(500), pytest.approx(1000))
    assert line.us_per_event == pytest.approx(line.cpu_s / 4 * 1e6)


def test_a_stage_without_stamps_says_nothing_of_latencies() -> None:
    shown: list[bytes] = []
    stage = Stage("peer 1.0", shown.append)
    stage.follow(1, lambda: None)
    stage.updated(None)
    assert b'"p50_ms":null,"p99_ms":null' in shown[1]


def test_a_stage_reads_each_way_and_every_object_in_turn() -> None:
    shown: list[bytes] = []
    got: list[str] = []

    def found() -> Sequence[object]:
        return ("a", "b")

    Stage("x", shown.append).read(1, list("abcdefghij"), label=found, owner=found, get=got.append)
    assert msgspec.json.decode(shown[0], type=Read).listed == 2
    assert sorted(got) == sorted("abcdefghij" * 10)
    with pytest.raises(ValueError, match="by label and by owner"):
        Stage("x", shown.append).read(1, ["a"], label=found, owner=tuple, get=got.append)
    with pytest.raises(ValueError, match="nothing to read"):
        Stage("x", shown.append).read(1, [], label=tuple, owner=tuple, get=got.append)


@pytest.mark.parametrize(
    ("values", "share", "expected"), [([], 0.5, None), ([1.0], 0.99, 1000.0), ([1.0, 2.0, 3.0], 0.5, 2000.0)]
)
def test_percentiles(values: list[float], share: float, expected: float | None) -> None:
    assert percentile(values, share) == expected


def test_a_stamp_is_found_where_there_is_one() -> None:
    assert stamp_of({STAMP: "1.5"}) == "1.5"
    assert stamp_of({}) is None
    assert stamp_of(None) is None


def test_each_object_is_changed_once_before_any_is_changed_twice() -> None:
    names = [f"n{i}" for i in range(50)]
    given = order(names, 120)
    assert len(given) == 120
    assert sorted(given[:50]) == sorted(given[50:100]) == sorted(names)
    assert given[:50] != names
    assert given == order(names, 120)
    assert order(names, 10) != names[:10]


def test_changes_come_no_faster_than_they_may() -> None:
    assert due(0, rate=100, since=5.0, now=5.0) == 0
    assert due(50, rate=100, since=5.0, now=5.25) == pytest.approx(0.25)
    assert due(50, rate=100, since=5.0, now=9.0) == 0


def test_resources_are_named_as_in_the_issue() -> None:
    assert Resource.parse("pods") == Resource("", "v1", "pods")
    assert Resource.parse("apps/v1/deployments") == Resource("apps", "v1", "deployments")
    for wrong in ("deployments", "a/b", "a//c", "a/b/c/d"):
        with pytest.raises(BenchError, match="GROUP/VERSION/PLURAL"):
            Resource.parse(wrong)


def test_a_contestant_is_told_from_a_contest() -> None:
    assert asked_for(["informer", "--kubeconfig", "k", "--resource", "pods", "--json"])
    assert not asked_for(["informer", "--pods", "10"])
    assert not asked_for(["client", "--json"])
