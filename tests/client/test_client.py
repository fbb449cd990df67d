"""What the client does between reading and writing, over a server that follows a script."""

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import pytest

from trimtab.client import Broken, Client, Conflict, NoSuchResource, NotFound, retry_on_conflict
from trimtab.errors import TrimtabError
from trimtab.kube.core.v1 import ConfigMap
from trimtab.kube.dynamic import dynamic
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
            await client.delete(ConfigMap, "a", namespace="own")
            with pytest.raises(TrimtabError, match="was not read from the server"):
                await client.delete(config_map("own"))
            await client.get(ConfigMap, "a")
            with pytest.raises(TrimtabError, match=r"<ConfigMap own/a> is in namespace own, not in named"):
                await client.apply(config_map("own"), namespace="named")

    server = scripted(*[stored("5")] * 3, (200, {"kind": "Status", "status": "Success"}), stored("5"))
    run(main())
    places = [path.split("?")[0].removeprefix("/api/v1/namespaces/").split("/")[0] for path in server.paths]
    assert places == ["home", "own", "named", "own", "home"]


def test_what_was_read_is_not_applied(run: Run, scripted: Any) -> None:
    """A cache strips managedFields, so those alone do not tell: all fields would come to be owned by the applier."""
    read = ConfigMap(metadata=ObjectMeta(name="a", creation_timestamp=datetime(2026, 1, 1, tzinfo=UTC)))

    async def main() -> None:
        async with Client(scripted()) as client:
            with pytest.raises(TrimtabError, match="it was read from the server"):
                await client.apply(read)

    run(main())


def test_an_apply_tied_to_a_version_is_not_sent_again(run: Run, scripted: Any) -> None:
    async def apply(version: str) -> None:
        async with Client(scripted(Broken("x"), stored("6"))) as client:
            await client.apply(ConfigMap(metadata=ObjectMeta(name="a", resource_version=version)))

    run(apply(""))
    with pytest.raises(Broken):
        run(apply("5"))


def test_modify_through_a_subresource_loses_no_edit_in_silence(run: Run, scripted: Any) -> None:
    async def main() -> None:
        async with Client(scripted(stored("5", n="1"))) as client:
            with pytest.raises(TrimtabError, match=r"cannot modify data of configmaps default/a through .* status"):
                await client.modify(ConfigMap, "a", lambda obj: obj.data.update(n="2"), subresource="status")

    run(main())


def test_a_kind_that_is_no_longer_there_is_looked_up_anew(run: Run, scripted: Any) -> None:
    """A definition that was deleted and made again may have another plural or scope."""

    def resources(plural: str) -> tuple[int, Any]:
        one = {"name": plural, "singularName": "", "namespaced": False, "kind": "Widget", "verbs": ["get"]}
        return 200, {"kind": "APIResourceList", "groupVersion": "example.com/v1", "resources": [one]}

    found = 200, {"kind": "Widget", "apiVersion": "example.com/v1", "metadata": {"name": "a"}}
    server = scripted(resources("widgets"), (404, b"404 page not found\n"), resources("gadgets"), found)

    async def main() -> None:
        async with Client(server) as client:
            with pytest.raises(NoSuchResource):
                await client.get(dynamic("example.com/v1", "Widget"), "a")
            await client.get(dynamic("example.com/v1", "Widget"), "a")

    run(main())
    assert server.paths[-1] == "/apis/example.com/v1/gadgets/a"


def test_slips_of_the_pen_are_told_in_one_line(run: Run, scripted: Any) -> None:
    async def main() -> None:
        anything: Any = None
        async with Client(scripted()) as client:
            anything = client
            with pytest.raises(TrimtabError, match="'Pod' is no kind: give a class such as Pod"):
                await anything.get("Pod", "a")
            with pytest.raises(TrimtabError, match="is no kind"):
                await anything.get(ObjectMeta, "a")
            with pytest.raises(TrimtabError, match=r"dict is no object of a kind: make one"):
                await anything.create({"kind": "Pod"})
            for verb in (anything.apply, anything.delete):
                with pytest.raises(TrimtabError, match=r"dict is no object of a kind"):
                    await verb({"kind": "Pod"})
            with pytest.raises(TrimtabError, match=r"dict is no patch: say which, such as MergePatch"):
                await anything.patch(ConfigMap, "a", {"data": {}})
        with pytest.raises(TrimtabError, match=r"takes a Config or a Transport, not 'staging'"):
            type(anything)("staging")

    run(main())
