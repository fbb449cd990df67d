"""From the body of an answer to an object."""

from __future__ import annotations

from typing import TypeVar

from trimtab.client.apierrors import UNREADABLE, NotKubernetes
from trimtab.client.request import Request
from trimtab.client.transport import Response
from trimtab.kube.base import Struct
from trimtab.kube.dynamic import Dynamic
from trimtab.kube.kinds import ResourceClass
from trimtab.kube.meta.v1 import Status
from trimtab.kube.wire import decode

S = TypeVar("S", bound="Struct | Dynamic")

# API servers begin each object so: no need to look further. Any other order of its fields is as good.
_BEGINNINGS = (b'{"kind":"', b'{"apiVersion":"')


class Head(Struct):
    """What an object says of its kind."""

    api_version: str = ""
    kind: str = ""


def decode_answer(kind: type[S], request: Request, response: Response) -> S:
    """The object that was answered, or NotKubernetes: what has no kind is nothing that an API server says."""
    body = response.body
    try:
        if issubclass(kind, ResourceClass) and not body.startswith(_BEGINNINGS) and not decode(Head, body).kind:
            raise not_understood(request, "it has no kind")
        return decode(kind, body)
    except UNREADABLE as error:
        raise not_understood(request, error) from error


def not_understood(request: Request, why: object) -> NotKubernetes:
    """The error for an answer that is none of an API server, or does not fit the class that was asked for."""
    return NotKubernetes(
        request, Status(message=f"what answered is no Kubernetes API server, or of another kind: {why}")
    )
