"""Fetching what users ask for, safely: they may not reach what this process can reach.

- A name is looked up once for each request, and the addresses that pass are the ones that are connected to: no second
  look-up can answer otherwise. The socket is refused once more, whatever brought the address there.
- Every redirect is a new request: its URL, its name and its addresses are checked like the first.
- Nothing of ours goes along: no cookies, no credentials, no proxy of the environment, no netrc.
- The size, the time, the redirects, and the requests to one host are limited.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urljoin, urlsplit

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from trimtab import __version__
from trimtab.controllers.curl_me_that.addresses import Network, refusal
from trimtab.controllers.curl_me_that.hosts import Hosts
from trimtab.controllers.curl_me_that.pairs import BadURL, checked, shown
from trimtab.errors import TrimtabError, one_line

MOST_REDIRECTS: Final = 5
MOST_AT_ONCE: Final = 64
"""Fetches under way, to all hosts together: each may hold a megabyte."""

_OK: Final = range(200, 300)
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_PIECE: Final = 1 << 16
_LONGEST_PAUSE: Final = 3600.0

Lookup = Callable[[str, int], Awaitable[list[str]]]
"""From a host and a port to addresses; OSError where there are none."""


@dataclass(eq=False)
class FetchError(TrimtabError):
    """Why there is no answer: `reason` is one word for the event, `text` a sentence that shows nothing secret."""

    reason: str
    text: str
    for_good: bool = False
    """Only an edit of the annotation can help."""
    retry_after: float = 0.0
    """Seconds that the server asked us to wait."""

    def __str__(self) -> str:
        return self.text


@dataclass(eq=False)
class Busy(TrimtabError):
    """Enough is asked of this host now."""

    host: str
    after: float

    def __str__(self) -> str:
        return f"enough is asked of {self.host}: again in {self.after:.1f} s"


async def look_up(host: str, port: int) -> list[str]:
    """As the system does."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


class Fetcher:
    """Fetches URLs, within limits: `body = await fetcher.fetch(url, largest=1 << 20)`."""

    def __init__(
        self,
        *,
        allowed: Iterable[Network] = (),
        timeout: float = 10.0,
        rate: float = 10.0,
        clock: Callable[[], float] | None = None,
        lookup: Lookup = look_up,
    ) -> None:
        self._allowed = tuple(allowed)
        self._timeout = timeout
        self._clock = clock or _loop_time
        self._hosts = Hosts(clock=self._clock, rate=rate)
        self._lookup = lookup
        self._places = asyncio.Semaphore(MOST_AT_ONCE)

    async def fetch(self, url: str, *, largest: int) -> bytes:
        """What the URL returns. FetchError says why there is nothing; Busy, when to ask again."""
        try:
            async with self._places, asyncio.timeout(self._timeout):
                return await self._follow(url, largest)
        except TimeoutError:
            raise FetchError("Timeout", f"there was no whole answer within {self._timeout:g} s") from None

    async def _follow(self, url: str, largest: int) -> bytes:
        seen = [url]
        connector = aiohttp.TCPConnector(
            resolver=_Resolver(self._lookup, self._allowed),
            use_dns_cache=False,
            force_close=True,
            socket_factory=self._socket,
        )
        async with aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,
            auto_decompress=False,
            timeout=aiohttp.ClientTimeout(total=None),
            headers={"User-Agent": f"trimtab-curl-me-that/{__version__}", "Accept": "*/*"},
            skip_auto_headers=["Accept-Encoding"],
        ) as session:
            while True:
                answer = await self._ask(session, seen[-1], largest, first=len(seen) == 1)
                if isinstance(answer, bytes):
                    return answer
                if answer in seen or len(seen) > MOST_REDIRECTS:
                    times = f"{len(seen)} times, the last time" if len(seen) > 1 else "once,"
                    raise FetchError("RedirectLoop", f"it was redirected {times} to {shown(answer)}")
                seen.append(answer)

    async def _ask(self, session: aiohttp.ClientSession, url: str, largest: int, *, first: bool) -> bytes | str:
        """The body, or the URL that it redirects to."""
        host = urlsplit(url).hostname or ""
        while pause := self._hosts.enter(host):
            if first:
                raise Busy(host, pause)
            await asyncio.sleep(pause)  # what was asked before is not asked again for this
        began = self._clock()
        try:
            self._check_literal(url)
            async with session.get(url, allow_redirects=False, headers={"Accept-Encoding": "identity"}) as response:
                if response.status in _REDIRECTS and "Location" in response.headers:
                    return _next_url(url, response.headers["Location"])
                return await _body(response, largest)
        except Exception as error:  # noqa: BLE001  # sorted by what it means; what means nothing is raised
            raise _meaning(error, url) from None
        finally:
            self._hosts.leave(host, self._clock() - began)

    def _check_literal(self, url: str) -> None:
        """Addresses that stand in the URL are not looked up."""
        host = urlsplit(url).hostname or ""
        try:
            why = refusal(host, self._allowed)
        except ValueError:
            return  # a name
        if why is not None:
            raise _refused(f"{one_line(host, 100)} ({why}) is", for_good=True)

    def _socket(self, info: Any) -> socket.socket:
        """The last word: whatever led here, no socket is made for an address that is refused."""
        family, kind, protocol, _, address = info
        if (why := refusal(str(address[0]), self._allowed)) is not None:
            raise PermissionError(f"{address[0]} is refused: {why}")
        return socket.socket(family, kind, protocol)


