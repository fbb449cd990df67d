"""What kinds a server has, from either form of its documents."""

from collections.abc import Callable
from typing import Any

import pytest

from trimtab.client import Client, NotKubernetes, ServiceUnavailable, UnknownKind
from trimtab.client.discovery import ServedResource
from trimtab.errors import TrimtabError
from trimtab.kube.dynamic import dynamic
from trimtab.kube.kinds import Resource

Run = Callable[[Any], Any]

WIDGETS = {
    "kind": "APIResourceList", "groupVersion": "example.com/v1", "resources": [
        {"name": "widgets", "singularName": "widget", "namespaced": True, "kind": "Widget", "verbs": ["get", "list"],
         "shortNames": ["wd"], "categories": ["all"]},
        {"name": "widgets/status", "singularName": "", "namespaced": True, "kind": "Widget", "verbs": ["get"]},
        {"name": "widgets/scale", "singularName": "", "namespaced": True, "group": "autoscaling", "version": "v1",
         "kind": "Scale", "verbs": ["get"]},
        {"name": "zones", "singularName": "zone", "namespaced": False, "kind": "Zone", "verbs": None},
    ],
}  # fmt: skip
CORE = {
    "kind": "APIResourceList", "groupVersion": "v1", "resources": [
        {"name": "pods", "singularName": "pod", "namespaced": True, "kind": "Pod", "verbs": ["get"]},
    ],
}  # fmt: skip
WIDGET = ServedResource(
    Resource("example.com", "v1", "Widget", "widgets", True, ("status", "scale")),
    ("get", "list"), ("wd",), ("all",), "widget",
)  # fmt: skip
ZONE = ServedResource(Resource("example.com", "v1", "Zone", "zones", False, ()), (), (), (), "zone")
POD = ServedResource(Resource("", "v1", "Pod", "pods", True, ()), ("get",), (), (), "pod")


def aggregated(name: str, *resources: dict[str, Any]) -> dict[str, Any]:
    group = {"metadata": {"name": name} if name else {}, "versions": [{"version": "v1", "resources": list(resources)}]}
    return {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "items": [group]}


def in_client(run: Run, server: Any, body: Callable[[Client], Any]) -> Any:
    async def main() -> Any:
        async with Client(server) as client:
            return await body(client)

    return run(main())


NOT_FOUND = (404, b"404 page not found\n")


def test_a_kind_is_asked_for_once(run: Run, scripted: Any) -> None:
    server = scripted((200, WIDGETS))

    async def body(client: Client) -> None:
        assert await client.discovery.find("example.com/v1", "Widget") == WIDGET
        assert await client.discovery.find("example.com/v1", "Zone") == ZONE

    in_client(run, server, body)
    assert server.paths == ["/apis/example.com/v1"]


def test_an_unknown_kind_is_asked_for_anew_each_time(run: Run, scripted: Any) -> None:
    server = scripted(NOT_FOUND, (200, {**WIDGETS, "resources": []}), (200, WIDGETS))

    async def body(client: Client) -> ServedResource:
        for _ in range(2):
            with pytest.raises(UnknownKind, match=r"no kind Widget in example.com/v1: is its CustomResourceDefinition"):
                await client.discovery.find("example.com/v1", "Widget")
        return await client.discovery.find("example.com/v1", "Widget")

    assert in_client(run, server, body) == WIDGET


def test_a_dynamic_kind_is_found_where_discovery_says(run: Run, scripted: Any) -> None:
    server = scripted((200, WIDGETS), (200, {"kind": "Widget", "metadata": {"name": "w"}}), (200, {"items": []}))

    async def body(client: Client) -> None:
        await client.get(dynamic("example.com/v1", "Widget"), "w", namespace="shop")
        await client.list(dynamic("example.com/v1", "Zone"), namespace="ignored", page_size=0)

    in_client(run, server, body)
    assert server.paths == [
        "/apis/example.com/v1",
        "/apis/example.com/v1/namespaces/shop/widgets/w",
        "/apis/example.com/v1/zones",
    ]


