"""Whether, and when, a request that failed is sent again. Pure: it decides, others wait."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from trimtab.client.apierrors import ApiError
from trimtab.client.request import Request
from trimtab.client.transport import TransportError

_BUSY = 429
_UNAVAILABLE = 503
_FAILED = frozenset({500, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class Retry:
    """Up to `attempts` tries, with delays that double from `first` to `longest` seconds, spread by half.

    A try is repeated only where that is safe: the server did not act (429, or 503 with Retry-After, or the request
    never left), or acting twice is the same as acting once (reads and applies).
    """

    attempts: int = 5
    first: float = 0.1
    longest: float = 10.0
    random: Callable[[], float] = field(default=Random().random)  # noqa: S311  # spreads load, keeps no secret

    def delay(self, request: Request, error: ApiError | TransportError, attempt: int) -> float | None:
        """Seconds to wait before the next try, after `attempt` tries; None to give up."""
        if attempt >= self.attempts or not _safe(request, error):
            return None
        backoff = min(self.first * 2 ** (attempt - 1), self.longest) * (0.5 + self.random())
        asked = error.retry_after if isinstance(error, ApiError) else None
        return max(backoff, asked or 0.0)


def _safe(request: Request, error: ApiError | TransportError) -> bool:
    if isinstance(error, TransportError):
        return not error.permanent and (request.idempotent or not error.sent)
    if error.code == _BUSY:
        return request.retry_429
    if error.code not in _FAILED or error.has_cause("ResourceVersionTooLarge"):  # for the reader to ask otherwise
        return False
    # 503 with Retry-After is said instead of acting; a 500 or 504 may come after something was done.
    return request.idempotent or (error.code == _UNAVAILABLE and error.retry_after is not None)
