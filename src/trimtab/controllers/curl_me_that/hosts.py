"""How much is asked of one host: so many requests at once, and so many a second. Pure: the clock is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf

_WEIGHT = 0.2  # of the newest request, in what is known of how long they take


@dataclass(slots=True)
class _Host:
    busy: int = 0
    takes: float = 0.1  # seconds, by what was seen of late
    next: float = -inf  # when the next request may begin
    line: float = -inf  # when the last of those who were told to come back may


class Hosts:
    """Says when a host may be asked. Who may not now is told when to come back, each at a time of its own."""

    def __init__(self, *, clock: Callable[[], float], rate: float, at_once: int = 4, most: int = 10_000) -> None:
        self._clock = clock
        self._pause = 1 / rate
        self._at_once = at_once
        self._most = most
        self._hosts: dict[str, _Host] = {}

    def enter(self, name: str) -> float:
        """Begin a request: 0.0, and `leave` has to follow; or the seconds after which to ask again.

        A host that was not asked for a second may be asked for a second's worth at once.
        """
        now = self._clock()
        host = self._hosts.get(name)
        if host is None:
            self._sweep(now)
            host = self._hosts[name] = _Host()
        host.next = max(host.next, now - 1.0)
        if host.busy < self._at_once and host.next <= now:
            host.busy += 1
            host.next += self._pause
            return 0.0
        host.line = max(host.line, host.next, now) + max(self._pause, host.takes / self._at_once)
        return host.line - now

    def leave(self, name: str, took: float) -> None:
        """The request has ended, after so many seconds."""
        host = self._hosts[name]
        host.busy -= 1
        host.takes += _WEIGHT * (took - host.takes)

    def _sweep(self, now: float) -> None:
        """Forget those that were quiet, before they are too many."""
        if len(self._hosts) > self._most:
            quiet = [
                name for name, host in self._hosts.items() if not host.busy and max(host.next, host.line) < now - 1
            ]
            for name in quiet:
                del self._hosts[name]
