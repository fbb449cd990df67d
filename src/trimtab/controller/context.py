"""`Context`: what a reconciler has beside the object: reads from the cache, ways to write, and a voice."""

from __future__ import annotations

import builtins
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from threading import get_ident
from typing import Any, TypeVar, Unpack, cast, overload

from trimtab.cache import Cached
from trimtab.client import Client, Patch
from trimtab.client.options import DeleteOptions, LabelQuery, WriteOptions
from trimtab.controller.bridge import Bridge
from trimtab.controller.declaration import Controller
from trimtab.controller.logs import logger
from trimtab.controller.options import Option, Options
from trimtab.controller.owning import own
from trimtab.controller.reach import Reach
from trimtab.controller.sink import EventSink, EventType
from trimtab.controller.status import put_condition, status_wire
from trimtab.controller.writes import Writer
from trimtab.errors import TrimtabError
from trimtab.kube.base import Struct
from trimtab.kube.conditions import ConditionStatus
from trimtab.kube.dynamic import Dynamic
from trimtab.kube.frozen import plain_class
from trimtab.kube.objects import Object
from trimtab.kube.wire import K
from trimtab.queue import Causes, Item

V = TypeVar("V", bound=Struct)
T = TypeVar("T")


class Missing(TrimtabError):
    """What `ctx.get` was asked for is not there."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What all contexts of a controller have in common."""

    controller: Controller
    reach: Reach
    writer: Writer
    events: EventSink
    options: Options
    bridge: Bridge
    random: Callable[[], float]
    now: Callable[[], datetime]
    retries: Callable[[str], int]


_current: ContextVar[Context | None] = ContextVar("trimtab_context", default=None)


def current_context() -> Context | None:
    """The context of the reconcile that runs this code, also in tasks and threads that it began: for lines of a log."""
    return _current.get()


