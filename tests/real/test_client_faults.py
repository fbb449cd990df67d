"""What a client does while its API server forgets, dies, and freezes."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager

import pytest

from trimtab.client import (
    Broken,
    Client,
    Expired,
    MergePatch,
    Response,
    Retry,
    Stalled,
    Stream,
    TransportError,
    Unreachable,
    load_config,
)
from trimtab.client.http import HttpTransport
from trimtab.client.request import Request
from trimtab.kube.core.v1 import ConfigMap
from trimtab.kube.meta.v1 import ObjectMeta
from trimtab.testing.control_plane import ControlPlane

PATIENT = Retry(attempts=1000, first=0.05, longest=0.2)


class Recording:
    """A transport that remembers how each request ended."""

    def __init__(self, inner: HttpTransport) -> None:
        self.inner = inner
        self.sent: list[tuple[str, str]] = []

    async def send(self, request: Request) -> Response:
        key = f"{request.verb} {request.path} {(request.body or b'').decode()}"
        try:
            response = await self.inner.send(request)
        except TransportError as error:
            self.sent.append((key, type(error).__name__))
            raise
        except asyncio.CancelledError:
            self.sent.append((key, "gave up"))
            raise
        self.sent.append((key, str(response.status)))
        return response

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        return self.inner.stream(request)

    async def close(self) -> None:
        await self.inner.close()


@pytest.fixture(scope="module")
def breakable(control_plane: ControlPlane) -> Iterator[ControlPlane]:
    """A control plane of this module's own: nobody else may notice what is done to it."""
    with ControlPlane(control_plane.version) as own:
        yield own


@pytest.fixture
def namespace(breakable: ControlPlane) -> Iterator[str]:
    with breakable.namespace() as name:
        yield name


@pytest.fixture
def transport(breakable: ControlPlane) -> Recording:
    return Recording(HttpTransport(load_config(breakable.kubeconfig())))


@pytest.fixture
async def client(transport: Recording, namespace: str) -> AsyncIterator[Client]:
    async with Client(transport, namespace=namespace, retry=PATIENT) as client:
        yield client


def config_map(name: str) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name), data={"x": "1"})


async def test_the_server_forgets_what_was_begun(client: Client, breakable: ControlPlane) -> None:
    ns = client.namespace
    for name in "abc":
        await client.create(config_map(name))
    pages = client.pages(ConfigMap, namespace=ns, page_size=1)
    first = await anext(pages)
    assert [o.metadata.name for o in first] == ["a"]

    class Forgetful:
        """Between the first page of a list and the second, the server forgets."""

        def __init__(self, inner: Recording) -> None:
            self.inner = inner
            self.stream, self.close = inner.stream, inner.close
            self.pages = 0

        async def send(self, request: Request) -> Response:
            self.pages += 1
            if self.pages == 2:
                await client.create(config_map("d"))
                breakable.compact()
                await asyncio.to_thread(breakable.restart, "kube-apiserver")
            return await self.inner.send(request)

    async with Client(Forgetful(Recording(HttpTransport(load_config(breakable.kubeconfig()))))) as other:
        whole = await other.list(ConfigMap, namespace=ns, page_size=1)
    assert [o.metadata.name for o in whole] == ["a", "b", "c", "d"]
    with pytest.raises(Expired, match="cannot list configmaps"):
        await anext(pages)
    with pytest.raises(Expired, match=r"cannot watch configmaps .*too old resource version"):
        async with client.watch(ConfigMap, namespace=ns, resource_version=first.resource_version) as events:
            await anext(events)


