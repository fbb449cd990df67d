"""When curl-me-that fetches, by a clock that the test moves; and what it writes down."""

from datetime import UTC, datetime, timedelta

import pytest

from trimtab.controllers.curl_me_that.hosts import Hosts
from trimtab.controllers.curl_me_that.memory import LONGEST_PAUSE, REMIND, Memory, Notes, Trouble
from trimtab.controllers.curl_me_that.pairs import Pair, Problem, Wanted
from trimtab.controllers.curl_me_that.plan import BETWEEN, Plan, decide
from trimtab.controllers.curl_me_that.record import Fetched, digest_of, read_record, write_record

T = datetime(2026, 7, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
URL = "http://x.com"
ONCE, OFTEN = Pair("a", URL), Pair("a", URL, HOUR)
AS_FETCHED = {"a": b"1"}
RECORD = {"a": Fetched(URL, digest_of(b"1"), T)}
NO = Problem("Timeout", "a")


def plan(
    *pairs: Pair,
    record: dict[str, Fetched] = RECORD,
    values: dict[str, bytes] = AS_FETCHED,
    trouble: Trouble | None = None,
    after: timedelta = HOUR * 24,
) -> Plan:
    wanted = Wanted({pair.key: pair for pair in pairs}, [], {pair.key for pair in pairs})
    return decide(wanted, record, values, {"a": trouble} if trouble else {}, T + after)


def test_what_is_new_is_fetched() -> None:
    assert plan(ONCE, record={}, values={}) == Plan(fetch=[ONCE])
    other = Pair("a", "http://y.com")
    assert plan(other) == Plan(fetch=[other])


def test_what_was_fetched_is_settled_for_ever() -> None:
    assert plan(ONCE) == Plan(settled={"a"})
    assert plan(ONCE, after=HOUR * 24 * 3650) == Plan(settled={"a"})


def test_an_interval_that_has_passed() -> None:
    assert plan(OFTEN, after=HOUR - timedelta(seconds=1)) == Plan(next=T + HOUR)
    assert plan(OFTEN, after=HOUR) == Plan(fetch=[OFTEN])


@pytest.mark.parametrize("values", [{"a": b"2"}, {}])
def test_a_value_that_was_changed_by_hand(values: dict[str, bytes]) -> None:
    assert plan(ONCE, values=values) == Plan(fetch=[ONCE])
    # Who changes it again and again does not make us ask the URL again and again.
    assert plan(ONCE, values=values, after=BETWEEN / 2) == Plan(next=T + BETWEEN)


def test_what_is_not_named_any_more_goes() -> None:
    assert plan(record=RECORD) == Plan(drop=["a"])
    named = Wanted({}, [Problem("BadURL", "a")], {"a"})
    assert decide(named, RECORD, AS_FETCHED, {}, T) == Plan()  # a bad pair leaves the data alone


def test_a_key_that_is_there_and_not_written_down_may_be_somebody_elses() -> None:
    assert plan(ONCE, record={}) == Plan(doubtful=[ONCE])
    taken = Trouble(URL, 1, T + HOUR * 1000, NO, while_it_is=digest_of(b"1"))
    assert plan(ONCE, record={}, trouble=taken).doubtful == []
    assert plan(ONCE, record={}, trouble=taken, values={"a": b"2"}).doubtful == [ONCE]
    assert plan(ONCE, record={}, trouble=taken, values={}) == Plan(fetch=[ONCE])


def test_what_failed_waits_whatever_happens() -> None:
    until = T + timedelta(minutes=5)
    failed = Trouble(URL, 3, until, NO)
    wait, go = timedelta(minutes=4), timedelta(minutes=5)
    assert plan(ONCE, record={}, values={}, trouble=failed, after=wait) == Plan(next=until)
    assert plan(ONCE, record={}, values={}, trouble=failed, after=go) == Plan(fetch=[ONCE])
    other = Pair("a", "http://y.com")
    assert plan(other, trouble=failed, after=wait) == Plan(fetch=[other])  # an edit is a new try
    assert plan(ONCE, trouble=failed, after=wait) == Plan(settled={"a"})


def test_pauses_grow_and_end() -> None:
    memory = Memory(now=lambda: T, random=lambda: 0.0)
    notes = Notes("uid")
    pauses: list[float] = []
    for _ in range(12):
        notes.troubles["a"] = memory.trouble(notes, ONCE, NO)
        pauses.append((notes.troubles["a"].until - T).total_seconds())
    assert pauses[:4] == [5, 10, 20, 40]
    assert pauses[-1] == LONGEST_PAUSE.total_seconds()
    assert memory.trouble(notes, ONCE, NO, at_least=3000).until == T + timedelta(seconds=3000)
    assert memory.trouble(notes, Pair("a", "http://y.com"), NO).tries == 1


def test_people_are_told_once_and_reminded_while_it_lasts() -> None:
    notes = Notes("uid")
    assert notes.to_tell([NO], T) == [NO]
    assert notes.next_reminder() == T + REMIND
    assert notes.to_tell([NO], T + REMIND / 2) == []
    assert notes.to_tell([NO], T + REMIND) == [NO]
    assert notes.to_tell([], T + REMIND) == []
    assert notes.to_tell([NO], T + REMIND) == [NO]  # it came back


def test_notes_are_of_one_object_and_only_where_something_is_wrong() -> None:
    memory = Memory(now=lambda: T, random=lambda: 0.0)
    notes = memory.of("shop/a", "uid-1")
    memory.keep("shop/a", notes)
    assert len(memory) == 0
    notes.told[NO] = T
    memory.keep("shop/a", notes)
    assert memory.of("shop/a", "uid-1") is notes
    assert memory.of("shop/a", "uid-2").told == {}
    memory.forget("shop/a")
    assert len(memory) == 0


def test_the_record_is_read_as_it_was_written() -> None:
    record = {"b": Fetched("https://x.com/?a=b", digest_of(b""), T), **RECORD}
    assert read_record(write_record(record)) == record
    spoilt = write_record(record).replace("2026-07-01", "yesterday", 1) + "\nnonsense\n"
    assert read_record(spoilt) == {"b": record["b"]}


def test_a_host_is_asked_so_often_and_no_more() -> None:
    now = 100.0
    hosts = Hosts(clock=lambda: now, rate=10.0, at_once=3)
    assert [hosts.enter("x") for _ in range(3)] == [0.0, 0.0, 0.0]
    assert hosts.enter("x") == pytest.approx(0.1)  # three are under way
    assert hosts.enter("x") == pytest.approx(0.2)  # who was told to come back has a time of its own
    assert hosts.enter("y") == 0.0
    begun = 0
    for _ in range(50):
        hosts.leave("x", 0.1)
        begun += hosts.enter("x") == 0.0
        hosts._hosts["x"].busy = 1
    assert begun <= 11  # a second's worth at once
    now += 5.0
    hosts.leave("x", 0.1)
    assert hosts.enter("x") == 0.0


def test_a_slow_host_is_asked_again_later() -> None:
    hosts = Hosts(clock=lambda: 0.0, rate=1000.0, at_once=2)
    for _ in range(50):
        hosts.enter("x")
        hosts.leave("x", 6.0)
    assert [hosts.enter("x") for _ in range(2)] == [0.0, 0.0]
    waits = [hosts.enter("x") for _ in range(3)]
    assert waits == [pytest.approx(3.0 * n, rel=0.01) for n in (1, 2, 3)]  # two at once, each six seconds


def test_hosts_are_forgotten() -> None:
    now = 0.0
    hosts = Hosts(clock=lambda: now, rate=10.0, most=10)
    for i in range(100):
        now += 2.0
        assert hosts.enter(f"h{i}") == 0.0
        hosts.leave(f"h{i}", 0.1)
    assert len(hosts._hosts) <= 11
