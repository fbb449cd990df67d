"""`Client`: the verbs of the Kubernetes API, on typed objects."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, Unpack, cast, overload

import msgspec

from trimtab.client.answers import Head, decode_answer
from trimtab.client.conflicts import retry_on_conflict
from trimtab.client.options import (
    DeleteOptions,
    FieldQuery,
    LabelQuery,
    WriteOptions,
    delete_body,
    selection,
    write_query,
)
from trimtab.client.patches import APPLY, MergePatch, Patch
from trimtab.client.reader import Reader
from trimtab.client.request import JSON, Target, read, write
from trimtab.errors import TrimtabError
from trimtab.kube.authentication.v1 import (
    BoundObjectReference,
    SelfSubjectReview,
    TokenRequest,
    TokenRequestSpec,
    UserInfo,
)
from trimtab.kube.authorization.v1 import ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec
from trimtab.kube.autoscaling.v1 import Scale
from trimtab.kube.core.v1 import Binding, ObjectReference, Pod, ServiceAccount
from trimtab.kube.dynamic import Dynamic
from trimtab.kube.editing import edit_patch, merge_patch
from trimtab.kube.frozen import plain_class
from trimtab.kube.kinds import ResourceClass
from trimtab.kube.meta.v1 import ObjectMeta
from trimtab.kube.objects import Object
from trimtab.kube.policy.v1 import Eviction
from trimtab.kube.wire import K, encode, to_wire


class Client(Reader):
    """Talks to one API server: `async with Client() as client: await client.get(Pod, "web")`.

    Prefer `apply` (what should be) to `modify` (what should change) to the rest.
    """

    # Writing

    async def create(self, obj: K, *, namespace: str | None = None, **options: Unpack[WriteOptions]) -> K:
        """Make the object; the answer is the object as stored. AlreadyExists where there is one of that name."""
        target = await self._collection(type(obj), self._namespace_of(obj, namespace))
        return await self._write(plain_class(type(obj)), "create", "POST", target, encode(obj), options)

    async def replace(
        self, obj: Dynamic, *, namespace: str | None = None, subresource: str = "", **options: Unpack[WriteOptions]
    ) -> Dynamic:
        """Put the object in the place of the one there is; Conflict where that is not at obj's resource version.

        Only for Dynamic objects, which hold all fields. A typed object may lack fields that its class does not know,
        and replacing would delete them: `apply` what you want, or `modify` what is there.
        """
        if not isinstance(obj, Dynamic):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TrimtabError(
                f"cannot replace {obj!r}: fields unknown to its class would be lost; use apply or modify"
            )
        target = await self._object(type(obj), obj.metadata.name, self._namespace_of(obj, namespace), subresource)
        return await self._write(type(obj), "update", "PUT", target, encode(obj), options)

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
        """Change some fields; the answer is the object as stored."""
        if not hasattr(patch, "content_type"):
            raise TrimtabError(f"{type(patch).__name__} is no patch: say which, such as MergePatch({{...}})")
        target = await self._object(kind, name, namespace, subresource)
        return await self._write(
            kind, "patch", "PATCH", target, patch.encode(), options, content_type=patch.content_type
        )

    async def apply(
        self,
        obj: K,
        *,
        namespace: str | None = None,
        subresource: str = "",
        force: bool = False,
        **options: Unpack[WriteOptions],
    ) -> K:
        """Server-side apply: the fields that are set are as they are set here, and this field manager owns them.

        What this manager applied before and leaves out now goes. Conflict where another manager owns a field that is
        set to something else; `force` takes it over. The object is made if it is not there.
        """
        namespace = self._namespace_of(obj, namespace)
        if obj.metadata.managed_fields or obj.metadata.creation_timestamp:
            raise TrimtabError(
                f"cannot apply {obj!r}: it was read from the server; apply an object with what you want set"
            )
        target = await self._object(type(obj), obj.metadata.name, namespace, subresource)
        # Applying twice is applying once, so this may be sent again where the answer was lost; unless it is tied to a
        # version, which the first time may have changed.
        idempotent = not obj.metadata.resource_version
        query = write_query(options, self.field_manager) | {"force": force or None}
        request = write("patch", "PATCH", target, encode(obj), query, content_type=APPLY, idempotent=idempotent)
        return decode_answer(plain_class(type(obj)), request, await self._call(request))

    async def modify(
        self,
        kind: type[K],
        name: str,
        change: Callable[[K], Awaitable[None] | None],
        *,
        namespace: str | None = None,
        subresource: str = "",
        **options: Unpack[WriteOptions],
    ) -> K:
        """Read the object, let `change` change it, and write what it changed; again if somebody else was faster.

        What is sent is a merge patch with the resource version that was read, so fields that the class does not know
        are kept, also those inside of lists. No change, no request.
        """
        target = await self._object(kind, name, namespace)

        async def attempt() -> K:
            request = read("get", target)
            response = await self._call(request)
            obj = decode_answer(kind, request, response)
            before, version = to_wire(obj), obj.metadata.resource_version
            raw = cast("dict[str, Any]", msgspec.json.decode(response.body))
            if inspect.isawaitable(done := change(obj)):
                await done
            if issubclass(kind, Dynamic):
                patch = merge_patch(raw, to_wire(obj))
            else:
                patch = edit_patch(kind, raw, before, to_wire(obj))
            if not patch:
                return obj
            lost = patch.keys() - {"metadata", subresource} if subresource else ()
            if lost:
                raise TrimtabError(
                    f"cannot modify {', '.join(sorted(lost))} of {target} through its subresource {subresource}"
                )
            patch["metadata"] = {**(patch.get("metadata") or {}), "resourceVersion": version}
            place = {"namespace": target.namespace, "subresource": subresource}
            return await self.patch(kind, name, MergePatch(patch), **place, **options)

        return await retry_on_conflict(attempt, random=self._random)

    @overload
    async def delete(
        self, which: type[K], name: str, *, namespace: str | None = None, **options: Unpack[DeleteOptions]
    ) -> K | None: ...
    @overload
    async def delete(self, which: K, *, namespace: str | None = None, **options: Unpack[DeleteOptions]) -> K | None: ...
    async def delete(
        self, which: type[K] | K, name: str = "", *, namespace: str | None = None, **options: Unpack[DeleteOptions]
    ) -> K | None:
        """Delete by kind and name, or this very object: one of that name with another uid is left alone (Conflict).

        The answer is the object where something, such as a finalizer, keeps it for now; None where it is gone.
        """
        kind: type[K]
        if isinstance(which, type):
            kind = cast("type[K]", which)
        else:
            namespace = self._namespace_of(which, namespace)
            kind, name = plain_class(type(which)), which.metadata.name
            if not which.metadata.uid:
                raise TrimtabError(f"cannot delete {which!r}: it was not read from the server; delete by kind and name")
            options = {"uid": which.metadata.uid, **options}
        target = await self._object(kind, name, namespace)
        request = write("delete", "DELETE", target, delete_body(options))
        response = await self._call(request)
        if decode_answer(Head, request, response).kind == "Status":
            return None
        left = decode_answer(kind, request, response)  # some kinds are answered as they were before, though gone
        kept = left.metadata.deletion_timestamp and (
            left.metadata.finalizers or left.metadata.deletion_grace_period_seconds
        )
        return left if kept else None

    async def delete_all(
        self,
        kind: type[Object | Dynamic],
        *,
        namespace: str | None = None,
        labels: LabelQuery = None,
        fields: FieldQuery = None,
        **options: Unpack[DeleteOptions],
    ) -> None:
        """Delete all objects of a kind that match, in one namespace."""
        resource = await self._resource(kind)
        target = Target(resource, (namespace or self.namespace) if resource.namespaced else "")
        query = selection(labels, fields)
        await self._call(write("deletecollection", "DELETE", target, delete_body(options), query))

    # Subresources

    async def scale(
        self, kind: type[Object | Dynamic], name: str, replicas: int, *, namespace: str | None = None
    ) -> Scale:
        """Set the number of replicas, whatever the kind calls it."""
        target = await self._object(kind, name, namespace, "scale")
        body = MergePatch({"spec": {"replicas": replicas}})
        return await self._write(Scale, "patch", "PATCH", target, body.encode(), content_type=body.content_type)

    async def evict(self, name: str, *, namespace: str | None = None, **options: Unpack[DeleteOptions]) -> None:
        """Delete a Pod if its disruption budget allows it now; else TooManyRequests, at once."""
        target = await self._object(Pod, name, namespace, "eviction")
        eviction = Eviction(metadata=ObjectMeta(name=name, namespace=target.namespace))
        body = {**to_wire(eviction), "deleteOptions": msgspec.json.decode(delete_body(options) or b"{}")}
        await self._call(write("create", "POST", target, msgspec.json.encode(body), retry_429=False))

    async def bind(self, name: str, node: str, *, namespace: str | None = None, uid: str = "") -> None:
        """Put a Pod on a node, once. Conflict where it is on one already, or that name is of another uid."""
        target = await self._object(Pod, name, namespace, "binding")
        meta = ObjectMeta(name=name, namespace=target.namespace, uid=uid)
        binding = Binding(metadata=meta, target=ObjectReference(kind="Node", name=node))
        await self._call(write("create", "POST", target, encode(binding)))

    async def token(
        self,
        service_account: str,
        *,
        namespace: str | None = None,
        audiences: tuple[str, ...] = (),
        seconds: int = 3600,
        bound_to: BoundObjectReference | None = None,
    ) -> str:
        """A token for a ServiceAccount that ends by itself."""
        target = await self._object(ServiceAccount, service_account, namespace, "token")
        spec = TokenRequestSpec(audiences=[*audiences], expiration_seconds=seconds, bound_object_ref=bound_to)
        made = await self._write(TokenRequest, "create", "POST", target, encode(TokenRequest(spec=spec)))
        return made.status.token

    # Who is asking

    async def can(
        self,
        verb: str,
        kind: type[Object | Dynamic],
        name: str = "",
        *,
        namespace: str | None = None,
        subresource: str = "",
    ) -> bool:
        """Whether the server would let this client do that: in a namespace, or in all of them."""
        resource = await self._resource(kind)
        asked = ResourceAttributes(
            verb=verb,
            group=resource.group,
            version=resource.version,
            resource=resource.plural,
            subresource=subresource or None,
            name=name or None,
            namespace=namespace,
        )
        review = SelfSubjectAccessReview(spec=SelfSubjectAccessReviewSpec(resource_attributes=asked))
        return (await self._ask(review)).status.allowed

    async def whoami(self) -> UserInfo:
        """Whom the server takes this client for."""
        return (await self._ask(SelfSubjectReview())).status.user_info

    # Inner parts

    async def _ask(self, review: K) -> K:
        """Create what is answered and not stored, so it may be sent again."""
        target = await self._collection(type(review), None)
        request = write("create", "POST", target, encode(review), idempotent=True)
        return decode_answer(type(review), request, await self._call(request))

    def _namespace_of(self, obj: Object | Dynamic, namespace: str | None) -> str:
        if not isinstance(obj, ResourceClass):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TrimtabError(f"{type(obj).__name__} is no object of a kind: make one, such as ConfigMap(...)")
        own = obj.metadata.namespace
        if namespace and own and namespace != own:
            raise TrimtabError(f"{obj!r} is in namespace {own}, not in {namespace}")
        return namespace or own or self.namespace

    async def _write(
        self,
        kind: type[K],
        verb: str,
        method: str,
        target: Target,
        body: bytes,
        options: WriteOptions | None = None,
        *,
        content_type: str = JSON,
    ) -> K:
        query = write_query(options or {}, self.field_manager)
        request = write(verb, method, target, body, query, content_type=content_type)
        return decode_answer(kind, request, await self._call(request))
