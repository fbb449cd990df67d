"""The way to the server: HTTPS_PROXY, HTTP_PROXY and NO_PROXY read as Go reads them.

The table was printed by golang.org/x/net/http/httpproxy for these servers and values.
"""

import pytest

from trimtab.client.config.errors import ConfigError
from trimtab.client.config.proxy import check_proxy, proxy_from_environment

SERVERS = [
    "https://api.example.com",
    "https://api.example.com:6443",
    "http://api.example.com",
    "https://example.com:443",
    "https://10.1.2.3:6443",
    "https://[2001:db8::1]:6443",
    "https://localhost:6443",
    "https://127.0.0.1:6443",
    "https://127.8.8.8",
    "https://[::1]:6443",
    "https://badexample.com",
    "https://API.EXAMPLE.COM",
    "https://[::ffff:10.1.2.3]:443",
]

# NO_PROXY, and which of the servers are reached through the proxy.
GO = [
    ("", [0, 1, 2, 3, 4, 5, 10, 11, 12]),
    ("*", []),
    ("example.com", [4, 5, 10, 12]),
    (".example.com", [3, 4, 5, 10, 12]),
    ("*.example.com", [3, 4, 5, 10, 12]),
    ("api.example.com:6443", [0, 2, 3, 4, 5, 10, 11, 12]),
    ("example.com:443", [1, 2, 4, 5, 10, 12]),
    ("API.Example.Com", [3, 4, 5, 10, 12]),
    ("10.0.0.0/8", [0, 1, 2, 3, 5, 10, 11]),
    ("10.1.2.3", [0, 1, 2, 3, 5, 10, 11]),
    ("10.1.2.3:6443", [0, 1, 2, 3, 5, 10, 11, 12]),
    ("10.1.2.3:443", [0, 1, 2, 3, 4, 5, 10, 11]),
    ("2001:db8::/32", [0, 1, 2, 3, 4, 10, 11, 12]),
    ("[2001:db8::1]:6443", [0, 1, 2, 3, 4, 10, 11, 12]),
    ("2001:db8::1", [0, 1, 2, 3, 4, 10, 11, 12]),
    ("[2001:db8::1]", [0, 1, 2, 3, 4, 5, 10, 11, 12]),
    (" foo , example.com ,", [4, 5, 10, 12]),
    ("foo,*", []),
    (":6443", [0, 1, 2, 3, 4, 5, 10, 11, 12]),
    ("example.com:", [4, 5, 10, 12]),
    ("10.1.2.3/33", [0, 1, 2, 3, 4, 5, 10, 11, 12]),
    ("/8", [0, 1, 2, 3, 4, 5, 10, 11, 12]),
    ("*example.com", [0, 1, 2, 3, 4, 5, 10, 11, 12]),
    ("com", [4, 5, 12]),
    ("172.16.0.0/12,10.1.0.0/16", [0, 1, 2, 3, 5, 10, 11]),
    ("*.", [0, 1, 2, 3, 4, 5, 10, 11, 12]),
    (".", [0, 1, 2, 3, 4, 5, 10, 11, 12]),
    ("a:b:c", [0, 1, 2, 3, 4, 5, 10, 11, 12]),
    ("::ffff:10.1.2.3", [0, 1, 2, 3, 5, 10, 11]),
    ("10.1.2.3/32:6443", [0, 1, 2, 3, 4, 5, 10, 11, 12]),
]


@pytest.mark.parametrize(("no_proxy", "expected"), GO, ids=[entry or "unset" for entry, _ in GO])
def test_no_proxy_as_go_reads_it(no_proxy: str, expected: list[int]) -> None:
    proxies = {"HTTP_PROXY": "http://plain.proxy:1", "HTTPS_PROXY": "http://secure.proxy:2", "NO_PROXY": no_proxy}
    taken = {i: proxy for i, server in enumerate(SERVERS) if (proxy := proxy_from_environment(server, proxies))}
    assert list(taken) == expected
    for i, proxy in taken.items():
        assert proxy == ("http://secure.proxy:2" if SERVERS[i].startswith("https") else "http://plain.proxy:1")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("proxy:3128", "http://proxy:3128"),
        ("http://proxy:3128", "http://proxy:3128"),
        ("https://u:p@proxy", "https://u:p@proxy"),
        ("10.0.0.1:3128", "http://10.0.0.1:3128"),
        ("proxy", "http://proxy"),
        ("[::1]:3128", "http://[::1]:3128"),
    ],
)
def test_a_proxy_may_be_written_without_its_scheme(value: str, expected: str) -> None:
    assert proxy_from_environment("https://api.example.com", {"https_proxy": value}) == expected


def test_upper_case_wins() -> None:
    environ = {"HTTPS_PROXY": "upper", "https_proxy": "lower", "no_proxy": "api.example.com", "NO_PROXY": "other"}
    assert proxy_from_environment("https://api.example.com", environ) == "http://upper"


@pytest.mark.parametrize(
    ("url", "message"),
    [
        (
            "socks5://u:hush@p:1",
            "here has the scheme 'socks5', which is not supported; use an http:// or https:// proxy",
        ),
        ("http://u:hush@[p", "here is not a URL"),
        ("http://u:hush@p:99999", "here is not a URL"),
        ("http://", "here names no host"),
        ("p:3128", "here has the scheme 'p', which is not supported; use an http:// or https:// proxy"),
    ],
)
def test_a_proxy_that_cannot_be_used(url: str, message: str) -> None:
    with pytest.raises(ConfigError) as error:
        check_proxy(url, "here")
    assert str(error.value) == message
    assert error.value.__cause__ is None, "a cause would quote the password"


def test_the_environment_names_its_variable_in_the_error() -> None:
    with pytest.raises(ConfigError, match=r"^the environment's HTTPS_PROXY has the scheme 'socks5'"):
        proxy_from_environment("https://api.example.com", {"HTTPS_PROXY": "socks5://p"})
