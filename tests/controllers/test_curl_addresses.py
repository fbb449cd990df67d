"""Which addresses are fetched from."""

import pytest

from trimtab.controllers.curl_me_that.addresses import network, refusal


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.255.255.254",
        "168.63.129.16", "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.192", "192.0.2.1",
        "192.168.1.1", "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.1.1.1", "240.0.0.1",
        "255.255.255.255",
        "::", "::1", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "::ffff:10.0.0.1", "::127.0.0.1",
        "64:ff9b::7f00:1", "64:ff9b::808:808", "64:ff9b:1::1", "100::1", "2001::1", "2001:db8::1", "2002:7f00:1::1",
        "fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1", "3fff::1", "5f00::1",
    ],
)  # fmt: skip
def test_refused(address: str) -> None:
    assert refusal(address)


@pytest.mark.parametrize("address", ["8.8.8.8", "1.1.1.1", "172.32.0.1", "2606:4700::1111", "::ffff:8.8.8.8"])
def test_public(address: str) -> None:
    assert refusal(address) is None


def test_what_is_allowed_and_nothing_beside() -> None:
    allowed = [network("10.1.0.0/16"), network("fd00::/8"), network("127.0.0.1")]
    assert refusal("10.1.2.3", allowed) is None
    assert refusal("::ffff:10.1.2.3", allowed) is None
    assert refusal("10.2.0.1", allowed) == "private"
    assert refusal("fd00::1", allowed) is None
    assert refusal("127.0.0.1", allowed) is None
    assert refusal("127.0.0.2", allowed) == "loopback"
