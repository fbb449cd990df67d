"""The station of the verbs: reads the body, does what is asked, and shows what came of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final, TypeAlias

import msgspec

from trimtab.apiserver import bodies, forms, options, statuses, warned
from trimtab.apiserver.builtin.defaults import defaults_of
from trimtab.apiserver.calls import Admission, Call, Questions
from trimtab.apiserver.catalogue import Catalogue, Kind, Subresource
from trimtab.apiserver.changing import patch_of
from trimtab.apiserver.facts import Facts
from trimtab.apiserver.forms import Shown, stream_type
from trimtab.apiserver.listing import list_metadata, list_objects, list_options, revision_of
from trimtab.apiserver.managed import fields_after, scaled
from trimtab.apiserver.messages import Answer, Request, Response, Streaming, User
from trimtab.apiserver.negotiation import Form
from trimtab.apiserver.objects import encode, in_order
from trimtab.apiserver.options import DeleteOptions, Query, WriteOptions
from trimtab.apiserver.routing import Target
from trimtab.apiserver.scaling import scale_kind, scale_of
from trimtab.apiserver.storage import Store
from trimtab.apiserver.strategies import strategy_for
from trimtab.apiserver.subresources.actions import Actions
from trimtab.apiserver.subresources.nodes import Nodes, OnNodes
from trimtab.apiserver.surroundings import Surroundings
from trimtab.apiserver.versions import Versions
from trimtab.apiserver.watching import LONGEST, Follower, Frames, WatchSource, watch_options
from trimtab.apiserver.writing import Writer, check_uid

Json: TypeAlias = dict[str, Any]

_OPTIONS: Final = {"create": "CreateOptions", "update": "UpdateOptions", "patch": "PatchOptions"}
_DONE: Final = b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","code":201}'
_WHOLE: Final = frozenset({"status", "finalize", "approval", "ephemeralcontainers", "resize"})


class Verbs:
    """Does what is asked of objects."""

    def __init__(
        self,
        store: Store,
        surroundings: Surroundings,
        facts: Facts,
        catalogue: Catalogue,
        *,
        admission: Admission | None = None,
        reviews: Questions | None = None,
        nodes: Nodes | None = None,
        versions: Versions,
    ) -> None:
        self._versions = versions
        self._facts = facts
        self._reviews = reviews
        self._store = store
        self._around = surroundings
        self._writer = Writer(store, surroundings, admission=admission, versions=versions)
        self._actions = Actions(store, catalogue, self._writer, surroundings)
        self._on_nodes = OnNodes(store, surroundings, nodes)
        self._frames: dict[str, Frames] = {}
        self._verbs: dict[str, Callable[[_Asked], Awaitable[Answer]]] = {
            "get": self._get,
            "list": self._list,
            "watch": self._watch,
            "create": self._create,
            "update": self._update,
            "patch": self._patch,
            "delete": self._delete,
            "deletecollection": self._delete_collection,
        }

    async def do(self, request: Request, query: Query, target: Target, user: User, form: Form) -> Answer:
        """Do it."""
        verb = self._verbs.get(target.verb)
        if verb is None:
            raise statuses.method_not_allowed()
        sub = target.subresource
        if target.verb == "create" and self._reviews is not None and self._reviews.has(target):
            verb = self._answer
        elif sub is not None and sub.name == "scale":
            verb = self._scale
        elif self._actions.has(target):
            verb = self._act
        elif self._on_nodes.has(target):
            return self._on_nodes.answer(target, query)
        elif sub is not None and sub.name not in _WHOLE:
            raise statuses.method_not_allowed()
        shown = Shown(target.kind, form, options.first(query, "includeObject"))
        asked = _Asked(request, query, target, user, shown)
        try:
            return await verb(asked)
        except statuses.Refused as refused:
            refused.warnings = tuple(asked.warnings)
            raise

    def make(self, target: Target, obj: Json) -> None:
        """Make an object that is always there."""
        kind = target.kind
        strategy = strategy_for(kind, self._around.stamp)
        strategy.fill(obj)
        call = Call(target, User("system:apiserver"), manager="kube-apiserver")
        obj["metadata"]["managedFields"] = fields_after(call, None, obj, self._around.now())
        strategy.prepare_create(obj)
        obj["metadata"] |= {"uid": self._around.uid(), "creationTimestamp": self._around.stamp()}
        self._store.commit(kind.bucket, target.key, encode(kind, obj, self._store.revision + 1), expected=0)

    # Reads

    async def _get(self, asked: _Asked) -> Answer:
        target = asked.target
        revision_of(options.first(asked.query, "resourceVersion"), self._store)
        record = self._store.bucket(target.kind.bucket).find(target.key)
        if record is not None:
            record = record.as_of(asked.request.as_of or self._store.revision)
        if record is None:
            raise statuses.not_found(target.kind.plural, target.kind.group, target.name)
        [data] = await self._versions.served(target.kind, [record.data])
        return self._one(asked, data)

    async def _list(self, asked: _Asked) -> Answer:
        wanted = list_options(asked.target, asked.query)
        listed = list_objects(self._store, asked.target, wanted, asked.request.as_of)
        data = await self._versions.served(asked.target.kind, [record.data for record in listed.records])
        return forms.response(asked.shown.form, asked.shown.many(data, list_metadata(listed), self._around.now()))

    async def _watch(self, asked: _Asked) -> Answer:
        target = asked.target
        wanted = watch_options(target, asked.query)
        bucket = self._store.bucket(target.kind.bucket)
        frames = self._frames.setdefault(target.kind.bucket, Frames())
        definition = target.kind.definition
        asks = definition is not None and definition.asks
        follower = Follower(
            self._store,
            target,
            wanted,
            asked.shown,
            frames,
            self._around.now,
            as_of=asked.request.as_of,
            show=partial(self._versions.served, target.kind) if asks else None,
        )
        timeout = wanted.timeout or LONGEST * (1 + self._around.dice.random())
        return Streaming(200, WatchSource(follower, bucket.listeners, timeout), stream_type(asked.shown.form))

    # Writes

    async def _create(self, asked: _Asked) -> Answer:
        call, obj = self._written(asked)
        if asked.target.name:
            raise statuses.method_not_allowed()
        made = await self._writer.create(call, obj)
        return self._object(asked, call, made, 201)

    async def _answer(self, asked: _Asked) -> Answer:
        view = self._view(asked)
        call, obj = self._written(view)
        obj["metadata"]["managedFields"] = fields_after(call, None, obj, self._around.now())
        assert self._reviews is not None
        own = Call(asked.target, call.user, call.options, call.manager, call.warnings)
        await self._writer.propose(own, "CREATE", obj)
        made = self._reviews.answer(call, asked.target, obj)
        if asked.target.subresource is not None:  # what it is about was filled in, before the answer
            obj |= {"metadata": made["metadata"], "spec": made["spec"]}
        await self._writer.approve(own, "CREATE", obj)
        return self._object(view, call, in_order(view.target.kind, made), 201)

    async def _act(self, asked: _Asked) -> Answer:
        call, obj = self._written(self._view(asked))
        await self._actions.act(call, asked.target, obj)
        return forms.response(Form(asked.shown.form.media), _DONE, 201, warned.headers(call.warnings))

    def _view(self, asked: _Asked) -> _Asked:
        """The same, about what a subresource holds in its own right, where it does."""
        target, sub, kind = asked.target, asked.target.subresource, asked.target.kind
        if sub is not None:
            kind = self._kind_of(sub, f"{kind.plural}/{sub.name}")
        shown = Shown(kind, asked.shown.form, asked.shown.included)
        about = Target(kind, target.verb, target.namespace, target.name, sub)
        return _Asked(asked.request, asked.query, about, asked.user, shown, asked.warnings)

    def _kind_of(self, sub: Subresource, plural: str) -> Kind:
        schema = self._facts.schema(sub.group, sub.version, sub.kind)
        complete = defaults_of(self._facts, schema, plural)
        return Kind(sub.group, sub.version, sub.kind, plural, "", True, schema=schema, complete=complete)

    async def _update(self, asked: _Asked) -> Answer:
        call, obj = self._written(asked)
        target, metadata = asked.target, obj["metadata"]
        bodies.check_name(metadata.get("name", ""), target.name)

        def make(live: Json | None) -> Json:
            made = {**obj, "metadata": dict(metadata)}
            if live is None:
                made["metadata"].pop("resourceVersion", None)
            else:
                check_uid(call, made, live)
            return made

        creates = target.subresource is None and self._writer.strategy(target.kind).create_on_update
        written = await self._writer.change(call, make, may_create=creates)
        return self._object(asked, call, written.obj, 201 if written.created else 200)

    async def _patch(self, asked: _Asked) -> Answer:
        call = self._call(asked, options.write_options(asked.query, "PatchOptions"))
        make, creates = patch_of(call, asked.request, self._around.now)
        call.applies = creates
        written = await self._writer.change(call, make, may_create=creates and asked.target.subresource is None)
        return self._object(asked, call, written.obj, 201 if written.created else 200)

    async def _scale(self, asked: _Asked) -> Answer:
        target, sub = asked.target, asked.target.subresource
        assert sub is not None
        kind = scale_kind(self._facts.schema(sub.group, sub.version, sub.kind), sub)
        record = self._store.get(target.kind.bucket, target.key)
        shown = Shown(kind, asked.shown.form, asked.shown.included)
        about = Target(kind, target.verb, target.namespace, target.name, sub)
        view = _Asked(asked.request, asked.query, about, asked.user, shown, asked.warnings)
        if target.verb == "get":
            if record is None:
                raise statuses.not_found(target.kind.plural, target.kind.group, target.name)
            found = scale_of(target.kind, await self._versions.load(target.kind, record.data))
            return self._object(view, self._call(view, WriteOptions()), found, 200)
        brought = self._call(view, options.write_options(asked.query, _OPTIONS[target.verb]))
        change = self._scale_brought(brought, asked.request)
        call = Call(target, asked.user, brought.options, brought.manager, brought.warnings, applies=True)

        def make(live: Json | None) -> Json:
            assert live is not None
            return scaled(brought, target.kind, live, change, self._around.now())

        written = await self._writer.change(call, make)
        return self._object(view, call, scale_of(target.kind, written.obj), 200)

    def _scale_brought(self, call: Call, request: Request) -> Callable[[Json], Json]:
        if call.target.verb == "patch":
            make, call.applies = patch_of(call, request, self._around.now)
            return make
        given = bodies.object_of(call, request, self._facts)
        bodies.check_name(given["metadata"].get("name", ""), call.target.name)
        return lambda _: given

    async def _delete(self, asked: _Asked) -> Answer:
        wanted = options.delete_options(asked.query, bodies.delete_body(asked.request, self._facts))
        target = asked.target
        call = self._call(asked, WriteOptions(dry_run=wanted.dry_run), wanted)
        written = await self._writer.delete(call, wanted)
        strategy = self._writer.strategy(target.kind)
        if strategy.deletion_warning and not wanted.policy:
            call.warnings.append(strategy.deletion_warning)
        if written.deleted and not strategy.returns_deleted:
            kind = target.kind
            done = statuses.success(target.name, kind.group, kind.plural, written.obj["metadata"]["uid"])
            return forms.response(
                Form(asked.shown.form.media), msgspec.json.encode(done), 200, warned.headers(call.warnings)
            )
        return self._object(asked, call, written.obj, 200)

    async def _delete_collection(self, asked: _Asked) -> Answer:
        wanted = options.delete_options(asked.query, bodies.delete_body(asked.request, self._facts))
        target = asked.target
        listed = list_objects(self._store, target, list_options(target, asked.query))
        for record in listed.records:
            namespace, _, name = record.key.rpartition("/")
            about = Target(target.kind, "delete", namespace, name)
            one = _Asked(asked.request, asked.query, about, asked.user, asked.shown, asked.warnings)
            call = self._call(one, WriteOptions(dry_run=wanted.dry_run), wanted)
            call.collective = True
            try:
                await self._writer.delete(call, wanted)
            except statuses.Refused as refused:
                if refused.reason != "NotFound":  # somebody else was faster
                    raise
        data = await self._versions.served(target.kind, [record.data for record in listed.records])
        body = asked.shown.many(data, list_metadata(listed), self._around.now())
        return forms.response(asked.shown.form, body, 200, warned.headers(asked.warnings))

    # Inner parts

    def _written(self, asked: _Asked) -> tuple[Call, Json]:
        """The object that a request brings, as its kind holds it."""
        call = self._call(asked, options.write_options(asked.query, _OPTIONS[asked.target.verb]))
        return call, bodies.object_of(call, asked.request, self._facts)

    def _call(self, asked: _Asked, wanted: WriteOptions, deletion: DeleteOptions | None = None) -> Call:
        agent = asked.request.header("user-agent").partition("/")[0]
        manager = wanted.manager or agent[:128] or "unknown"
        return Call(asked.target, asked.user, wanted, manager, asked.warnings, deletion=deletion)

    def _one(self, asked: _Asked, data: bytes) -> Response:
        return forms.response(asked.shown.form, asked.shown.one(data, self._around.now()))

    def _object(self, asked: _Asked, call: Call, obj: Json, status: int) -> Response:
        conversion = asked.shown.kind.conversion  # who shows it expects it as it is stored
        stored = obj if conversion is None else conversion.write(obj)
        body = asked.shown.one(msgspec.json.encode(stored), self._around.now())
        return forms.response(asked.shown.form, body, status, warned.headers(call.warnings))


class _Asked(msgspec.Struct):
    """A request with all that was found out about it."""

    request: Request
    query: Query
    target: Target
    user: User
    shown: Shown
    warnings: list[str] = msgspec.field(default_factory=list[str])
