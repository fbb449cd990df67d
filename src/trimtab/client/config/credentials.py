"""Who a client is: what it shows to the server, and how that stays fresh.

Nothing here opens a connection: a transport asks for the proof before every request, and says when it was refused.
"""

import asyncio
import base64
import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from trimtab.client.config.errors import ConfigError
from trimtab.client.config.tls import KeyPair

_log = logging.getLogger(__name__)

# Seconds between two mints that a 401 asked for: a server that refuses everybody must not cause one a request.
_PAUSE = 10.0


@dataclass(frozen=True, slots=True)
class Proof:
    """What is shown to the server: headers for each request, and a certificate for the handshake."""

    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    certificate: KeyPair | None = None


class Credentials(ABC):
    """Hands out the proof of who is asking.

    `proof()` gives the very same object until something has changed, so `is` tells whether headers and connections made
    with an earlier one still hold. It is on the path of every request: it looks at a clock, and at nothing else while
    that is fresh.
    """

    @abstractmethod
    async def proof(self) -> Proof:
        """Return what to show now."""

    @abstractmethod
    async def rejected(self, proof: Proof) -> bool:
        """Hear that the server answered 401 to `proof`; return whether there is a new one, worth one more try.

        Raises ConfigError where the reason can be told, such as a client certificate that has expired.
        """

    async def close(self) -> None:  # noqa: B027  # most have nothing to end
        """End what is under way and nobody waits for. They can be used again."""


class Fixed(Credentials):
    """Credentials that never change: nobody's, a token, a password, a certificate."""

    def __init__(self, proof: Proof | None = None) -> None:
        self._proof = proof or Proof()

    def __repr__(self) -> str:
        return f"Fixed({self._proof})"

    async def proof(self) -> Proof:
        """Return what was given."""
        return self._proof

    async def rejected(self, proof: Proof) -> bool:
        """Look for a reason: a certificate does expire."""
        if proof.certificate is not None:
            proof.certificate.check()
        return False


class Rotating(Credentials):
    """Credentials in files that somebody else renews: `load` reads them every `period` seconds and after a 401.

    50 seconds is what client-go takes for token files: the kubelet renews a token of 10 minutes after 8. Reading blocks
    the event loop for a moment: these files are small, and local.
    """

    def __init__(
        self, load: Callable[[], Proof], *, period: float = 50.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._load = load
        self._period = period
        self._clock = clock
        self._proof = load()
        self._due = clock() + period

    def __repr__(self) -> str:
        return f"Rotating({self._proof})"

    async def proof(self) -> Proof:
        """Return what stood in the files when they were last read."""
        if self._clock() >= self._due:
            try:
                self._reload()
            except ConfigError as error:  # in the middle of a rotation, perhaps; the server decides what still counts
                _log.warning("%s; going on with what was read before", error)
        return self._proof

    async def rejected(self, proof: Proof) -> bool:
        """Read the files again, unless that was done since."""
        if proof is self._proof:
            self._reload()
        return proof is not self._proof

    def _reload(self) -> None:
        self._due = self._clock() + self._period
        proof = self._load()
        if proof != self._proof:
            self._proof = proof


@dataclass(frozen=True, slots=True)
class Minted:
    """A proof that was made on demand, and until when (seconds of the epoch) it is good; None while nobody objects."""

    proof: Proof
    expires: float | None = None


class Minting(Credentials):
    """Credentials that `mint` makes when there are none, when they have expired, and after a 401.

    However many requests wait, one mint is under way, and all of them get its outcome. It outlives them: a person who
    logs in with a browser takes longer than a request may, and the next request finds what came of it.
    """

    def __init__(
        self,
        mint: Callable[[], Awaitable[Minted]],
        *,
        now: Callable[[], float] = time.time,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._mint = mint
        self._now = now  # an expiry is a date
        self._clock = clock
        self._proof: Proof | None = None
        self._fresh_until = 0.0
        self._forced = float("-inf")
        self._run: asyncio.Task[Proof] | None = None
        self._waiting = 0

    def __repr__(self) -> str:
        return f"Minting({self._proof})"

    async def proof(self) -> Proof:
        """Return what was minted last, or mint."""
        if self._proof is not None and self._now() < self._fresh_until:
            return self._proof
        return await self._renewed()

    async def rejected(self, proof: Proof) -> bool:
        """Mint again, unless that was done since."""
        if proof is self._proof:
            if self._run is None or self._run.done():  # else join it
                if self._clock() < self._forced + _PAUSE:
                    return False
                self._forced = self._clock()
            await self._renewed()
        return proof is not self._proof

    async def close(self) -> None:
        """End the mint under way, unless somebody waits for it: another client may have these credentials too."""
        run = self._run
        if run is not None and not self._waiting:
            self._run = None  # who comes while it ends must not join it
            run.cancel()
            await asyncio.wait([run])

    async def _renewed(self) -> Proof:
        run = self._run
        if run is None or run.done():
            run = self._run = asyncio.create_task(self._renew())
            run.add_done_callback(self._ended)
        self._waiting += 1
        try:
            await asyncio.wait([run])  # which does not cancel it when this task is cancelled
        finally:
            self._waiting -= 1
        return run.result()

    def _ended(self, run: asyncio.Task[Proof]) -> None:
        error = None if run.cancelled() else run.exception()
        if error is not None and not self._waiting:
            _log.warning("%s", error, exc_info=None if isinstance(error, ConfigError) else error)

    async def _renew(self) -> Proof:
        minted = await self._mint()
        # One that has expired already (or a clock that is wrong) makes a mint a second, not a mint a request.
        self._fresh_until = float("inf") if minted.expires is None else max(minted.expires, self._now() + 1)
        if self._proof is None or minted.proof != self._proof:
            self._proof = minted.proof
        return self._proof


def bearer(token: str, origin: str = "the token") -> dict[str, str]:
    """Return the header that shows a bearer token."""
    token = token.strip()
    if not token:
        raise ConfigError(f"{origin} is empty")
    if not (token.isascii() and token.isprintable() and " " not in token):
        raise ConfigError(f"{origin} has a space, a line break or another character that no token has")
    return {"Authorization": f"Bearer {token}"}


def basic(username: str, password: str) -> dict[str, str]:
    """Return the header that shows a user name and a password."""
    pair = f"{username}:{password}".encode()
    return {"Authorization": f"Basic {base64.b64encode(pair).decode('ascii')}"}
