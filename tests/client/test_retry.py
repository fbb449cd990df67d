"""Which failures are worth another try: the whole table."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.client.apierrors import ApiError, error_for
from trimtab.client.request import Request, Target, read, write
from trimtab.client.retry import Retry
from trimtab.client.transport import Broken, Stalled, TransportError, Unreachable, Untrusted
from trimtab.kube.core.v1 import Pod
from trimtab.kube.meta.v1 import Status, StatusCause, StatusDetails

POD = Target(Pod.resource, "shop", "web")
READ = read("get", POD)
APPLY = write("patch", "PATCH", POD, b"{}", idempotent=True)
CREATE = write("create", "POST", POD, b"{}")
DELETE = write("delete", "DELETE", POD, None)
EVICT = write("create", "POST", POD, b"{}", retry_429=False)
ALL = {READ, APPLY, CREATE, DELETE, EVICT}
REPEATABLE = {READ, APPLY}


def refused(code: int, reason: str = "", retry_after: float | None = None, cause: str = "") -> ApiError:
    details = StatusDetails(causes=[StatusCause(reason=cause)]) if cause else None
    return error_for("x", Status(code=code, reason=reason, details=details), retry_after)


TABLE: list[tuple[str, ApiError | TransportError, set[Request]]] = [
    ("busy", refused(429, "TooManyRequests"), ALL - {EVICT}),
    ("busy, asks for a second", refused(429, "TooManyRequests", 1), ALL - {EVICT}),
    ("failed", refused(500, "InternalError"), REPEATABLE),
    ("bad gateway", refused(502), REPEATABLE),
    ("unavailable", refused(503, "ServiceUnavailable"), REPEATABLE),
    ("out of time", refused(504, "Timeout"), REPEATABLE),
    ("failed, and asks to come again", refused(500, "ServerTimeout", 1), REPEATABLE),
    ("unavailable, and asks to come again", refused(503, "ServiceUnavailable", 1), ALL),
    ("the future", refused(504, "Timeout", 1, "ResourceVersionTooLarge"), set()),
    ("not found", refused(404, "NotFound"), set()),
    ("conflict", refused(409, "Conflict", 1), set()),
    ("expired", refused(410, "Expired"), set()),
    ("forbidden", refused(403, "Forbidden", 1), set()),
    ("unauthorized", refused(401, "Unauthorized"), set()),
    ("invalid", refused(422, "Invalid"), set()),
    ("another failure", refused(501, "NotImplemented", 1), set()),
    ("refused connection", Unreachable("x"), ALL),
    ("cut connection", Broken("x"), REPEATABLE),
    ("silence", Stalled("x"), REPEATABLE),
    ("distrust", Untrusted("x"), set()),
]


@pytest.mark.parametrize(("error", "again"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_what_is_sent_again(error: ApiError | TransportError, again: set[Request]) -> None:
    assert {request for request in ALL if Retry().delay(request, error, 1) is not None} == again


@given(st.integers(1, 60), st.floats(0, 1, exclude_max=True), st.none() | st.floats(0, 100))
def test_delays_double_up_to_the_longest_and_honour_the_server(
    attempt: int, chance: float, asked: float | None
) -> None:
    retry = Retry(attempts=100, first=0.1, longest=10, random=lambda: chance)
    delay = retry.delay(READ, refused(429, "TooManyRequests", asked), attempt)
    assert delay is not None
    backoff = min(0.1 * 2 ** (attempt - 1), 10)
    assert delay >= (asked or 0)
    assert 0.5 * backoff <= delay <= max(1.5 * backoff, asked or 0)


@pytest.mark.parametrize("error", [refused(429), Unreachable("x"), Broken("x")])
def test_the_tries_are_counted(error: Any) -> None:
    retry = Retry(attempts=3)
    assert [retry.delay(READ, error, attempt) is None for attempt in (1, 2, 3, 4)] == [False, False, True, True]
    assert Retry(attempts=1).delay(READ, error, 1) is None


def test_delays_are_spread() -> None:
    delays = {Retry().delay(READ, Broken("x"), 1) for _ in range(20)}
    assert len(delays) > 10
