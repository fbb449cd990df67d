"""Requests are counted by what was answered, under client-go's name."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from tests.client.conftest import ScriptedServer

from trimtab.client import Client, NotFound, Retry, Unreachable
from trimtab.errors import TrimtabError
from trimtab.kube.core.v1 import ConfigMap
from trimtab.manager.requests import RequestCollector

NO = {"kind": "Status", "code": 404, "reason": "NotFound"}
OBJECT = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "a"}}


async def test_answers_refusals_streams_and_failures_are_counted() -> None:
    server = ScriptedServer(
        (200, OBJECT), (404, NO), Unreachable("no"), (200, [b""]), (410, [b"gone"]), Unreachable("no")
    )
    counted = RequestCollector()
    registry = CollectorRegistry()
    registry.register(counted)
    assert b"rest_client_requests_total{code=" not in generate_latest(registry)
    client = Client(server, retry=Retry(attempts=1)).through(lambda inner: counted.count(inner, "api:6443"))
    assert b'rest_client_requests_total{code="200",host="api:6443",method="GET"} 0.0' in generate_latest(registry)
    await client.get(ConfigMap, "a")
    with pytest.raises(NotFound):
        await client.get(ConfigMap, "a")
    with pytest.raises(Unreachable):
        await client.delete(ConfigMap, "a")
    async with client.watch(ConfigMap) as events:
        assert [event async for event in events] == []
    for _ in range(2):
        with pytest.raises(TrimtabError):
            async with client.watch(ConfigMap):
                pass
    text = generate_latest(registry).decode()
    samples = [line.partition("{")[2].rpartition(" ") for line in text.splitlines() if "{" in line]
    counts = {labels: count for labels, _, count in samples}
    assert counts == {
        'code="200",host="api:6443",method="GET"}': "2.0",
        'code="404",host="api:6443",method="GET"}': "1.0",
        'code="<error>",host="api:6443",method="DELETE"}': "1.0",
        'code="410",host="api:6443",method="GET"}': "1.0",
        'code="<error>",host="api:6443",method="GET"}': "1.0",
    }
