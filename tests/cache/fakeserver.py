"""A small API server as a Transport: one history of versions, from which lists and watches are answered as of any of
them, and faults on order."""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import msgspec
from tests.cache.samples import EXPIRED, REFUSES_TO_STREAM, TOO_LARGE, UNSERVED, Obj, key_of, merged, status
from tests.cache.streams import Asked, OpenStream

from trimtab.client.request import Request
from trimtab.client.transport import Response
from trimtab.kube.core.v1 import ConfigMap, Pod
from trimtab.kube.kinds import Resource

_MOST_REQUESTS = 5000  # a busy loop takes no virtual time: here it ends
BETWEEN_BOOKMARKS = 60.0


@dataclass(frozen=True)
class Past:
    """One change: the object before (None: it is new) and after (None: it is gone), and the last that was of it."""

    version: int
    plural: str
    key: str
    before: Obj | None
    after: Obj | None
    last: Obj


class FakeServer:
    """Speaks as an API server, as far as a cache listens."""

    def __init__(self, *served: type[Any]) -> None:
        self.served: dict[str, Resource] = {kind.resource.plural: kind.resource for kind in served or (Pod, ConfigMap)}
        self.now = 0  # the newest version
        self.oldest = 0  # versions before this one are forgotten
        self.behind: int | None = None  # this API server has seen nothing after that version
        self.history: list[Past] = []
        self.current: dict[str, dict[str, Obj]] = defaultdict(dict)
        self.requests: list[Asked] = []
        self.times: list[float] = []
        self.watches: list[OpenStream] = []  # the open ones
        self.next: dict[str, deque[Any]] = defaultdict(deque)  # by verb: refusals, exceptions and pauses, in order
        self.always: dict[str, Any] = {}  # by verb: the same for each request
        self.streams_state = True
        self.bookmarks = True
        self.pages_version_0 = False
        self.largest_page = 500  # whatever limit is asked for
        self.chunk = 700  # bytes of a list at a time, so that items are cut anywhere
        self.answers_after = 0.0  # seconds from a write to its answer
        self.watch_lasts: float | None = None
        self.on_watch: Callable[[OpenStream], None] | None = None  # what else becomes of a watch that opens
        self._uids = 0

    # The Transport

    async def send(self, request: Request) -> Response:
        if request.verb == "get" and isinstance(request.what, str):
            return self._discover(request)
        asked = self._note(request)
        refusal = await self._refusal(asked)
        if refusal is None:
            refusal = self._write(asked)
            if self.answers_after:
                await asyncio.sleep(self.answers_after)
        return Response(refusal[0], {}, refusal[1])

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[OpenStream]:
        asked = self._note(request)
        refusal = await self._refusal(asked)
        if refusal is not None:
            opened = OpenStream(refusal[0], asked)
            opened.say(refusal[1], b"")
        elif asked.request.verb == "list":
            opened = self._list(asked)
        else:
            opened = self._watch(asked)
        try:
            yield opened
        finally:
            opened.left = True
            if opened in self.watches:
                self.watches.remove(opened)

    async def close(self) -> None:
        pass

    # What happens to objects

    def put(self, obj: Obj) -> Obj:
        """Somebody creates or changes an object."""
        return self._put(obj)

    def delete(self, key: str, plural: str = "pods") -> None:
        """Somebody deletes an object, or takes its last finalizer away."""
        before = self.current[plural][key]
        self.now += 1
        del self.current[plural][key]
        last = deepcopy(before)
        last["metadata"]["resourceVersion"] = str(self.now)
        self.history.append(Past(self.now, plural, key, before, None, last))
        self.tell_watches()

    def change_label(self, key: str, value: str) -> None:
        changed = deepcopy(self.current["pods"][key])
        changed["metadata"]["labels"] = {"app": value}
        self.put(changed)

    def touch(self, key: str, image: str) -> Obj:
        changed = deepcopy(self.current["pods"][key])
        changed["spec"]["containers"][0]["image"] = image
        return self.put(changed)

    def compact(self) -> None:
        self.oldest = self.now

    def tell_watches(self) -> None:
        """Send what is new to all watches, as far as this server has seen it."""
        for watch in list(self.watches):
            self._catch_up(watch)

    def state_at(self, version: int, plural: str = "pods") -> dict[str, Obj]:
        """What there was at a version."""
        if version >= self.now:
            return dict(self.current[plural])
        state: dict[str, Obj] = {}
        for past in self.history:
            if past.version > version:
                break
            if past.plural == plural:
                state.pop(past.key, None)
                if past.after is not None:
                    state[past.key] = past.after
        return state

    @property
    def seen(self) -> int:
        return self.now if self.behind is None else min(self.behind, self.now)

    def asked_for(self, *verbs: str) -> list[Asked]:
        return [asked for asked in self.requests if not verbs or asked.verb in verbs]

    def verbs(self) -> list[str]:
        return [asked.verb for asked in self.requests]

    # Inner parts

    def _note(self, request: Request) -> Asked:
        asked = Asked.of(request, self.served)
        assert len(self.requests) < _MOST_REQUESTS, "a busy loop"
        self.requests.append(asked)
        self.times.append(asyncio.get_running_loop().time())
        return asked

    async def _refusal(self, asked: Asked) -> tuple[int, bytes] | None:
        planned = self.next[asked.verb]
        while planned and isinstance(planned[0], int | float):
            pause = planned.popleft()
            await asyncio.sleep(pause)
        answer = planned.popleft() if planned else self.always.get(asked.verb)
        if isinstance(answer, Exception):
            raise answer
        if answer is None and asked.resource is None:
            return UNSERVED
        if answer is None and asked.verb == "watchlist" and not self.streams_state:
            return REFUSES_TO_STREAM
        if answer is None and asked.verb in ("list", "watch", "watchlist"):
            return self._wrong_version(asked)
        return answer

    def _wrong_version(self, asked: Asked) -> tuple[int, bytes] | None:
        token = asked.query.get("continue")
        if token is not None:
            return EXPIRED if int(token.split(":")[0]) < self.oldest else None
        version = int(asked.version or 0)
        if asked.verb != "watch" and version > self.seen:
            return TOO_LARGE
        # A list, or a stream that begins with the state, may be of any later version; a watch needs what came since.
        exact = asked.verb == "watch" or (asked.verb == "list" and "limit" in asked.query)
        return EXPIRED if exact and version and version < self.oldest else None

    def _discover(self, request: Request) -> Response:
        found = [r for r in self.served.values() if request.path.endswith("/" + r.api_version)]
        if not found:
            return Response(404, {}, UNSERVED[1])
        resources = [{"name": r.plural, "kind": r.kind, "namespaced": r.namespaced, "verbs": ["list"]} for r in found]
        return Response(200, {}, msgspec.json.encode({"kind": "APIResourceList", "resources": resources}))

    def _list(self, asked: Asked) -> OpenStream:
        token = asked.query.get("continue", "")
        version, begin = (int(part) for part in token.split(":")) if token else (self.seen, 0)
        if not token and asked.version == "":
            version = self.now  # by a quorum
        limit = min(int(asked.query.get("limit", 0)), self.largest_page)
        if asked.version == "0" and not self.pages_version_0:
            limit = 0
        chosen = sorted(self.state_at(version, asked.plural).items())
        items = [msgspec.json.encode(self._as_item(asked, obj)) for _, obj in chosen if asked.selects(obj)]
        more = limit and begin + limit < len(items)
        page = items[begin : begin + limit] if limit else items[begin:]
        meta = {"resourceVersion": str(version), **({"continue": f"{version}:{begin + limit}"} if more else {})}
        body = b'{"kind":"List","apiVersion":"v1","metadata":%b,"items":[%b]}' % (
            msgspec.json.encode(meta),
            b",".join(page),
        )
        opened = OpenStream(200, asked)
        opened.say(*(body[at : at + self.chunk] for at in range(0, len(body), self.chunk)), b"")
        return opened

    def _as_item(self, asked: Asked, obj: Obj) -> Obj:
        """Items of a list of a built-in kind do not say what they are."""
        shown = asked.show(obj)
        return (
            shown
            if asked.partial
            else {name: value for name, value in shown.items() if name not in ("kind", "apiVersion")}
        )

    def _watch(self, asked: Asked) -> OpenStream:
        opened = OpenStream(200, asked, int(asked.version or self.seen))
        if asked.verb == "watchlist":
            opened.sent = self.seen if asked.version else self.now  # without a version: the newest, by a quorum
            for obj in self.state_at(opened.sent, asked.plural).values():
                if asked.selects(obj):
                    opened.tell("ADDED", asked.show(obj))
            opened.bookmark(ends_state=True)
        self._catch_up(opened)
        loop = asyncio.get_running_loop()
        lasts = float(asked.query["timeoutSeconds"]) if self.watch_lasts is None else self.watch_lasts
        loop.call_later(lasts, opened.end)
        loop.call_later(BETWEEN_BOOKMARKS, self._bookmark, opened)
        self.watches.append(opened)
        if self.on_watch:
            self.on_watch(opened)
        return opened

    def _bookmark(self, watch: OpenStream) -> None:
        if watch in self.watches:
            if self.bookmarks:
                watch.sent = max(watch.sent, self.seen)
                watch.bookmark()
            asyncio.get_running_loop().call_later(BETWEEN_BOOKMARKS, self._bookmark, watch)

    def _catch_up(self, watch: OpenStream) -> None:
        for past in self._after(watch.sent):
            if past.plural == watch.asked.plural:
                was, is_ = watch.asked.selects(past.before), watch.asked.selects(past.after)
                if was or is_:
                    watch.tell(
                        "MODIFIED" if was and is_ else "ADDED" if is_ else "DELETED", watch.asked.show(past.last)
                    )
            watch.sent = past.version

    def _after(self, version: int) -> Iterator[Past]:
        # Each version is one change, so the history is in step with the versions.
        return (past for past in self.history[version:] if past.version <= self.seen)

    def _put(self, obj: Obj) -> Obj:
        plural = next(r.plural for r in self.served.values() if r.kind == obj["kind"])
        key, obj = key_of(obj), deepcopy(obj)
        before = self.current[plural].get(key)
        self.now += 1
        meta = obj["metadata"]
        if before is None:
            self._uids += 1
        meta["uid"] = before["metadata"]["uid"] if before else f"uid-{self._uids}"
        meta["resourceVersion"] = str(self.now)
        if meta.get("deletionTimestamp") and not meta.get("finalizers"):
            del self.current[plural][key]
            self.history.append(Past(self.now, plural, key, before, None, obj))
        else:
            self.current[plural][key] = obj
            self.history.append(Past(self.now, plural, key, before, obj, obj))
        self.tell_watches()
        return obj

    def _write(self, asked: Asked) -> tuple[int, bytes]:
        assert asked.resource is not None
        body = msgspec.json.decode(asked.request.body or b"{}")
        dry = "dryRun" in asked.query or "dryRun" in body
        name = asked.name or body["metadata"]["name"]
        key = f"{asked.namespace}/{name}" if asked.namespace else name
        before = self.current[asked.plural].get(key)
        match asked.request.verb:
            case "get":
                return (200, msgspec.json.encode(before)) if before else status(404, "NotFound")
            case "create" if before is not None:
                return status(409, "AlreadyExists")
            case "delete" if before is None:
                return status(404, "NotFound")
            case "delete":
                return self._delete(asked, key, before, dry=dry)
        meta = {"name": name, **({"namespace": asked.namespace} if asked.namespace else {})}
        identity = {"kind": asked.resource.kind, "apiVersion": asked.resource.api_version, "metadata": meta}
        wanted = merged(before or {}, body) if asked.request.verb == "patch" else body
        wanted = merged(wanted, identity)
        stored = wanted if dry else self._put(wanted)
        if dry:
            stored["metadata"].setdefault("uid", "dry")
            stored["metadata"]["resourceVersion"] = str(self.now)
        return 200, msgspec.json.encode(stored)

    def _delete(self, asked: Asked, key: str, before: Obj, *, dry: bool) -> tuple[int, bytes]:
        if before["metadata"].get("finalizers"):
            leaving = merged(before, {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}})
            return 200, msgspec.json.encode(leaving if dry else self._put(leaving))
        if not dry:
            self.delete(key, asked.plural)
        details = {"name": asked.name, "kind": asked.plural, "uid": before["metadata"]["uid"]}
        return 200, msgspec.json.encode({"kind": "Status", "apiVersion": "v1", "status": "Success", "details": details})