async def test_the_server_is_killed_and_comes_back(  # noqa: C901 - readers, writers and a watch at once
    client: Client, transport: Recording, breakable: ControlPlane
) -> None:
    await client.create(config_map("a"))
    stop = asyncio.Event()
    progress = asyncio.Event()
    created: list[str] = []
    reads = 0

    async def read() -> None:
        nonlocal reads
        while not stop.is_set():
            await client.get(ConfigMap, "a")
            reads += 1
            progress.set()

    async def write(writer: int) -> None:
        number = 0
        while not stop.is_set():
            number += 1
            name = f"w{writer}-{number}"
            try:
                await client.create(config_map(name))
            except Broken:
                continue  # it was made, or it was not
            created.append(name)
            progress.set()

    async def until(condition: Callable[[], bool]) -> None:
        while not condition():
            progress.clear()
            await progress.wait()

    async def watch() -> TransportError | None:
        try:
            async with client.watch(ConfigMap, namespace=client.namespace) as events:
                async for _ in events:
                    pass
        except TransportError as error:
            return error
        return None

    workers = [asyncio.create_task(work) for work in (read(), read(), read(), *(write(n) for n in range(6)))]
    watching = asyncio.create_task(watch())
    async with asyncio.timeout(60):
        await until(lambda: len(created) >= 20)
        await asyncio.to_thread(breakable.kill, "kube-apiserver")
        assert isinstance(await watching, Broken)
        await asyncio.to_thread(breakable.restart, "kube-apiserver")
        before = reads, len(created)
        await until(lambda: reads >= before[0] + 20 and len(created) >= before[1] + 20)
    stop.set()
    await asyncio.gather(*workers)  # neither a read nor a refused create failed

    there = {obj.metadata.name for obj in await client.list(ConfigMap, namespace=client.namespace)}
    assert set(created) <= there
    # What may have arrived was not sent again: every create but the last of its name found nobody.
    creates: dict[str, list[str]] = {}
    for key, outcome in transport.sent:
        if key.startswith("create "):
            creates.setdefault(key, []).append(outcome)
    for outcomes in creates.values():
        assert set(outcomes[:-1]) <= {"Unreachable", "429"}
        assert outcomes[-1] in {"201", "Broken"}
    assert any("Unreachable" in outcomes for outcomes in creates.values())
    assert any(outcome == "Unreachable" for key, outcome in transport.sent if key.startswith("get "))


async def test_the_server_freezes(client: Client, breakable: ControlPlane, namespace: str) -> None:
    made = await client.create(config_map("a"))
    impatient = Client(load_config(breakable.kubeconfig()), namespace=namespace)
    async with impatient:
        await impatient.get(ConfigMap, "a")
        version = made.metadata.resource_version
        async with impatient.watch(ConfigMap, namespace=namespace, resource_version=version, silence=0.3) as events:
            breakable.pause("kube-apiserver")
            impatient._caller.timeout = 0.3
            try:
                with pytest.raises(Stalled, match=r"nothing came for 0.3 s"):
                    await anext(events)
                with pytest.raises(Stalled, match=f"cannot get configmaps {namespace}/a: no answer within 0.3 s"):
                    await impatient.get(ConfigMap, "a")
                with pytest.raises(Stalled, match=r"no answer within 0.3 s"):  # a new connection: no handshake
                    async with impatient.watch(ConfigMap):
                        pass
            finally:
                breakable.resume("kube-apiserver")
        await client.patch(ConfigMap, "a", MergePatch({"data": {"x": "2"}}))
        # And on from where it stopped.
        async with client.watch(ConfigMap, namespace=namespace, resource_version=events.resource_version) as more:
            assert (await anext(more)).object.data == {"x": "2"}


async def test_nobody_is_there(client: Client, breakable: ControlPlane) -> None:
    config = load_config(breakable.kubeconfig())
    await client.create(config_map("a"))
    await asyncio.to_thread(breakable.kill, "kube-apiserver")
    try:
        async with Client(config, retry=Retry(attempts=2, first=0.01)) as lonely:
            with pytest.raises(Unreachable) as refused:
                await lonely.get(ConfigMap, "a")
        assert str(refused.value) == (
            f"cannot get configmaps default/a: {breakable.url}: connection refused "
            f"(from {config.source}): is the cluster running?"
        )
    finally:
        await asyncio.to_thread(breakable.restart, "kube-apiserver")
    await client.get(ConfigMap, "a")  # with all that it had
