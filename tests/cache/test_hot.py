"""What is kept decoded: those read last, within a bound in bytes."""

from __future__ import annotations

from typing import Any

import msgspec
from tests.cache.samples import pod

from trimtab.cache import Cached, Store
from trimtab.cache.hot import Hot
from trimtab.cache.intake import Intake
from trimtab.kube.core.v1 import Pod
from trimtab.kube.partial import metadata_of
from trimtab.packing import Packer

_INTAKE = Intake(Pod, Pod.resource, Store[Pod]().indexer, Packer())


def entry(name: str) -> Cached[Pod]:
    return _INTAKE.from_answer(msgspec.json.encode(pod(name, uid=f"uid-{name}", resourceVersion="1")))


def size_of(cached: Cached[Any]) -> int:
    """What it is taken to need decoded."""
    return 4 * len(cached.json())


def is_kept(hot: Hot, cached: Cached[Pod]) -> bool:
    hits = hot.hits
    hot.read(cached, Pod)
    return hot.hits > hits


def test_what_is_read_twice_is_kept_and_no_more_than_fits_those_read_last() -> None:
    entries = [entry(f"p{n}") for n in range(6)]
    hot = Hot(3 * size_of(entries[0]))
    for each in entries[:3]:
        assert [is_kept(hot, each) for _ in range(3)] == [False, False, True]
    assert is_kept(hot, entries[0])  # which makes the second the one that was read longest ago
    for _ in range(2):
        hot.read(entries[3], Pod)
    assert (len(hot), hot.size) == (3, 3 * size_of(entries[0]))
    assert is_kept(hot, entries[0])
    assert is_kept(hot, entries[2])
    assert not is_kept(hot, entries[1])


def test_views_of_an_object_count_as_it_does() -> None:
    one = entry("a")
    hot = Hot(10 * size_of(one))
    for cls in (Pod, Pod, metadata_of(Pod), metadata_of(Pod)):
        hot.read(one, cls)
    assert (len(hot), hot.size) == (1, 2 * size_of(one))


def test_what_is_of_the_past_is_let_go_of() -> None:
    one = entry("a")
    hot = Hot(1 << 20)
    for _ in range(3):
        hot.read(one, Pod)
    hot.forget(one)
    assert (len(hot), hot.size) == (0, 0)


def test_what_does_not_fit_at_all_is_decoded_each_time() -> None:
    one = entry("a")
    hot = Hot(size_of(one) - 1)
    assert not any(is_kept(hot, one) for _ in range(5))
    assert (len(hot), hot.size) == (0, 0)


def test_what_was_read_once_is_remembered_for_a_while_only() -> None:
    hot = Hot(1 << 30)
    for number in range(5000):
        hot.read(entry(f"p{number}"), Pod)
    assert len(hot._met) == 4096
    assert len(hot) == 0
