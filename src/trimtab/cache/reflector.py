"""The reflector: what to ask the server next, given what came of what was asked. A state machine without I/O.

It aims at one thing: to know the state as of some resource version, and every change since.

    NEEDS_STATE ──► STREAMING (a watch that begins with the state) ──► FOLLOWING (the changes) ◄─┐
         ▲    └───► LISTING (page by page) ────────────────────────────┘   │              │      │
         └──────────────── the version is too old ◄────────────────────────┘              └──────┘
                                                                            the stream ended: go on

Whoever carries out the steps reports what happened.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from trimtab.cache.backoff import Backoff
from trimtab.client import (
    ApiError,
    BadRequest,
    Gone,
    Invalid,
    NotFound,
    TooManyRequests,
    TransportError,
    UnknownKind,
    Unreachable,
)

PAGE_SIZE = 500
_SHORTEST_WATCH = 300  # seconds, and up to twice that
AT_ONCE = 1.0  # a watch that ends sooner, and gave nothing, counts as a failure


@dataclass(frozen=True, slots=True)
class ListPage:
    """Ask for a page of the list; a limit of 0 asks for all of it."""

    resource_version: str
    token: str
    limit: int


@dataclass(frozen=True, slots=True)
class OpenWatch:
    """Open a watch; with `initial_events` it begins with the state, and a bookmark ends that part."""

    resource_version: str
    initial_events: bool
    timeout: int


@dataclass(frozen=True, slots=True)
class Wait:
    """Wait before the next step, for `why`."""

    seconds: float
    why: str


Step: TypeAlias = ListPage | OpenWatch | Wait
Failure: TypeAlias = ApiError | TransportError | UnknownKind


class Phase(Enum):
    """What is under way."""

    NEEDS_STATE = "needs the state"
    LISTING = "lists the state"
    STREAMING = "streams the state"
    FOLLOWING = "follows the changes"


class Reflector:
    """Call `step`, do what it says, and report `page`, `event`, `bookmark`, `closed` or `failed`; then `step` again.

    A stream is left when the phase is NEEDS_STATE after a report: it leads nowhere.
    `resource_version` is the last one as of which the state is known whole: where to go on.
    """

    def __init__(
        self,
        *,
        clock: Callable[[], float],
        random: Callable[[], float],
        page_size: int = PAGE_SIZE,
        stream_state: bool = True,
    ) -> None:
        self.phase = Phase.NEEDS_STATE
        self.resource_version = ""
        self._clock = clock
        self._random = random
        self._page_size = page_size
        self._stream_state = stream_state
        self._list_this_time = False
        self._backoff = Backoff(clock=clock, random=random)
        self._wait: Wait | None = None
        self._version_refused = False  # the server has our version no longer, or not yet
        self._expired = False  # our version was too old, and nothing was heard since
        self._listing_at = ""
        self._token = ""
        self._whole_list = False
        self._server_pages = False
        self._opened_at = 0.0
        self._heard = False

    def step(self) -> Step:
        """What to do next."""
        if self._wait is not None:
            wait, self._wait = self._wait, None
            return wait
        match self.phase:
            case Phase.FOLLOWING:
                return self._open(self.resource_version, initial_events=False)
            case Phase.LISTING:
                return ListPage(self._listing_at, self._token, self._limit())
            case _ if self._stream_state and not self._list_this_time:
                self.phase = Phase.STREAMING
                return self._open("" if self._version_refused else self.resource_version, initial_events=True)
            case _:
                self.phase = Phase.LISTING
                # "0" is any version that the server has at hand: its cache answers, and etcd rests when all controllers
                # restart at once. Later it is the last known version, so that the state never goes back in time. ""
                # is the newest, by a quorum.
                self._listing_at = "" if self._version_refused else self.resource_version or "0"
                return ListPage(self._listing_at, "", self._limit())

    def page(self, resource_version: str, token: str) -> bool:
        """A page came. True where it was the last: the state is whole, as of its version."""
        if token:
            # A server that gives pages of version "0" has no cache to answer from, and no reason to be spared pages.
            self._server_pages |= self._listing_at == "0"
            self._token = token
            return False
        self._knows(resource_version)
        return True

    def event(self, resource_version: str, *, added: bool) -> None:
        """A change came, and is in the store (or, while the state is streamed, among what will be)."""
        self._hears()
        if self.phase is Phase.FOLLOWING:
            self.resource_version = resource_version
        elif not added:
            self._cannot_stream()

    def bookmark(self, resource_version: str, *, ends_state: bool) -> bool:
        """The server vouches for all up to a version. True where that ends the state: it is whole now."""
        self._hears()
        if self.phase is Phase.FOLLOWING:
            self.resource_version = resource_version
        elif ends_state:
            self._knows(resource_version)
            return True
        else:
            self._cannot_stream()
        return False

    def closed(self) -> None:
        """The stream ended in good order."""
        if self.phase is Phase.STREAMING:
            self._list_this_time = True
            self._needs_state()
        if self._in_vain():
            self._back_off("the server ends each watch at once")

    def failed(self, error: Failure) -> None:
        """A request failed, or a stream broke."""
        no_such_version = isinstance(error, Gone) or (
            isinstance(error, ApiError) and error.has_cause("ResourceVersionTooLarge")
        )
        if self.phase is Phase.LISTING and self._token and isinstance(error, Gone):
            self._token, self._whole_list = "", True  # the pages that follow are of a version that is forgotten
        elif self.phase in (Phase.LISTING, Phase.STREAMING) and no_such_version and not self._version_refused:
            self._version_refused = True
            self._needs_state()
        elif self.phase is Phase.FOLLOWING:
            self._lost(error)
        else:
            streamed = self.phase is Phase.STREAMING
            self._needs_state()
            if streamed and isinstance(error, Invalid | BadRequest):
                self._stream_state = False  # it does not know how, or may not, and so it will stay
                return
            self._list_this_time |= streamed and not isinstance(
                error, UnknownKind | NotFound | Unreachable | TooManyRequests
            )
            self._back_off(str(error))

    def _lost(self, error: Failure) -> None:
        """The stream of changes is lost. A lost connection does not lose the version; what the server says may."""
        if isinstance(error, Unreachable | TooManyRequests):
            self._back_off(str(error))
        elif isinstance(error, Gone):
            self._needs_state()
            # Any server that was restarted says so once, to all who were waiting for it; they have waited enough.
            if self._expired and self._in_vain():
                self._back_off(str(error))
            self._expired = True
        elif isinstance(error, TransportError):
            if self._in_vain():
                self._back_off(str(error))
        else:
            self._needs_state()
            self._back_off(str(error))

    def _open(self, resource_version: str, *, initial_events: bool) -> OpenWatch:
        self._opened_at = self._clock()
        self._heard = False
        # Spread, so that not all watches of a cluster end in the same minute.
        return OpenWatch(resource_version, initial_events, timeout=int(_SHORTEST_WATCH * (1 + self._random())))

    def _limit(self) -> int:
        # With a limit, a version other than "0" is read from etcd instead of the server's cache.
        exact = self._listing_at not in ("", "0")
        return 0 if self._whole_list or (exact and not self._server_pages) else self._page_size

    def _knows(self, resource_version: str) -> None:
        self.phase = Phase.FOLLOWING
        self.resource_version = resource_version
        self._version_refused = self._list_this_time = False
        self._token, self._whole_list = "", False

    def _needs_state(self) -> None:
        self.phase = Phase.NEEDS_STATE
        self._token, self._whole_list = "", False

    def _cannot_stream(self) -> None:
        """Before the bookmark that ends it, the state is ADDED alone: this server does not know what was asked."""
        self._stream_state = False
        self._needs_state()

    def _hears(self) -> None:
        self._heard = True
        if self.phase is Phase.FOLLOWING:  # of a version that is not too old, then
            self._expired = False

    def _in_vain(self) -> bool:
        return not self._heard and self._clock() - self._opened_at < AT_ONCE

    def _back_off(self, why: str) -> None:
        self._wait = Wait(self._backoff.pause(), why)