def test_the_whole_of_it_aggregated(run: Run, scripted: Any) -> None:
    pods = {
        "resource": "pods", "responseKind": {"group": "", "version": "", "kind": "Pod"}, "scope": "Namespaced",
        "singularResource": "pod", "verbs": ["get"],
    }  # fmt: skip
    widgets = {
        "resource": "widgets", "responseKind": {"group": "example.com", "version": "v1", "kind": "Widget"},
        "scope": "Namespaced", "singularResource": "widget", "verbs": ["get", "list"], "shortNames": ["wd"],
        "categories": ["all"], "subresources": [{"subresource": "status"}, {"subresource": "scale"}],
    }  # fmt: skip
    zones = {"resource": "zones", "responseKind": {"kind": "Zone"}, "scope": "Cluster", "singularResource": "zone"}
    server = scripted((200, aggregated("", pods)), (200, aggregated("example.com", widgets, zones)))

    async def body(client: Client) -> list[ServedResource]:
        found = await client.discovery.all()
        assert await client.discovery.find("v1", "Pod") == POD  # without another request
        return found

    assert in_client(run, server, body) == [POD, WIDGET, ZONE]
    for request in server.requests:
        versions = [part.partition("v=")[2].partition(";")[0] for part in request.accept.split(",")]
        assert versions == ["v2", "v2beta1", ""], "the newest first; then what 1.26 to 1.29 have; then what all have"


def test_the_whole_of_it_from_an_old_server(run: Run, scripted: Any) -> None:
    groups = [{"name": "example.com", "versions": [{"groupVersion": "example.com/v1", "version": "v1"}]}]
    server = scripted(
        (200, {"kind": "APIVersions", "versions": ["v1"]}),
        (200, CORE),
        (200, {"kind": "APIGroupList", "groups": groups}),
        (200, WIDGETS),
    )
    assert in_client(run, server, lambda client: client.discovery.all()) == [POD, WIDGET, ZONE]
    assert server.paths == ["/api", "/api/v1", "/apis", "/apis/example.com/v1"]


@pytest.mark.parametrize("broken", [[(503, b"service unavailable\n")] * 5, [(200, b"<html>")]], ids=["503", "garbage"])
def test_a_group_that_is_down_hides_no_other(
    run: Run, scripted: Any, broken: list[Any], caplog: pytest.LogCaptureFixture
) -> None:
    versions = ["metrics.k8s.io/v1beta1", "example.com/v1"]
    groups = [{"name": v.partition("/")[0], "versions": [{"groupVersion": v}]} for v in versions]
    server = scripted(
        (200, {"kind": "APIVersions", "versions": ["v1"]}),
        (200, CORE),
        (200, {"kind": "APIGroupList", "groups": groups}),
        *broken,
        (200, WIDGETS),
    )
    assert in_client(run, server, lambda client: client.discovery.all()) == [POD, WIDGET, ZONE]
    assert [message.rpartition("; ")[2] for message in caplog.messages] == [
        "going on without the kinds of metrics.k8s.io/v1beta1"
    ]


def test_a_kind_that_is_forgotten_is_asked_for_anew(run: Run, scripted: Any) -> None:
    renamed = {**WIDGETS, "resources": [{"name": "gadgets", "namespaced": False, "kind": "Widget", "verbs": []}]}
    server = scripted((200, WIDGETS), (200, renamed))

    async def body(client: Client) -> None:
        client.discovery.forget("example.com/v1", "Widget")  # not known yet
        assert await client.discovery.find("example.com/v1", "Widget") == WIDGET
        client.discovery.forget("example.com/v1", "Widget")
        found = (await client.discovery.find("example.com/v1", "Widget")).resource
        assert (found.plural, found.namespaced) == ("gadgets", False)

    in_client(run, server, body)


def test_both_forms_tell_the_same(run: Run, scripted: Any) -> None:
    """A kind found by itself equals the one from the whole."""
    server = scripted((200, WIDGETS))
    assert in_client(run, server, lambda client: client.discovery.find("example.com/v1", "Widget")) == WIDGET


@pytest.mark.parametrize("api_version", ["../v1", "a/..", "a/b/c", "a/v1?x", "a b/v%31", "..", "a/v\n1"])
def test_nothing_leaves_its_place(run: Run, scripted: Any, api_version: str) -> None:
    """An apiVersion may come from an owner reference, and so from anybody."""
    server = scripted(NOT_FOUND)
    with pytest.raises(TrimtabError) as caught:
        in_client(run, server, lambda client: client.discovery.find(api_version, "Widget"))
    assert len(str(caught.value).splitlines()) == 1
    for path in server.paths:
        assert path == "/apis/a/v1%3Fx"


@pytest.mark.parametrize("body", [b"<html>", b"[]", b"\xff"])
def test_what_is_no_document_is_not_kubernetes(run: Run, scripted: Any, body: bytes) -> None:
    with pytest.raises(NotKubernetes):
        in_client(run, scripted((200, body)), lambda client: client.discovery.find("v1", "Pod"))
    with pytest.raises(NotKubernetes):
        in_client(run, scripted((200, body)), lambda client: client.discovery.all())


def test_a_failure_is_no_absence(run: Run, scripted: Any) -> None:
    with pytest.raises(ServiceUnavailable):
        in_client(run, scripted(*[(503, b"")] * 5), lambda client: client.discovery.find("a/v1", "Widget"))
