"""What changed last is plain until others changed after it; then it is packed, and nobody who reads it can tell."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest
from tests.cache.feeding import feeding, server_with
from tests.cache.samples import virtual

from trimtab.cache import entry as entry_module
from trimtab.cache.entry import Cached, Labels
from trimtab.cache.indexes import Indexer
from trimtab.cache.intake import Intake
from trimtab.cache.latest import Latest
from trimtab.kube.core.v1 import Pod
from trimtab.packing import PLAIN, Packer, is_packed


def trained() -> tuple[Intake[Any], Packer]:
    packer = Packer()
    intake = Intake(Pod, Pod.resource, Indexer(), packer)
    for number in range(60):
        intake.from_item(pod(number), nothing)
    assert packer.trained == 1
    return intake, packer


def pod(number: int, size: int = 40) -> bytes:
    metadata = {"name": f"web-{number}", "namespace": "shop", "uid": f"u{number}", "resourceVersion": f"{number}"}
    env = [{"name": f"VARIABLE_{n}", "value": f"{n * 7919 % 9973}"} for n in range(size)]
    spec = {"containers": [{"name": "main", "env": env}]}
    return msgspec.json.encode({"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": spec})


def nothing(_: str) -> None:
    """Nothing is known yet."""


def changed(data: bytes) -> bytes:
    return b'{"type":"MODIFIED","object":' + data + b"}"


def test_a_change_is_packed_once_others_came_after_it() -> None:
    intake, _ = trained()
    entries = [intake.from_line(changed(pod(number)), later=True) for number in range(100, 180)]
    plain = [number for number, entry in enumerate(entries) if not is_packed(entry.data)]
    assert plain == list(range(48, 80))  # at least the last 17, at most 32
    assert [entry.json() for entry in entries] == [pod(number) for number in range(100, 180)]
    assert [entry.read().metadata.name for entry in entries] == [f"web-{number}" for number in range(100, 180)]


def test_what_was_written_waits_too_and_what_was_listed_does_not() -> None:
    intake, _ = trained()
    assert not is_packed(intake.from_answer(pod(1)).data)
    assert is_packed(intake.from_item(pod(2)).data)
    assert is_packed(intake.from_line(changed(pod(3)), nothing).data)


@virtual
async def test_of_what_a_watch_says_the_changes_wait() -> None:
    server = server_with()
    for number in range(60):
        server.put(msgspec.json.decode(pod(number)))
    async with feeding(server) as fed:
        assert sum(is_packed(entry.data) for entry in fed.store) > 0
        server.put(msgspec.json.decode(pod(59, size=41)))
        await asyncio.sleep(1)
        changed_now = fed.store.get("shop/web-59")
        assert changed_now is not None
        assert not is_packed(changed_now.data)
        assert len(changed_now.read().spec.containers[0].env) == 41


def test_what_is_large_does_not_wait() -> None:
    intake, _ = trained()
    large = pod(1, size=2000)
    entry = intake.from_line(changed(large), later=True)
    assert is_packed(entry.data)
    assert entry.json() == large


def test_a_reader_in_a_thread_finds_it_whole_at_any_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    _, packer = trained()
    entry: Cached[Any] = Cached("shop/web-1", "1", "u1", Labels("shop", b""), None, False, pod(1, 900), PLAIN, Pod)
    moments: list[bytes] = []

    def set_and_read(one: Any, name: str, value: object) -> None:
        msgspec.structs.force_setattr(one, name, value)
        moments.append(entry.json())

    monkeypatch.setattr(entry_module, "force_setattr", set_and_read)
    latest: Latest[Any] = Latest(packer)
    latest.add(entry)
    assert is_packed(entry.data)
    assert moments == [pod(1, 900)] * 2
