"""The fetcher against real servers on loopback, and names that say whatever the test wants."""

import asyncio
import gzip
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from aiohttp import web

from trimtab.controllers.curl_me_that.addresses import network
from trimtab.controllers.curl_me_that.fetch import MOST_AT_ONCE, MOST_REDIRECTS, Busy, Fetcher, FetchError

LOOPBACK = [network("127.0.0.0/8")]


class Site:
    """A server whose paths are what the test says, and who remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[web.Request] = []
        self.paths: dict[str, Callable[[web.Request], Awaitable[web.StreamResponse]]] = {}
        self.port = 0

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"

    def says(self, path: str, *body: bytes, **options: Any) -> None:
        async def answer(_: web.Request) -> web.StreamResponse:
            return web.Response(body=b"".join(body), **options)

        self.paths[path] = answer

    def redirects(self, path: str, to: str) -> None:
        self.says(path, status=302, headers={"Location": to})

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(request)
        return await self.paths[request.path](request)


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    site = Site()
    server = web.Server(site.handle)
    runner = web.ServerRunner(server)
    await runner.setup()
    listener = socket.create_server(("127.0.0.1", 0))
    site.port = listener.getsockname()[1]
    await web.SockSite(runner, listener).start()
    yield site
    await runner.cleanup()


def fetcher(*answers: list[str], **options: Any) -> Fetcher:
    """Names are looked up as given, one answer after the other."""
    script = list(answers)

    async def lookup(host: str, port: int) -> list[str]:
        if not script:
            raise socket.gaierror(socket.EAI_NONAME, "no such name")
        return script.pop(0)

    return Fetcher(**{"allowed": LOOPBACK, "rate": 1000.0, "lookup": lookup, **options})


async def failure(fetching: Fetcher, url: str, largest: int = 1 << 20) -> FetchError:
    with pytest.raises(FetchError) as caught:
        await fetching.fetch(url, largest=largest)
    return caught.value


async def test_what_a_url_returns(site: Site) -> None:
    site.says("/", b"hello")
    assert await fetcher(["127.0.0.1"]).fetch(site.url(host="data.example.com"), largest=5) == b"hello"
    headers = site.asked[0].headers
    assert headers["Host"] == f"data.example.com:{site.port}"
    assert headers["Accept-Encoding"] == "identity"
    assert headers["User-Agent"].startswith("trimtab-curl-me-that/")
    assert not {"Authorization", "Cookie", "Referer"} & headers.keys()


async def test_nothing_private_is_fetched_from_unless_allowed(site: Site) -> None:
    site.says("/", b"secret")
    for host in ("127.0.0.1", "[::ffff:127.0.0.1]"):
        error = await failure(fetcher(allowed=[]), site.url(host=host))
        assert (error.reason, error.for_good) == ("Refused", True)
        assert error.text.startswith(f"{host.strip('[]')} (loopback) is not fetched from: whoever")
        assert "--allow-cidr" in error.text
    for disguise in ("127.1", "0x7f000001", "2130706433", "0177.0.0.1"):  # which the system's look-up understands
        error = await failure(Fetcher(allowed=[]), site.url(host=disguise))
        assert error.reason in ("Refused", "BadURL"), disguise
    error = await failure(fetcher(["10.0.0.1", "127.0.0.1"], allowed=[]), site.url(host="x.com"))
    assert error.text.startswith("x.com is at 10.0.0.1 (private), 127.0.0.1 (loopback), which is not fetched from")
    assert not error.for_good  # its owner may mend it
    assert not site.asked


async def test_digits_that_only_become_an_address_on_the_way_are_refused_too(site: Site) -> None:
    site.says("/", b"secret")
    error = await failure(Fetcher(allowed=[]), site.url(host="\N{FULLWIDTH DIGIT ONE}27.0.0.1"))
    assert error.reason in ("Refused", "Unreachable", "BadURL")
    assert not site.asked


async def test_a_name_is_looked_up_once_and_only_what_was_checked_is_connected_to(site: Site) -> None:
    site.says("/", b"hello")
    # Of several addresses those that are refused are not tried, and a second look-up would find nothing at all.
    rebinding = fetcher(["10.0.0.1", "127.0.0.1"])
    assert await rebinding.fetch(site.url(host="x.com"), largest=100) == b"hello"
    assert (await failure(rebinding, site.url(host="x.com"))).reason == "NoSuchHost"
    sneaky = fetcher(["127.0.0.1"], allowed=[])
    sneaky._check_literal = lambda _: None  # type: ignore[method-assign]
    assert (await failure(sneaky, site.url())).reason == "Unreachable"  # no socket is made, whatever led there
    assert len(site.asked) == 1


async def test_redirects_are_checked_like_the_first(site: Site) -> None:
    site.says("/end", b"there")
    site.redirects("/relative", "/end")
    site.redirects("/name", site.url("/end", host="other.example.com"))
    site.redirects("/inside", "http://169.254.169.254/latest/meta-data")
    site.redirects("/named-inside", "http://metadata.example.com/")
    site.redirects("/scheme", "file:///etc/passwd")
    site.redirects("/user", "http://me:hunter2@127.0.0.1/")
    assert await fetcher().fetch(site.url("/relative"), largest=100) == b"there"
    assert await fetcher(["127.0.0.1"]).fetch(site.url("/name"), largest=100) == b"there"
    error = await failure(fetcher(), site.url("/inside"))
    assert (error.reason, "169.254.169.254 (link-local" in error.text) == ("Refused", True)
    assert (await failure(fetcher(["10.1.1.1"]), site.url("/named-inside"))).reason == "Refused"
    assert (await failure(fetcher(), site.url("/scheme"))).reason == "BadRedirect"
    error = await failure(fetcher(), site.url("/user"))
    assert error.reason == "BadRedirect"
    assert "hunter2" not in error.text


async def test_redirects_end(site: Site) -> None:
    site.redirects("/loop", "/pool")
    site.redirects("/pool", "/loop")
    error = await failure(fetcher(), site.url("/loop"))
    assert (error.reason, error.text) == (
        "RedirectLoop",
        f"it was redirected 2 times, the last time to {site.url('/loop')}",
    )
    assert len(site.asked) == 2
    site.redirects("/self", "/self")
    assert (await failure(fetcher(), site.url("/self"))).text == f"it was redirected once, to {site.url('/self')}"
    assert len(site.asked) == 3
    for i in range(20):
        site.redirects(f"/{i}", f"/{i + 1}")
    assert (await failure(fetcher(), site.url("/0"))).reason == "RedirectLoop"
    assert len(site.asked) == 3 + MOST_REDIRECTS + 1


async def test_too_large_is_found_out_without_reading_it_all(site: Site) -> None:
    sent = 0

    async def endless(request: web.Request) -> web.StreamResponse:
        nonlocal sent
        response = web.StreamResponse()
        await response.prepare(request)
        while True:  # until the connection is cut
            await response.write(b"x" * 65536)
            sent += 65536

    site.paths["/endless"] = endless
    site.says("/said", b"x" * 101)
    site.says("/fits", b"x" * 100)
    error = await failure(fetcher(), site.url("/endless"), largest=100_000)
    assert (error.reason, error.for_good) == ("TooLarge", False)
    assert sent < 32 << 20
    assert (await failure(fetcher(), site.url("/said"), largest=100)).reason == "TooLarge"
    assert len(await fetcher().fetch(site.url("/fits"), largest=100)) == 100


async def test_a_bomb_is_not_unpacked(site: Site) -> None:
    site.says("/", gzip.compress(b"\0" * (10 << 20)), headers={"Content-Encoding": "gzip"})
    assert (await failure(fetcher(), site.url())).reason == "BadAnswer"


async def test_an_answer_that_trickles_is_given_up(site: Site) -> None:
    async def slow(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b"x")
            await asyncio.sleep(0.01)

    site.paths["/"] = slow
    error = await failure(fetcher(timeout=0.2), site.url())
    assert (error.reason, error.text) == ("Timeout", "there was no whole answer within 0.2 s")


async def test_what_else_goes_wrong_says_what(site: Site) -> None:
    site.says("/404", b"no", status=404)
    site.says("/503", b"no", status=503, headers={"Retry-After": "120"})
    site.says("/years", b"no", status=503, headers={"Retry-After": "99999999"})
    error = await failure(fetcher(), site.url("/404"))
    assert (error.reason, error.text, error.retry_after) == ("BadStatus", "it answered 404 Not Found", 0.0)
    assert (await failure(fetcher(), site.url("/503"))).retry_after == 120.0
    assert (await failure(fetcher(), site.url("/years"))).retry_after == 3600.0
    error = await failure(fetcher(), "http://nowhere.example.com/x?token=hunter2")
    assert (error.reason, error.text) == ("NoSuchHost", "there is no host nowhere.example.com")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    assert (await failure(fetcher(), f"http://127.0.0.1:{port}/")).reason == "Unreachable"
    assert (await failure(fetcher(), f"https://127.0.0.1:{site.port}/")).reason == "Untrusted"


async def test_what_is_no_http() -> None:
    async def talk(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail.example.com ESMTP\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        assert (await failure(fetcher(), f"http://127.0.0.1:{port}/")).reason == "BadAnswer"


async def test_the_environment_says_nothing(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1/")
    site.says("/", b"hello")
    assert await fetcher().fetch(site.url(), largest=100) == b"hello"


async def test_one_host_is_not_asked_too_much(site: Site) -> None:
    inside = most = 0

    async def slow(_: web.Request) -> web.StreamResponse:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        await asyncio.sleep(0.02)
        inside -= 1
        return web.Response(body=b"x")

    site.paths["/"] = slow
    one = fetcher()
    answers = await asyncio.gather(*(one.fetch(site.url(), largest=9) for _ in range(20)), return_exceptions=True)
    assert most == 4
    assert sum(isinstance(answer, Busy) for answer in answers) == 16
    assert await one.fetch(site.url(), largest=9) == b"x"  # those that ended made room


async def test_no_more_are_under_way_than_fit_into_memory(site: Site) -> None:
    inside = most = 0

    async def slow(_: web.Request) -> web.StreamResponse:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        await asyncio.sleep(0.05)
        inside -= 1
        return web.Response(body=b"x")

    site.paths["/"] = slow
    one = fetcher(rate=1e6)
    one._hosts._at_once = 1000  # as if these were many hosts
    await asyncio.gather(*(one.fetch(site.url(), largest=9) for _ in range(2 * MOST_AT_ONCE)))
    assert most == MOST_AT_ONCE
