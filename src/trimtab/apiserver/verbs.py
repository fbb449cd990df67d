"""The station of the verbs: reads the body, does what is asked, and shows what came of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeAlias, cast

import msgspec

from trimtab.apiserver import forms, options, reading, statuses
from trimtab.apiserver.calls import Admission, Call, ManagedFields
from trimtab.apiserver.catalogue import Kind
from trimtab.apiserver.conforming import Mistyped, conform
from trimtab.apiserver.forms import Shown
from trimtab.apiserver.listing import list_metadata, list_objects, list_options, revision_of
from trimtab.apiserver.messages import JSON, Answer, Request, Response, Streaming, User
from trimtab.apiserver.negotiation import Form
from trimtab.apiserver.objects import encode
from trimtab.apiserver.options import DeleteOptions, Query, WriteOptions
from trimtab.apiserver.routing import Target
from trimtab.apiserver.storage import Store
from trimtab.apiserver.strategies import strategy_for
from trimtab.apiserver.surroundings import Surroundings
from trimtab.apiserver.watching import LONGEST, Follower, Frames, WatchSource, watch_options
from trimtab.apiserver.writing import Writer

Json: TypeAlias = dict[str, Any]

_OPTIONS: Final = {"create": "CreateOptions", "update": "UpdateOptions", "patch": "PatchOptions"}
_WHOLE: Final = frozenset({"status", "finalize", "approval", "ephemeralcontainers", "resize"})


class Verbs:
    """Does what is asked of objects."""

    def __init__(
        self,
        store: Store,
        surroundings: Surroundings,
        *,
        managed: ManagedFields | None = None,
        admission: Admission | None = None,
    ) -> None:
        self._store = store
        self._around = surroundings
        self._writer = Writer(store, surroundings, managed=managed, admission=admission)
        self._frames: dict[str, Frames] = {}
        self._verbs: dict[str, Callable[[_Asked], Awaitable[Answer]]] = {
            "get": self._get,
            "list": self._list,
            "watch": self._watch,
            "create": self._create,
            "update": self._update,
            "delete": self._delete,
            "deletecollection": self._delete_collection,
        }

    async def do(self, request: Request, query: Query, target: Target, user: User, form: Form) -> Answer:
        """Do it."""
        verb = self._verbs.get(target.verb)
        if verb is None:
            raise statuses.method_not_allowed()
        sub = target.subresource
        if sub is not None and sub.name not in _WHOLE:
            why = f"{target.kind.plural}/{sub.name} is not served yet"
            raise statuses.Refused("MethodNotAllowed", why)
        shown = Shown(target.kind, form, options.first(query, "includeObject"))
        return await verb(_Asked(request, query, target, user, shown))

    def make(self, target: Target, obj: Json) -> None:
        """Make an object that is always there."""
        kind = target.kind
        strategy = strategy_for(kind)
        strategy.prepare_create(obj)
        obj["metadata"] |= {"uid": self._around.uid(), "creationTimestamp": self._around.stamp()}
        self._store.commit(kind.bucket, target.key, encode(kind, obj, self._store.revision + 1), expected=0)

    # Reads

    async def _get(self, asked: _Asked) -> Answer:
        target = asked.target
        revision_of(options.first(asked.query, "resourceVersion"), self._store)
        record = self._store.get(target.kind.bucket, target.key)
        if record is None:
            raise statuses.not_found(target.kind.plural, target.kind.group, target.name)
        return self._one(asked, record.data)

    async def _list(self, asked: _Asked) -> Answer:
        listed = list_objects(self._store, asked.target, list_options(asked.target, asked.query))
        data = [record.data for record in listed.records]
        return forms.response(asked.shown.form, asked.shown.many(data, list_metadata(listed), self._around.now()))

    async def _watch(self, asked: _Asked) -> Answer:
        target = asked.target
        wanted = watch_options(target, asked.query)
        bucket = self._store.bucket(target.kind.bucket)
        frames = self._frames.setdefault(target.kind.bucket, Frames())
        follower = Follower(self._store, target, wanted, asked.shown, frames, self._around.now)
        timeout = wanted.timeout or LONGEST * (1 + self._around.dice.random())
        return Streaming(200, WatchSource(follower, bucket.listeners, timeout))

    # Writes

    async def _create(self, asked: _Asked) -> Answer:
        call, obj = self._written(asked)
        if asked.target.name:
            raise statuses.method_not_allowed()
        made = await self._writer.create(call, obj)
        return self._object(asked, call, made, 201)

    async def _update(self, asked: _Asked) -> Answer:
        call, obj = self._written(asked)
        target, metadata = asked.target, obj["metadata"]
        name = metadata.get("name")
        if not name:
            said = f"the name of the object ({target.name} based on URL) was undeterminable: name must be provided"
            raise statuses.bad_request(said)
        if name != target.name:
            said = f"the name of the object ({name}) does not match the name on the URL ({target.name})"
            raise statuses.bad_request(said)

        def make(_: Json | None) -> Json:
            return {**obj, "metadata": dict(metadata)}

        creates = target.subresource is None and self._writer.strategy(target.kind).create_on_update
        written = await self._writer.change(call, make, may_create=creates)
        return self._object(asked, call, written.obj, 201 if written.created else 200)

    async def _delete(self, asked: _Asked) -> Answer:
        wanted = self._delete_options(asked)
        target = asked.target
        call = self._call(asked, WriteOptions(dry_run=wanted.dry_run))
        written = await self._writer.delete(call, wanted)
        strategy = self._writer.strategy(target.kind)
        if strategy.deletion_warning and not wanted.policy:
            call.warnings.append(strategy.deletion_warning)
        if written.deleted and not strategy.returns_deleted:
            kind = target.kind
            done = statuses.success(target.name, kind.group, kind.plural, written.obj["metadata"]["uid"])
            return forms.response(Form(asked.shown.form.media), msgspec.json.encode(done), 200, _warned(call))
        return self._object(asked, call, written.obj, 200)

    async def _delete_collection(self, asked: _Asked) -> Answer:
        wanted = self._delete_options(asked)
        target = asked.target
        listed = list_objects(self._store, target, list_options(target, asked.query))
        for record in listed.records:
            namespace, _, name = record.key.rpartition("/")
            one = _Asked(
                asked.request, asked.query, Target(target.kind, "delete", namespace, name), asked.user, asked.shown
            )
            try:
                await self._writer.delete(self._call(one, WriteOptions(dry_run=wanted.dry_run)), wanted)
            except statuses.Refused as refused:
                if refused.reason != "NotFound":  # somebody else was faster
                    raise
        data = [record.data for record in listed.records]
        return forms.response(asked.shown.form, asked.shown.many(data, list_metadata(listed), self._around.now()))

    # Inner parts

    def _written(self, asked: _Asked) -> tuple[Call, Json]:
        """The object that a request brings, as its kind holds it."""
        target, request = asked.target, asked.request
        kind = target.kind
        wanted = options.write_options(asked.query, _OPTIONS[target.verb])
        media = reading.media_of(request.header("content-type"))
        obj = reading.read_object(request.body, media, kind.kind)
        call = self._call(asked, wanted)
        _check_type(kind, obj)
        twice = reading.duplicates(request.body, obj) if wanted.validation != "Ignore" and media == JSON else []
        obj = self._conformed(call, obj, twice)
        metadata = obj["metadata"]
        if target.namespace and metadata.get("namespace") not in (None, "", target.namespace):
            said = "the namespace of the provided object does not match the namespace sent on the request"
            raise statuses.bad_request(said)
        return call, obj

    def _conformed(self, call: Call, obj: Json, faults: list[str]) -> Json:
        kind, schema = call.target.kind, call.target.kind.schema
        if schema is None:
            raise statuses.internal(f"nothing is known of {kind}")
        try:
            made, unknown = conform(schema, obj)
        except Mistyped as error:
            raise _not_handled(kind, str(error)) from error
        faults = faults + unknown
        if faults and call.options.validation == "Strict":
            raise _not_handled(kind, "strict decoding error: " + ", ".join(faults))
        if call.options.validation == "Warn":
            call.warnings += faults
        made.setdefault("metadata", {})
        return made

    def _call(self, asked: _Asked, wanted: WriteOptions) -> Call:
        agent = asked.request.header("user-agent").partition("/")[0]
        return Call(asked.target, asked.user, wanted, wanted.manager or agent[:128] or "unknown")

    def _delete_options(self, asked: _Asked) -> DeleteOptions:
        body: Json = {}
        if asked.request.body:
            media = reading.media_of(asked.request.header("content-type"))
            try:
                given = reading.parse(asked.request.body, media)
            except reading.Unreadable as error:
                raise statuses.bad_request(f"couldn't get version/kind; {error}") from error
            if not isinstance(given, dict):
                raise statuses.bad_request("couldn't get version/kind; the body is no object")
            body = cast("Json", given)
            kind, version = body.pop("kind", "DeleteOptions"), body.pop("apiVersion", "v1")
            if kind != "DeleteOptions":
                said = f'no kind "{kind}" is registered for version "{version}" in scheme "pkg/runtime/scheme.go:111"'
                raise statuses.bad_request(said)
        return options.delete_options(asked.query, body)

    def _one(self, asked: _Asked, data: bytes) -> Response:
        return forms.response(asked.shown.form, asked.shown.one(data, self._around.now()))

    def _object(self, asked: _Asked, call: Call, obj: Json, status: int) -> Response:
        body = asked.shown.one(msgspec.json.encode(obj), self._around.now())
        return forms.response(asked.shown.form, body, status, _warned(call))


class _Asked(msgspec.Struct):
    """A request with all that was found out about it."""

    request: Request
    query: Query
    target: Target
    user: User
    shown: Shown


def _check_type(kind: Kind, obj: Json) -> None:
    version, name = obj.get("apiVersion") or kind.api_version, obj.get("kind") or kind.kind
    if (version, name) == (kind.api_version, kind.kind):
        return
    if version != kind.api_version and name == kind.kind:
        said = f'no kind "{name}" is registered for version "{version}" in scheme "pkg/runtime/scheme.go:111"'
    else:
        package = kind.group.partition(".")[0] or "core"
        given = f"{version.rpartition('/')[2]}.{name}"
        said = f"converting ({given}) to ({package}.{kind.kind}): unknown conversion"
    short = version.rpartition("/")[2]
    raise statuses.bad_request(f'{name} in version "{short}" cannot be handled as a {kind.kind}: {said}')


def _not_handled(kind: Kind, why: str) -> statuses.Refused:
    said = f'{kind.kind} in version "{kind.version}" cannot be handled as a {kind.kind}: {why}'
    return statuses.bad_request(said)


def _warned(call: Call) -> list[tuple[str, str]]:
    return [("Warning", f"299 - {_quoted(text)}") for text in call.warnings]


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
