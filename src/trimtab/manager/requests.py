"""What is asked of the API server, counted: `rest_client_requests_total`, as client-go counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from typing import Final

from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector

from trimtab.client import Request, Response, Stream, Transport, TransportError

_NO_ANSWER: Final = "<error>"


class RequestCollector(Collector):
    """Requests by what was answered and how they were sent. `count` wraps a transport."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str, str]] = Counter()

    def count(self, inner: Transport, host: str) -> Transport:
        """The same transport, counted."""
        self._counts["200", "GET", host] += 0  # so that there is something before the first answer
        return _Counted(inner, host, self._counts)

    def collect(self) -> Iterator[Metric]:
        """Say how things are now."""
        metric = CounterMetricFamily(
            "rest_client_requests",
            "Requests to the API server, by the code of the answer, the method and the host.",
            labels=["code", "method", "host"],
        )
        for labels, count in self._counts.items():
            metric.add_metric(labels, count)
        yield metric


class _Counted:
    def __init__(self, inner: Transport, host: str, counts: Counter[tuple[str, str, str]]) -> None:
        self._inner = inner
        self._host = host
        self._counts = counts

    async def send(self, request: Request) -> Response:
        try:
            response = await self._inner.send(request)
        except TransportError:
            self._counts[_NO_ANSWER, request.method, self._host] += 1
            raise
        self._counts[str(response.status), request.method, self._host] += 1
        return response

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[Stream]:
        counted = False
        try:
            async with self._inner.stream(request) as stream:
                self._counts[str(stream.status), request.method, self._host] += 1
                counted = True
                yield stream
        except TransportError:
            if not counted:
                self._counts[_NO_ANSWER, request.method, self._host] += 1
            raise

    async def close(self) -> None:
        await self._inner.close()
