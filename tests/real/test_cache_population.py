"""2,000 Pods of 10 KB, from the first byte to what they take."""

import asyncio
import gc
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest

from trimtab.cache import Informers
from trimtab.client import Client, HttpTransport, load_config
from trimtab.kube.core.v1 import Pod
from trimtab.kube.wire import encode, from_wire
from trimtab.testing.control_plane import ControlPlane

from .cache_helpers import Recording, no_streamed_state, until

PODS = 2000
OWNERS = 40
KB = 1 << 10


def pod(number: int) -> Pod:
    """Of about 10 KB as it is stored. No two are alike in more than Pods of a cluster are."""
    owner = number % OWNERS
    env = [
        {"name": f"SETTING_{n}", "value": f"https://service-{owner}.shop-{n}.svc:{8000 + n}/v{number}"}
        for n in range(18)
    ]
    mounts = [{"name": f"v{n}", "mountPath": f"/etc/shop/{owner}/{n}"} for n in range(6)]
    containers = [
        {
            "name": name,
            "image": f"registry.example.com/shop/{name}-{owner}:1.{number}",
            "args": [f"--instance={number}", "--log-format=json", f"--peer=shop-{owner}-{(number * 7919) % PODS}"],
            "env": env,
            "volumeMounts": mounts,
            "resources": {"requests": {"cpu": f"{owner + 1}m", "memory": "64Mi"}, "limits": {"memory": "128Mi"}},
            "livenessProbe": {"httpGet": {"path": "/healthz", "port": 8080}, "periodSeconds": 10},
        }
        for name in ("web", "cache")
    ]
    volumes = [{"name": f"v{n}", "configMap": {"name": f"settings-{owner}-{n}"}} for n in range(6)]
    metadata: dict[str, Any] = {
        "name": f"shop-{owner}-{number:05}",
        "labels": {"app": f"shop-{owner}", "pod-template-hash": f"{owner * 7919:08x}"},
        "annotations": {"checksum": f"{number * 2654435761 % 2**32:08x}" * 8},
    }
    return from_wire(Pod, {"metadata": metadata, "spec": {"containers": containers, "volumes": volumes}})


@pytest.fixture(scope="module")
def crowded(control_plane: ControlPlane) -> Iterator[str]:
    """A namespace with the Pods."""

    async def fill() -> None:
        async with Client(load_config(control_plane.kubeconfig()), namespace=namespace) as client:

            async def create(start: int) -> None:
                for number in range(start, PODS, 16):
                    await client.create(pod(number))

            await asyncio.gather(*(create(start) for start in range(16)))

    with control_plane.namespace() as namespace:
        asyncio.run(fill())
        yield namespace


async def test_they_take_less_than_2_kb_each(control_plane: ControlPlane, crowded: str) -> None:
    async with Client(load_config(control_plane.kubeconfig())) as client:
        [sample] = await client.list(Pod, namespace=crowded, fields=f"metadata.name={pod(7).metadata.name}")
        assert len(encode(sample)) > 9 * KB
        async with Informers(client, random=lambda: 0.0) as informers:
            informers.informer(Pod, namespaces="kube-system")
            await informers.synced(30)  # what is imported and compiled at the first use is not meant
            gc.collect()
            tracemalloc.start()
            try:
                informer = informers.informer(Pod, namespaces=crowded)
                await informers.synced(60)
                gc.collect()
                each = tracemalloc.get_traced_memory()[0] / PODS
            finally:
                tracemalloc.stop()
            entries = informer.lister.entries()
            assert len(entries) == PODS
            assert each < 2 * KB
            assert each > sum(len(entry.data) for entry in entries) / PODS  # it was measured

            assert sample.metadata.managed_fields
            read = informer.lister.get(sample.metadata.name, namespace=crowded)
            sample.metadata.managed_fields = []
            assert read == sample
            assert not any(b'"managedFields"' in entry.json() for entry in entries)
            found = informer.lister.list(namespace=crowded, labels={"app": "shop-3"})
            assert len(found) == PODS / OWNERS


async def test_listed_in_one_go_or_streamed_they_are_the_same(control_plane: ControlPlane, crowded: str) -> None:
    config = load_config(control_plane.kubeconfig())
    kept: list[dict[str, tuple[str, bytes]]] = []
    for instead in (None, no_streamed_state):
        transport = Recording(HttpTransport(config), *([instead] if instead else []))
        async with Client(transport) as client, Informers(client, random=lambda: 0.0) as informers:
            informer = informers.informer(Pod, namespaces=crowded)
            told = list[str]()
            informer.add_handler(on_add=lambda new, _, told=told: told.append(new.key))
            await informers.synced(60)
            await until(lambda told=told: len(told) == PODS)
            kept.append({e.key: (e.resource_version, e.json()) for e in informer.lister.entries()})
            assert {request.verb for request in transport.asked} == ({"watch", "list"} if instead else {"watch"})
            assert len(set(told)) == PODS

    def bare(raw: bytes) -> bytes:
        """Items of a list do not say what they are."""
        return raw.replace(b'"kind":"Pod","apiVersion":"v1",', b"", 1)

    streamed, listed = kept
    assert {key: (version, bare(raw)) for key, (version, raw) in streamed.items()} == listed
