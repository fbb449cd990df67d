"""What is worked out of an entry is worked out once, kept for as long as that is there, and no longer."""

from __future__ import annotations

from itertools import count
from typing import Any

import msgspec
import pytest
from tests.cache.samples import pod

from trimtab.cache import Cached, Store
from trimtab.cache.digests import Digests
from trimtab.cache.intake import Intake
from trimtab.errors import TrimtabError
from trimtab.kube.core.v1 import Pod
from trimtab.packing import Packer

_STORE: Store[Pod] = Store()
_INTAKE = Intake(Pod, Pod.resource, _STORE.indexer, Packer())
_versions = count(1)


def entry(name: str) -> Cached[Pod]:
    body = pod(name, uid=f"uid-{name}", resourceVersion=str(next(_versions)))
    return _INTAKE.from_answer(msgspec.json.encode(body))


class Asked:
    """A digest that tells what it was asked."""

    def __init__(self) -> None:
        self.versions: list[str] = []

    def __call__(self, cached: Cached[Any]) -> str:
        self.versions.append(cached.resource_version)
        return f"{cached.name} at {cached.resource_version}"


def test_each_version_of_an_object_is_asked_about_once() -> None:
    digests, asked, other = Digests(_STORE), Asked(), Asked()
    first, second = entry("a"), entry("a")
    for each in (first, first, second, second):
        assert digests.of(asked, each) == f"a at {each.resource_version}"
    assert asked.versions == [first.resource_version, second.resource_version]
    digests.of(other, second)
    assert other.versions == [second.resource_version]


def test_what_is_of_the_past_is_let_go_of_and_what_is_newer_is_not() -> None:
    digests, asked = Digests(_STORE), Asked()
    first, second = entry("a"), entry("a")
    digests.of(asked, second)
    digests.forget(first)
    digests.of(asked, second)
    assert len(asked.versions) == 1
    digests.forget(second)
    assert len(digests) == 0


def test_what_the_store_never_had_does_not_pile_up() -> None:
    digests, asked = Digests(Store[Pod]()), Asked()
    for number in range(3000):
        digests.of(asked, entry(f"p{number}"))
    assert len(digests) <= 1100


def test_digests_that_are_made_anew_at_each_call_are_refused() -> None:
    digests, one = Digests(_STORE), entry("a")
    asked = [Asked() for _ in range(65)]
    for each in asked[:-1]:
        digests.of(each, one)
    with pytest.raises(TrimtabError, match="define it once"):
        digests.of(asked[-1], one)
