"""What a server is asked, and the answer that goes on arriving."""

from __future__ import annotations

import asyncio
import re
from collections import deque
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

import msgspec
from tests.cache.samples import Obj

from trimtab.client.request import Request
from trimtab.client.transport import Broken
from trimtab.kube.kinds import Resource
from trimtab.kube.selectors import Selector

_PATH = re.compile(
    r"/(?:api|apis)/(?P<gv>(?:[^/]+/)?v\d\w*)(?:/namespaces/(?P<ns>[^/]+))?/(?P<plural>\w+)(?:/(?P<name>.+))?"
)


@dataclass(frozen=True)
class Asked:
    """What a request asks for."""

    request: Request
    plural: str
    resource: Resource | None
    namespace: str
    name: str
    query: dict[str, str]
    partial: bool

    @classmethod
    def of(cls, request: Request, served: dict[str, Resource]) -> Asked:
        url = urlsplit(request.path)
        found = _PATH.fullmatch(url.path)
        assert found, request.path
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        partial = "as=PartialObjectMetadata" in request.accept
        resource = served.get(found["plural"])
        return cls(request, found["plural"], resource, found["ns"] or "", found["name"] or "", query, partial)

    @property
    def verb(self) -> str:
        """As RBAC names it, but for a watch that begins with the state."""
        return "watchlist" if self.query.get("sendInitialEvents") == "true" else self.request.verb

    @property
    def version(self) -> str:
        return self.query.get("resourceVersion", "")

    def selects(self, obj: Obj | None) -> bool:
        if obj is None or (self.namespace and obj["metadata"]["namespace"] != self.namespace):
            return False
        labels = Selector.of(self.query.get("labelSelector"))
        return labels is None or labels.matches(obj["metadata"].get("labels", {}))

    def show(self, obj: Obj) -> Obj:
        if not self.partial:
            return obj
        return {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": obj["metadata"]}


class OpenStream:
    """An answer under way. A test may `say` something in it, `end` it, `cut` it, or have it go `silent`."""

    def __init__(self, code: int, asked: Asked, sent: int = 0) -> None:
        self.status = code
        self.headers: dict[str, str] = {}
        self.asked = asked
        self.sent = sent  # up to which version it was told
        self.silent = False
        self.left = False
        self.rests: list[float] = []
        self._chunks: deque[bytes | Exception] = deque()
        self._more = asyncio.Event()

    async def read(self) -> bytes:
        while not self._chunks:
            self._more.clear()
            await self._more.wait()
        chunk = self._chunks.popleft()
        if isinstance(chunk, Exception):
            raise chunk
        return chunk

    def rest(self, seconds: float) -> None:
        self.rests.append(seconds)

    def say(self, *chunks: bytes | Exception) -> None:
        if not self.silent:
            self._chunks.extend(chunks)
            self._more.set()

    def tell(self, kind: str, obj: Obj) -> None:
        self.say(msgspec.json.encode({"type": kind, "object": obj}) + b"\n")

    def bookmark(self, *, ends_state: bool = False) -> None:
        notes = {"annotations": {"k8s.io/initial-events-end": "true"}} if ends_state else {}
        head = self.asked.show(
            {"kind": self.asked.resource.kind, "apiVersion": self.asked.resource.api_version, "metadata": {}}
        )
        self.tell("BOOKMARK", {**head, "metadata": {"resourceVersion": str(self.sent), **notes}})

    def refuse(self, refusal: tuple[int, bytes]) -> None:
        """The last thing that a server says in a watch."""
        self.say(b'{"type":"ERROR","object":' + refusal[1] + b"}\n", b"")

    def stall_before_the_end(self) -> None:
        """Go silent before the last that was said, such as the bookmark that ends the state."""
        self._chunks.pop()
        self.silent = True

    def end(self) -> None:
        self.say(b"")

    def cut(self, half: bytes = b"") -> None:
        """Break off, maybe in the middle of an event."""
        self.say(*([half] if half else []), Broken("the connection was cut"))
