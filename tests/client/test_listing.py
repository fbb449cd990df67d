"""Lists: pages, what may stand in them, and what must not pass for one."""

import gc
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from trimtab.client import Client, Expired, Gone, NotKubernetes, Retry
from trimtab.client.listing import collector_paused, decode_page
from trimtab.kube.core.v1 import ConfigMap, Pod
from trimtab.kube.dynamic import dynamic

Run = Callable[[Any], Any]
WIDGET = dynamic("example.com/v1", "Widget", plural="widgets", namespaced=True)


def page(*names: str, version: str = "7", more: str = "", left: int | None = None, **extra: Any) -> tuple[int, Any]:
    metadata = {"resourceVersion": version, "continue": more, "remainingItemCount": left}
    items = [{"metadata": {"name": name}} for name in names]
    return 200, {"kind": "ConfigMapList", "apiVersion": "v1", "metadata": metadata, "items": items, **extra}


def gone(reason: str) -> tuple[int, Any]:
    return 410, {"kind": "Status", "code": 410, "reason": reason, "message": "too old"}


def listed(run: Run, server: Any, kind: Any = ConfigMap, **options: Any) -> Any:
    async def main() -> Any:
        async with Client(server, retry=Retry(attempts=1)) as client:
            return await client.list(kind, **options)

    return run(main())


def queries(server: Any) -> list[dict[str, str]]:
    return [{k: v[0] for k, v in parse_qs(urlsplit(path).query).items()} for path in server.paths]


def test_pages_are_one_list(run: Run, scripted: Any) -> None:
    server = scripted(page("a", "b", more="t1", left=3), page("c", more="t2", left=1), page("d"))
    found = listed(
        run, server, namespace="shop", labels={"app": "web"}, fields="metadata.name!=x",
        resource_version="5", resource_version_match="NotOlderThan", page_size=2,
    )  # fmt: skip
    assert [obj.metadata.name for obj in found] == ["a", "b", "c", "d"]
    assert (found.resource_version, found.continue_, found.remaining) == ("7", "", None)
    chosen = {"labelSelector": "app=web", "fieldSelector": "metadata.name!=x", "limit": "2"}
    assert queries(server) == [
        {**chosen, "resourceVersion": "5", "resourceVersionMatch": "NotOlderThan"},
        {**chosen, "continue": "t1"},  # the server refuses to be told a version beside it
        {**chosen, "continue": "t2"},
    ]
    assert {urlsplit(path).path for path in server.paths} == {"/api/v1/namespaces/shop/configmaps"}


@pytest.mark.parametrize("reason", ["Expired", "Gone", ""])
def test_an_expired_token_gives_one_whole_list(run: Run, scripted: Any, reason: str) -> None:
    server = scripted(page("a", more="t1"), gone(reason), page("b", "c", version="9"))
    found = listed(run, server, resource_version="5")
    assert [obj.metadata.name for obj in found] == ["b", "c"]  # and nothing of the first try
    assert found.resource_version == "9"
    assert queries(server)[2] == {}


def test_expired_at_the_first_page_is_for_the_caller(run: Run, scripted: Any) -> None:
    with pytest.raises(Expired, match="too old"):
        listed(run, scripted(gone("Expired")), resource_version="5")
    # Nor is the second, whole list tried for ever.
    with pytest.raises(Gone):
        listed(run, scripted(page("a", more="t"), gone("Expired"), gone("Expired")))


def test_pages_come_one_at_a_time(run: Run, scripted: Any) -> None:
    server = scripted(page("a", more="t1", left=1), page("b"))

    async def main() -> None:
        async with Client(server) as client:
            pages = client.pages(ConfigMap, page_size=1)
            first = await anext(pages)
            assert (first.continue_, first.remaining, len(server.requests)) == ("t1", 1, 1)
            assert [o.metadata.name for o in await anext(pages)] == ["b"]
            await pages.aclose()

    run(main())


@pytest.mark.parametrize("kind", [ConfigMap, WIDGET])
def test_nothing_is_no_fault(kind: Any) -> None:
    assert decode_page(kind, b'{"metadata":{"resourceVersion":"3"},"items":null}').resource_version == "3"
    assert decode_page(kind, b'{"items":[]}') == []


def test_nulls_are_read_as_go_reads_them() -> None:
    body = b'{"metadata":{},"items":[{"metadata":{"name":"a","labels":null},"data":null},{"metadata":null}]}'
    first, second = decode_page(ConfigMap, body)
    assert (first.metadata.name, first.data, second.metadata.name) == ("a", {}, "")


@pytest.mark.parametrize(
    "body",
    [
        b"", b"<html>", b"[]", b"{}", b'{"ok":true}', b'{"items":{}}', b'{"items":[1]}', b'{"items":[{"metadata":7}]}',
        b'{"items":[{"metadata":{"name":"\xff"}}]}', b'{"items":[{"metadata":{"name":"a"}}]', b'{"items":[null]}',
    ],
)  # fmt: skip
def test_what_is_no_list_is_not_an_empty_one(run: Run, scripted: Any, body: bytes) -> None:
    with pytest.raises(NotKubernetes) as caught:
        listed(run, scripted((200, body)))
    assert str(caught.value).startswith("cannot list configmaps: what answered is no Kubernetes API server")
    assert len(str(caught.value).splitlines()) == 1


def test_objects_without_a_class_are_listed_too(run: Run, scripted: Any) -> None:
    server = scripted((200, b'{"items":[{"metadata":{"name":"a"},"spec":{"x":[1,null]}}]}'))
    [widget] = listed(run, server, WIDGET)
    assert widget.get("spec", "x") == [1, None]
    assert widget.metadata.name == "a"


def test_the_collector_is_as_it_was() -> None:
    assert gc.isenabled()
    with collector_paused():
        assert not gc.isenabled()
        with collector_paused():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(ZeroDivisionError), collector_paused():
        _ = 1 / 0
    assert gc.isenabled()


def test_a_typed_list_says_where_it_does_not_fit(run: Run, scripted: Any) -> None:
    body = b'{"items":[{"metadata":{"name":"web"},"spec":{"containers":[{"name":"c","ports":"none"}]}}]}'
    with pytest.raises(NotKubernetes, match=r"ports"):
        listed(run, scripted((200, body)), Pod)