class Context:
    """One look at one object: `key` is the object's, `causes` say why it is looked at.

    Reads come from the cache, never from the network, and show what was written before. Writes are coroutines; in a
    plain function, which runs in a thread, `ctx.wait(ctx.apply(...))` waits for one. What a controller did not declare
    it can neither read nor write.
    """

    __slots__ = ("_around", "_id", "_item", "_log", "_obj", "_owned")

    def __init__(self, around: Surroundings, item: Item) -> None:
        self._around = around
        self._item = item
        self._obj: Any = None
        self._id = ""
        self._log: Any = None
        self._owned = False

    def __repr__(self) -> str:
        return f"<Context of {self._around.controller.name}: {self.key}>"

    # What it is about

    @property
    def key(self) -> str:
        """The object's `namespace/name`, or `name` where its kind lives in no namespace."""
        return self._item.key

    @property
    def namespace(self) -> str:
        """The object's namespace; empty where its kind lives in none."""
        return self._item.key.rpartition("/")[0]

    @property
    def name(self) -> str:
        """The object's name."""
        return self._item.key.rpartition("/")[2]

    @property
    def obj(self) -> Any:
        """The object, as the reconciler was given it. `gone` has none."""
        if self._obj is None:
            raise TrimtabError(f"there is no {self._around.controller.kind.resource.kind} {self.key} any more")
        return self._obj

    @obj.setter
    def obj(self, obj: Object | Dynamic) -> None:  # by the loop, once it knows
        self._obj = obj

    @property
    def causes(self) -> Causes:
        """Why it is looked at."""
        return self._item.causes

    @property
    def retries(self) -> int:
        """How often it failed in a row, or asked to be tried again."""
        return self._around.retries(self._item.key)

    @property
    def reconcile_id(self) -> str:
        """Names this one look, in each line of the log."""
        if not self._id:
            self._id = f"{int(self._around.random() * 2**53):014x}"
        return self._id

    @property
    def log(self) -> Any:
        """A structlog logger that says controller, key and reconcile id in each line."""
        if self._log is None:
            self._log = logger().bind(**self.log_fields())
        return self._log

    def log_fields(self) -> dict[str, str]:
        """What each line of a log says of this look."""
        controller = self._around.controller
        return {
            "controller": controller.name,
            "kind": controller.kind.resource.kind,
            "key": self.key,
            "reconcile_id": self.reconcile_id,
        }

    def enter(self) -> None:
        """Be the context of whatever runs from here on, in this task."""
        _current.set(self)

    def now(self) -> datetime:
        """What time it is, in UTC: the clock that the run was given, so that a test can have its own."""
        return self._around.now()

    def option(self, option: Option[T]) -> T:
        """The value of an option of the app, in this run."""
        return self._around.options[option]

    def once(self, make: Callable[[Options], T]) -> T:
        """What the app has one of in a run, such as a session or a limit: `make` makes it, given the options."""
        return self._here(lambda: self._around.options.once(make))

    # Reading

    @overload
    def find(self, kind: type[K], name: str, *, namespace: str | None = None) -> K | None: ...
    @overload
    def find(self, kind: type[K], name: str, *, namespace: str | None = None, view: type[V]) -> V | None: ...
    def find(self, kind: type[K], name: str, *, namespace: str | None = None, view: type[Any] | None = None) -> Any:
        """The object of this name, or None; in the namespace of the object that is looked at, unless another is given.

        What is read cannot be changed: `copy.deepcopy` makes a copy that can. `view` is a Struct with the fields that
        are needed.
        """
        where = self._namespace(kind, namespace)
        if view is None:
            return self._here(lambda: self._around.reach.lister(kind).get(name, namespace=where))
        return self._here(lambda: self._around.reach.lister(kind).get(name, namespace=where, view=view))

    @overload
    def get(self, kind: type[K], name: str, *, namespace: str | None = None) -> K: ...
    @overload
    def get(self, kind: type[K], name: str, *, namespace: str | None = None, view: type[V]) -> V: ...
    def get(self, kind: type[K], name: str, *, namespace: str | None = None, view: type[Any] | None = None) -> Any:
        """The same, for what has to be there: Missing is raised where it is not."""
        found: Any = (
            self.find(kind, name, namespace=namespace)
            if view is None
            else self.find(kind, name, namespace=namespace, view=view)
        )
        if found is None:
            where = self._namespace(kind, namespace)
            raise Missing(f"there is no {kind.resource.kind} {where + '/' if where else ''}{name}")
        return found

    @overload
    def list(
        self,
        kind: type[K],
        *,
        namespace: str | None = None,
        labels: LabelQuery = None,
        owner: Object | Dynamic | str | None = None,
    ) -> list[K]: ...
    @overload
    def list(
        self,
        kind: type[K],
        *,
        namespace: str | None = None,
        labels: LabelQuery = None,
        owner: Object | Dynamic | str | None = None,
        view: type[V],
    ) -> list[V]: ...
    def list(
        self,
        kind: type[K],
        *,
        namespace: str | None = None,
        labels: LabelQuery = None,
        owner: Object | Dynamic | str | None = None,
        view: type[Any] | None = None,
    ) -> list[Any]:
        """The objects that match all that is given, in all namespaces that are watched unless one is given.

        `owner` is the object that controls them, such as the one that is looked at.
        """
        query: dict[str, Any] = {"namespace": namespace, "labels": labels, "owner": owner}
        if view is not None:
            query["view"] = view
        return self._here(lambda: self._around.reach.lister(kind).list(**query))

    def entries(
        self,
        kind: type[K],
        *,
        namespace: str | None = None,
        labels: LabelQuery = None,
        owner: Object | Dynamic | str | None = None,
    ) -> builtins.list[Cached[K]]:
        """The same as `list`, not decoded: keys, labels and owners are at hand."""
        lister = self._around.reach.lister
        return self._here(lambda: lister(kind).entries(namespace=namespace, labels=labels, owner=owner))

    def digests(
        self,
        kind: type[K],
        digest: Callable[[Cached[Any]], T],
        *,
        namespace: str | None = None,
        labels: LabelQuery = None,
        owner: Object | Dynamic | str | None = None,
    ) -> builtins.list[T]:
        """What a function says of each entry that matches: worked out once for each version of an object, and kept.

        For those who own thousands, and look at all of them whenever some have changed. The function is pure, takes
        from the entry what is needed (such as by a view), and is defined once, outside of the call.
        """
        lister = self._around.reach.lister
        return self._here(lambda: lister(kind).digests(digest, namespace=namespace, labels=labels, owner=owner))

    # Writing

    @property
    def client(self) -> Client:
        """The client, for what there is no verb for here: evictions, scales, logs. What it writes shows in reads."""
        return self._around.writer.client

    async def apply(self, obj: K, *, force: bool = False, subresource: str = "") -> K:
        """Server-side apply: the fields that are set are as they are set here, and this controller owns them.

        Where that would change nothing, nothing is sent. What was applied before and is left out now goes. Conflict
        where somebody else owns a field that is set to something else; `force` takes it over. An object that says no
        namespace is in that of the object that is looked at.
        """
        return await self._writer.apply(obj, namespace=self.namespace, subresource=subresource, force=force)

    async def own(self, *wanted: Object | Dynamic) -> builtins.list[Any]:
        """All that this object should own now: applied, with it as their owner; what else it owns goes.

        Nothing to change, no request. The kinds are those declared as `owns`. OwnedByAnother where the name is taken.
        To be called once in a reconcile, with everything. An object that is being deleted gets nothing new.
        """
        if self._owned:
            raise TrimtabError(
                "ctx.own was called twice: the second call would remove what the first applied; give it all"
            )
        self._owned = True
        owner = self.obj
        if owner.metadata.deletion_timestamp:
            return []
        return await own(owner, wanted, self._around.controller.owns, self._around.reach, self._writer)

    async def create(self, obj: K, **options: Unpack[WriteOptions]) -> K:
        """Make an object; AlreadyExists where there is one of that name. `apply` is to be preferred."""
        return await self._writer.create(obj, namespace=self.namespace, **options)

    @overload
    async def delete(
        self, which: type[K], name: str, *, namespace: str | None = None, **options: Unpack[DeleteOptions]
    ) -> K | None: ...
    @overload
    async def delete(self, which: K, **options: Unpack[DeleteOptions]) -> K | None: ...
    async def delete(
        self, which: Any, name: str = "", *, namespace: str | None = None, **options: Unpack[DeleteOptions]
    ) -> Any:
        """Delete this very object, or one by kind and name. That it is gone already is as good.

        The answer is the object where something, such as a finalizer, keeps it for now; None where it is gone.
        """
        if isinstance(which, type):
            kind = cast("type[Any]", which)
            where = self._namespace(kind, namespace) or ""
        else:
            kind = cast("type[Any]", plain_class(which.__class__))
            name, where = which.metadata.name, which.metadata.namespace
            if not which.metadata.uid:
                raise TrimtabError(f"cannot delete {which!r}: it was not read from the server; delete by kind and name")
            options = {"uid": which.metadata.uid, **options}
        return await self._writer.delete(kind, name, namespace=where, **options)

    async def patch(
        self,
        kind: type[K],
        name: str,
        patch: Patch,
        *,
        namespace: str | None = None,
        subresource: str = "",
        **options: Unpack[WriteOptions],
    ) -> K:
        """Change some fields of an object, such as by `MergePatch({...})`. It is sent even if it changes nothing."""
        where = self._namespace(kind, namespace) or ""
        return await self._writer.patch(kind, name, patch, namespace=where, subresource=subresource, **options)

    async def modify(
        self,
        kind: type[K],
        name: str,
        change: Callable[[K], Awaitable[None] | None],
        *,
        namespace: str | None = None,
        subresource: str = "",
    ) -> K:
        """Let `change` change an object, and write what it changed; no change, no request.

        It is given the object as the cache has it, and once more, as the server has it, if somebody was faster.
        """
        where = self._namespace(kind, namespace) or ""
        return await self._writer.modify(kind, name, change, namespace=where, subresource=subresource)

    async def patch_status(self, **status: Any) -> None:
        """Set fields of the object's status, by the names of its class; None takes one away. No change, no request."""
        await self._writer.patch_status(self.obj, status_wire(plain_class(self.obj.__class__), status))

    async def set_condition(
        self,
        type: str,  # noqa: A002  # its name in the API
        status: ConditionStatus,
        *,
        reason: str,
        message: str = "",
    ) -> None:
        """Set a condition in the object's status, as of the generation that is looked at. No change, no request."""
        obj = self.obj
        meta = obj.metadata

        def change(current: Any) -> None:
            if current.metadata.uid == meta.uid:  # else it is another one of that name
                put_condition(current, type, status, reason=reason, message=message, generation=meta.generation)

        await self._writer.modify(
            plain_class(obj.__class__), meta.name, change, namespace=meta.namespace, subresource="status"
        )

    def event(
        self,
        type: EventType,  # noqa: A002  # its name in the API
        reason: str,
        message: str,
        *,
        action: str = "Reconcile",
        related: Object | Dynamic | None = None,
        regarding: Object | Dynamic | None = None,
    ) -> None:
        """Tell people: `kubectl describe` shows it. `reason` is one word, `action` what was done; it never waits."""
        about = self.obj if regarding is None else regarding
        around = self._around
        self._here(
            lambda: around.events.event(
                about,
                type,
                reason,
                message,
                action=action,
                related=related,
                controller=around.controller.known_as or around.controller.name,
            )
        )

    # In threads

    def wait(self, awaitable: Awaitable[T]) -> T:
        """In a plain function: wait for a coroutine, such as `ctx.wait(ctx.apply(obj))`."""
        return self._around.bridge.wait(awaitable)

    def _here(self, function: Callable[[], T]) -> T:
        """Call a function in the loop's thread, which may be this one."""
        bridge = self._around.bridge
        if get_ident() == bridge.thread:
            return function()
        return bridge.call(function)

    @property
    def _writer(self) -> Writer:
        return self._around.writer

    def _namespace(self, kind: type[Any], given: str | None) -> str | None:
        if given is not None:
            return given or None
        return (self.namespace or None) if kind.resource.namespaced else None
