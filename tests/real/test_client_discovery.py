"""Discovery against a real API server, in both forms, and of a kind that was not there a moment ago."""

import dataclasses
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from trimtab.client import Client, Config, Response, Stream, UnknownKind, load_config
from trimtab.client.discovery import ServedResource
from trimtab.client.http import HttpTransport
from trimtab.client.request import JSON, Request
from trimtab.kube.apiextensions.v1 import CustomResourceDefinition
from trimtab.kube.apps.v1 import Deployment
from trimtab.kube.core.v1 import Pod
from trimtab.kube.dynamic import dynamic
from trimtab.kube.wire import from_wire
from trimtab.testing.control_plane import ControlPlane


@pytest.fixture
def config(control_plane: ControlPlane) -> Config:
    return load_config(control_plane.kubeconfig())


class Plain:
    """A transport that asks for plain JSON only, as a server before aggregated discovery would understand it."""

    def __init__(self, inner: HttpTransport) -> None:
        self.inner = inner
        self.paths: list[str] = []

    async def send(self, request: Request) -> Response:
        self.paths.append(request.path)
        return await self.inner.send(dataclasses.replace(request, accept=JSON))

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        return self.inner.stream(request)

    async def close(self) -> None:
        await self.inner.close()


def by_kind(found: list[ServedResource]) -> dict[tuple[str, str, str], ServedResource]:
    """In one order of the subresources: the two forms differ in that. Other tests' custom kinds come and go."""

    def sorted_(served: ServedResource) -> ServedResource:
        resource = dataclasses.replace(served.resource, subresources=tuple(sorted(served.resource.subresources)))
        return dataclasses.replace(
            served, resource=resource, verbs=tuple(sorted(served.verbs)), categories=tuple(sorted(served.categories))
        )

    return {
        (s.resource.api_version, s.resource.kind, s.resource.plural): sorted_(s)
        for s in found
        if not s.resource.group.endswith("trimtab.dev")
    }


async def test_both_forms_find_the_same(client: Client, config: Config) -> None:
    aggregated = await client.discovery.all()
    plain = Plain(HttpTransport(config))
    async with Client(plain) as old:
        legacy = await old.discovery.all()
    assert "/apis/apps/v1" in plain.paths
    assert by_kind(aggregated) == by_kind(legacy)
    for cls in (Pod, Deployment):
        [served] = [s for s in aggregated if (s.resource.api_version, s.resource.kind) == (
            cls.resource.api_version, cls.resource.kind
        )]  # fmt: skip
        assert served.resource.plural == cls.resource.plural
        assert served.resource.namespaced == cls.resource.namespaced
        assert set(served.resource.subresources) == set(cls.resource.subresources)
    assert next(s for s in aggregated if s.resource.plural == "pods").short_names == ("po",)


async def test_one_kind_is_found_by_itself(client: Client) -> None:
    found = await client.discovery.find("apps/v1", "Deployment")
    assert (found.resource.plural, found.singular, found.short_names) == ("deployments", "deployment", ("deploy",))
    assert {"get", "list", "watch", "patch"} <= set(found.verbs)
    for api_version in ("v1", "apps/v1", "apps/v0", "none.trimtab.dev/v1"):
        with pytest.raises(UnknownKind, match=f"the server has no kind Gadget in {api_version}"):
            await client.list(dynamic(api_version, "Gadget"))


@pytest.fixture
def gadget(control_plane: ControlPlane) -> Iterator[CustomResourceDefinition]:
    """A definition, to be created by the test."""
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    spec: dict[str, Any] = {
        "group": "fresh.trimtab.dev",
        "scope": "Cluster",
        "names": {"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "shortNames": ["gd"]},
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
    }
    yield from_wire(CustomResourceDefinition, {"metadata": {"name": "gadgets.fresh.trimtab.dev"}, "spec": spec})
    control_plane.request("DELETE", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gadgets.fresh.trimtab.dev")


async def test_a_kind_is_found_as_soon_as_it_is_established(client: Client, gadget: CustomResourceDefinition) -> None:
    kind = dynamic("fresh.trimtab.dev/v1", "Gadget")
    with pytest.raises(UnknownKind):
        await client.list(kind)
    made = await client.create(gadget)
    async with client.watch(
        CustomResourceDefinition,
        fields={"metadata.name": made.metadata.name},
        resource_version=made.metadata.resource_version,
    ) as events:
        async for event in events:
            if any(c.type == "Established" and c.status == "True" for c in event.object.status.conditions):
                break
    stored = await client.apply(kind({"metadata": {"name": "g"}, "size": 3}))
    assert stored["size"] == 3
    assert stored.metadata.namespace == ""
    assert [g.metadata.name for g in await client.list(kind)] == ["g"]
    await client.delete(stored)
