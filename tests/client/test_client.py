"""What the client does between reading and writing, over a server that follows a script."""

import asyncio
import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from trimtab.client import Client, Conflict, NotFound, retry_on_conflict
from trimtab.errors import TrimtabError
from trimtab.kube.core.v1 import ConfigMap
from trimtab.kube.meta.v1 import ObjectMeta, Status

Run = Callable[[Any], Any]
CONFLICT = (409, {"kind": "Status", "code": 409, "reason": "Conflict", "message": "the object has been modified"})


def stored(version: str, **data: str) -> tuple[int, Any]:
    metadata = {"name": "a", "namespace": "default", "resourceVersion": version}
    return 200, {"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata, "data": data, "unknown": [1]}


def modified(run: Run, server: Any, change: Callable[[ConfigMap], Any]) -> ConfigMap:
    async def main() -> ConfigMap:
        async with Client(server) as client:
            return await client.modify(ConfigMap, "a", change)

    return run(main())


def test_modify_reads_again_when_somebody_else_was_faster(run: Run, scripted: Any) -> None:
    server = scripted(stored("5", n="1"), CONFLICT, stored("6", n="7"), stored("8", n="8"))

    def more(obj: ConfigMap) -> None:
        obj.data["n"] = str(int(obj.data["n"]) + 1)

    assert modified(run, server, more).data == {"n": "8"}
    assert [request.method for request in server.requests] == ["GET", "PATCH"] * 2
    assert [json.loads(request.body) for request in server.requests if request.body] == [
        {"metadata": {"resourceVersion": "5"}, "data": {"n": "2"}},
        {"metadata": {"resourceVersion": "6"}, "data": {"n": "8"}},
    ]


def test_modify_without_a_change_sends_nothing(run: Run, scripted: Any) -> None:
    server = scripted(stored("5", n="1"))
    assert modified(run, server, lambda _: None).metadata.resource_version == "5"
    assert [request.method for request in server.requests] == ["GET"]


def test_modify_gives_up_and_keeps_quiet_about_nothing(run: Run, scripted: Any) -> None:
    def change(obj: ConfigMap) -> None:
        obj.data["n"] = "2"

    with pytest.raises(Conflict, match=r"cannot patch configmaps default/a: Conflict"):
        modified(run, scripted(*[stored("5", n="1"), CONFLICT] * 8), change)

    def fail(_: ConfigMap) -> None:
        raise KeyError("the caller's own")

    with pytest.raises(KeyError):
        modified(run, scripted(stored("5")), fail)


def test_retry_on_conflict_pauses_and_counts(run: Run) -> None:
    times: list[float] = []

    async def attempt(fails: int, error: Exception) -> int:
        times.append(asyncio.get_running_loop().time())
        if len(times) <= fails:
            raise error
        return len(times)

    conflict = Conflict("x", Status(message="x"))
    assert run(retry_on_conflict(lambda: attempt(4, conflict))) == 5
    pauses = [b - a for a, b in pairwise(times)]
    assert all(0.5 <= pause / (0.01 * 2**number) <= 1.5 for number, pause in enumerate(pauses))
    times.clear()
    with pytest.raises(Conflict):
        run(retry_on_conflict(lambda: attempt(9, conflict), tries=3))
    assert len(times) == 3
    times.clear()
    with pytest.raises(NotFound):
        run(retry_on_conflict(lambda: attempt(9, NotFound("x", Status(message="x")))))
    assert len(times) == 1


def test_where_objects_go(run: Run, scripted: Any) -> None:
    """The object's own namespace, the one that is named, and the client's: in this order, and no two that differ."""

    def config_map(namespace: str) -> ConfigMap:
        return ConfigMap(metadata=ObjectMeta(name="a", namespace=namespace))

    async def main() -> None:
        async with Client(server, namespace="home") as client:
            await client.apply(config_map(""))
            await client.apply(config_map("own"))
            await client.apply(config_map(""), namespace="named")
            await client.delete(config_map("own"))
            await client.get(ConfigMap, "a")
            with pytest.raises(TrimtabError, match=r"<ConfigMap own/a> is in namespace own, not in named"):
                await client.apply(config_map("own"), namespace="named")

    server = scripted(*[stored("5")] * 3, (200, {"kind": "Status", "status": "Success"}), stored("5"))
    run(main())
    places = [path.split("?")[0].removeprefix("/api/v1/namespaces/").split("/")[0] for path in server.paths]
    assert places == ["home", "own", "named", "own", "home"]
