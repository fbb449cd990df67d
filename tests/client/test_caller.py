"""A call from its first try to its last, over a server that follows a script."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest

from trimtab.client import Broken, Forbidden, NotFound, Stalled, TooManyRequests, Unreachable, Untrusted
from trimtab.client.caller import Caller, retry_after
from trimtab.client.request import Target, read, write
from trimtab.client.retry import Retry
from trimtab.kube.core.v1 import Pod

Run = Callable[[Any], Any]
POD = Target(Pod.resource, "shop", "web")
READ = read("get", POD)
CREATE = write("create", "POST", POD, b"{}")
EVICT = write("create", "POST", POD, b"{}", retry_429=False)
EXACT = Retry(random=lambda: 0.5)  # delays 0.1, 0.2, 0.4, …

BUSY = (429, {"kind": "Status", "code": 429, "reason": "TooManyRequests", "message": "slow down"})
FAILED = (500, {"kind": "Status", "code": 500, "reason": "InternalError"})
OK = (200, b"{}")


def call(run: Run, server: Any, request: Any = READ, *, timeout: float = 60.0, retry: Retry = EXACT) -> Any:
    async def main() -> Any:
        caller = Caller(server, retry=retry, timeout=timeout)
        try:
            return await caller.call(request)
        finally:
            await caller.close()

    answer = run(main())
    assert server.closed
    return answer


def test_tries_go_on_until_one_succeeds(run: Run, scripted: Any) -> None:
    server = scripted(BUSY, FAILED, Broken("x"), Unreachable("x"), OK)
    assert call(run, server).status == 200
    assert server.times == pytest.approx([0, 0.1, 0.3, 0.7, 1.5])


def test_the_last_error_is_raised_when_the_tries_are_used_up(run: Run, scripted: Any) -> None:
    server = scripted(Broken("first"), *[BUSY] * 4)
    with pytest.raises(TooManyRequests, match="cannot get pods shop/web: TooManyRequests \\(429\\): slow down"):
        call(run, server)
    assert len(server.requests) == 5


def test_the_server_says_when(run: Run, scripted: Any) -> None:
    server = scripted((*BUSY, {"Retry-After": "7"}), OK)
    call(run, server)
    assert server.times == [0, 7]


def test_a_wait_that_the_deadline_does_not_allow_is_not_begun(run: Run, scripted: Any) -> None:
    server = scripted(5, (*BUSY, {"Retry-After": "6"}))
    with pytest.raises(TooManyRequests) as caught:
        call(run, server, timeout=10)
    assert caught.value.retry_after == 6
    assert server.times == [0]


@pytest.mark.parametrize(
    ("request_", "step", "error"),
    [
        (CREATE, Broken("x"), Broken),
        (CREATE, Stalled("x"), Stalled),
        (EVICT, BUSY, TooManyRequests),
        (READ, Untrusted("x"), Untrusted),
        (READ, (404, {"kind": "Status", "reason": "NotFound", "code": 404}), NotFound),
    ],
)
def test_what_must_not_be_sent_twice_is_not(
    run: Run, scripted: Any, request_: Any, step: Any, error: type[Exception]
) -> None:
    server = scripted(step)
    with pytest.raises(error):
        call(run, server, request_)
    assert len(server.requests) == 1


def test_a_write_that_was_refused_is_sent_again(run: Run, scripted: Any) -> None:
    server = scripted(BUSY, Unreachable("x"), (503, b"", {"Retry-After": "1"}), (201, b"{}"))
    assert call(run, server, CREATE).status == 201


def test_one_deadline_for_all_tries(run: Run, scripted: Any) -> None:
    server = scripted(4, FAILED, 4, FAILED, 4, OK)
    with pytest.raises(Stalled, match=r"^cannot get pods shop/web: no answer within 10 s$"):
        call(run, server, timeout=10)
    assert len(server.requests) == 3


def test_a_deadline_during_a_try_never_tells_of_an_earlier_one(run: Run, scripted: Any) -> None:
    """The second try may have been carried out: TooManyRequests, the outcome of the first, would say it was not."""
    server = scripted(BUSY, 100, OK)
    with pytest.raises(Stalled):
        call(run, server, CREATE, timeout=10)


def test_a_call_can_be_cancelled(run: Run, scripted: Any) -> None:
    async def main() -> None:
        caller = Caller(scripted(100, OK))
        task = asyncio.create_task(caller.call(READ))
        await asyncio.sleep(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(main())


def test_warnings_are_logged_once_each(run: Run, scripted: Any, caplog: pytest.LogCaptureFixture) -> None:
    first = {"Warning": '299 - "v1 ComponentStatus is deprecated in v1.19+", 299 kube-apiserver "say \\"no\\""'}
    second = {"Warning": '299 - "another", 199 - "not for us", 299 - "v1 ComponentStatus is deprecated in v1.19+"'}
    server = scripted((200, b"{}", first), (200, b"{}", second), (200, [b"{}"], second))

    async def main() -> None:
        caller = Caller(server)
        await caller.call(READ)
        await caller.call(READ)
        async with caller.stream(READ):
            pass
        await caller.close()

    with caplog.at_level(logging.WARNING, "trimtab.client"):
        run(main())
    assert [record.getMessage() for record in caplog.records] == [
        "the server warns about get pods shop/web: v1 ComponentStatus is deprecated in v1.19+",
        'the server warns about get pods shop/web: say "no"',
        "the server warns about get pods shop/web: another",
    ]


def test_a_stream_that_is_refused_raises_and_is_cut(run: Run, scripted: Any) -> None:
    body = [b'{"kind":"Status","code":403,', b'"reason":"Forbidden","message":"no"}']
    server = scripted((403, body))

    async def main() -> None:
        caller = Caller(server)
        with pytest.raises(Forbidden, match=r"no$"):
            async with caller.stream(READ):
                pytest.fail("it was let in")
        await caller.close()

    run(main())
    assert server.cut == 1


@pytest.mark.parametrize("step", [(100, OK), ((403, [b"{", 100]),)], ids=["no answer", "half an error"])
def test_a_stream_has_a_deadline_for_its_beginning(run: Run, scripted: Any, step: tuple[Any, ...]) -> None:
    async def main() -> None:
        caller = Caller(scripted(*step), timeout=10)
        with pytest.raises(Stalled, match="no answer within 10 s"):
            async with caller.stream(READ):
                pytest.fail("it was let in")
        assert asyncio.get_running_loop().time() <= 10.25
        await caller.close()

    run(main())


def test_a_stream_has_no_deadline_for_the_rest(run: Run, scripted: Any) -> None:
    async def main() -> list[bytes]:
        caller = Caller(scripted((200, [b"a", 1000, b"b"])), timeout=10)
        async with caller.stream(READ) as stream:
            return [await stream.read(), await stream.read()]

    assert run(main()) == [b"a", b"b"]


def test_a_huge_error_is_not_read_to_its_end(run: Run, scripted: Any) -> None:
    async def main() -> None:
        caller = Caller(scripted((503, [b"x" * 700_000, b"y" * 700_000, AssertionError("read on")])))
        with pytest.raises(Exception, match="503"):
            async with caller.stream(READ):
                pass

    run(main())


@pytest.mark.parametrize(
    ("value", "seconds"), [("3", 3.0), ("0", 0.0), ("", None), ("Wed, 21 Oct 2026 07:28:00 GMT", None), ("-1", None)]
)
def test_retry_after_is_in_seconds(value: str, seconds: float | None) -> None:
    assert retry_after({"Retry-After": value}) == seconds