class _Resolver(AbstractResolver):
    """Looks up once, and hands out only what may be connected to."""

    def __init__(self, lookup: Lookup, allowed: tuple[Network, ...]) -> None:
        self._lookup = lookup
        self._allowed = allowed

    async def resolve(
        self,
        host: str,
        port: int = 0,
        family: socket.AddressFamily = socket.AF_UNSPEC,  # noqa: ARG002  # each of the two is taken
    ) -> list[ResolveResult]:
        """The addresses of a host."""
        found = await self._lookup(host, port)
        refused = {address: why for address in found if (why := refusal(address, self._allowed)) is not None}
        good = [address for address in found if address not in refused]
        if found and not good:
            addresses = [f"{address} ({why})" for address, why in refused.items()]
            raise _refused(f"{one_line(host, 100)} is at {', '.join(addresses[:4])}, which is")
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=socket.IPPROTO_TCP,
                flags=socket.AI_NUMERICHOST,
            )
            for address in good
        ]

    async def close(self) -> None:
        """It holds nothing."""


async def _body(response: aiohttp.ClientResponse, largest: int) -> bytes:
    if response.status not in _OK:
        text = f"it answered {response.status} {one_line(response.reason or '', 60)}".strip()
        raise FetchError("BadStatus", text, retry_after=_retry_after(response))
    encoding = response.headers.get("Content-Encoding", "identity")
    if encoding.lower() != "identity":
        raise FetchError("BadAnswer", f"it is compressed ({one_line(encoding, 40)}), which was not asked for")
    body = bytearray()
    if (response.content_length or 0) <= largest:
        async for piece in response.content.iter_chunked(_PIECE):
            body += piece
            if len(body) > largest:
                break
        else:
            return bytes(body)
    raise FetchError("TooLarge", f"it is larger than the {largest} bytes for which there is room")


def _next_url(url: str, location: str) -> str:
    try:
        return checked(urljoin(url, location))
    except BadURL as error:
        raise FetchError("BadRedirect", f"it redirects to {shown(location)!r}: {error}") from None


def _refused(what: str, *, for_good: bool = False) -> FetchError:
    text = f"{what} not fetched from: whoever runs the controller may allow it by --allow-cidr"
    return FetchError("Refused", text, for_good=for_good)


def _meaning(error: Exception, url: str) -> Exception:
    """What an error says to a person."""
    host = one_line(urlsplit(url).netloc, 100)
    match error:
        case FetchError() | TimeoutError():
            return error
        case aiohttp.InvalidURL():
            return FetchError("BadURL", f"{host} is no host: {_why(error)}", for_good=True)
        case aiohttp.ClientConnectorDNSError() | UnicodeError():
            return FetchError("NoSuchHost", f"there is no host {host}")
        case aiohttp.ClientConnectorCertificateError() | ssl.SSLError() | aiohttp.ClientSSLError():
            return FetchError("Untrusted", f"TLS with {host} failed: {_why(error)}")
        case aiohttp.ClientConnectorError() | aiohttp.ClientOSError():
            return FetchError("Unreachable", f"{host} cannot be reached: {_why(error)}")
        case aiohttp.ClientError():
            return FetchError("BadAnswer", f"what {host} answered is no HTTP: {_why(error)}")
        case _:
            return error


def _why(error: Exception) -> str:
    return one_line(getattr(error, "strerror", None) or str(error) or type(error).__name__, 200)


def _retry_after(response: aiohttp.ClientResponse) -> float:
    text = response.headers.get("Retry-After", "")
    return min(float(text), _LONGEST_PAUSE) if text.isascii() and text.isdigit() else 0.0


def _loop_time() -> float:
    return asyncio.get_running_loop().time()
