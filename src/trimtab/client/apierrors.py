"""What an API server says when it refuses: one class for each of its reasons."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from trimtab.client.request import Request
from trimtab.errors import TrimtabError, one_line
from trimtab.kube.meta.v1 import Status, StatusCause
from trimtab.kube.reasons import OF_BARE_CODE
from trimtab.kube.wire import decode

UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What decoding raises. Text that is no UTF-8 has an error of its own, and so has what is nested too deep: the API
server takes deeper objects than Python 3.11 does, from anyone who may create a custom resource."""


class ApiError(TrimtabError):
    """The server refused a request. Subclasses stand for its reasons; `status` is its answer."""

    reason: ClassVar[str] = "Unknown"

    def __init__(self, request: Request | str, status: Status, retry_after: float | None = None) -> None:
        self.request = request
        self.status = status
        self.retry_after = retry_after
        super().__init__(self._text())

    def _text(self) -> str:
        reason = self.status.reason or self.reason
        message = one_line(self.status.message or "no message", limit=1000)
        said = f": {message}" if message != reason else ""
        return f"cannot {self.request}: {reason} ({self.code}){said}"

    @property
    def code(self) -> int:
        """The HTTP status code."""
        return self.status.code or 0

    @property
    def message(self) -> str:
        """What the server said."""
        return self.status.message or ""

    @property
    def causes(self) -> list[StatusCause]:
        """The single faults that the server found, field by field."""
        return self.status.details.causes if self.status.details else []

    def has_cause(self, reason: str) -> bool:
        """True where the server named this cause, such as `ResourceVersionTooLarge`."""
        return any(cause.reason == reason for cause in self.causes)


class BadRequest(ApiError):
    """The request makes no sense to the server."""

    reason = "BadRequest"


class Unauthorized(ApiError):
    """The server does not know who is asking."""

    reason = "Unauthorized"

    def _text(self) -> str:
        return f"{super()._text()}: the credentials are missing, expired or not of this cluster"


class Forbidden(ApiError):
    """The server knows who is asking, and they may not."""

    reason = "Forbidden"


class NotFound(ApiError):
    """There is no such object, or no such kind."""

    reason = "NotFound"


class NoSuchResource(NotFound):
    """The server does not serve this kind, in this version, at this address."""


class MethodNotAllowed(ApiError):
    """The kind does not support this verb."""

    reason = "MethodNotAllowed"


class NotAcceptable(ApiError):
    """The server cannot answer in the form that was asked for."""

    reason = "NotAcceptable"


class AlreadyExists(ApiError):
    """Create: an object of that name is there."""

    reason = "AlreadyExists"


class Conflict(ApiError):
    """The object is not as the writer believed, or somebody else owns a field that was applied."""

    reason = "Conflict"


class Gone(ApiError):
    """What was asked for is no longer there, and nobody knows where it is."""

    reason = "Gone"


class Expired(Gone):
    """The resource version or the continue token is too old: list anew."""

    reason = "Expired"


class RequestTooLarge(ApiError):
    """The body is larger than the server takes."""

    reason = "RequestEntityTooLarge"


class UnsupportedMediaType(ApiError):
    """The server does not take bodies of this type: a strategic merge patch of a custom resource, for one."""

    reason = "UnsupportedMediaType"


class Invalid(ApiError):
    """The object breaks rules; `causes` says which."""

    reason = "Invalid"

    def _text(self) -> str:
        named = [f"{cause.field}: {cause.message}" for cause in self.causes if cause.field]
        missing = [text for text in named if text not in self.message]
        return super()._text() + (f" [{one_line('; '.join(missing), limit=2000)}]" if missing else "")


class TooManyRequests(ApiError):
    """The server is busy, or a disruption budget forbids an eviction; `retry_after` says when to ask again."""

    reason = "TooManyRequests"


class InternalError(ApiError):
    """The server failed."""

    reason = "InternalError"


class ServiceUnavailable(ApiError):
    """The server, or what stands behind it, does not serve now."""

    reason = "ServiceUnavailable"


class ServerTimeout(ApiError):
    """The server could not do it in time, and it may be asked again."""

    reason = "ServerTimeout"


class Timeout(ApiError):
    """The server gave up: the request may or may not have been carried out."""

    reason = "Timeout"


class StorageReadError(ApiError):
    """What is stored cannot be read."""

    reason = "StorageReadError"


class NotKubernetes(ApiError):
    """Whatever answered does not speak as a Kubernetes API server does."""

    reason = "NotKubernetes"

    def _text(self) -> str:
        return f"cannot {self.request}: {self.message}"


_BY_REASON: dict[str, type[ApiError]] = {
    cls.reason: cls
    for cls in (
        BadRequest, Unauthorized, Forbidden, NotFound, MethodNotAllowed, NotAcceptable, AlreadyExists, Conflict, Gone,
        Expired, RequestTooLarge, UnsupportedMediaType, Invalid, TooManyRequests, InternalError, ServiceUnavailable,
        ServerTimeout, Timeout, StorageReadError,
    )
}  # fmt: skip
_BY_CODE = {code: _BY_REASON[reason] for code, reason in OF_BARE_CODE.items()}
# An API server says 404 without a Status only where it does not know the path, and in these words. Another's page must
# not pass for NotFound: a controller would take the object for deleted.
_MISLED = frozenset({301, 302, 303, 307, 308, 404})
_GOES_OWN_404 = "404 page not found"


def error_for(request: Request | str, status: Status, retry_after: float | None = None) -> ApiError:
    """The error for a Status that the server sent."""
    cls = _BY_REASON.get(status.reason or "") or _BY_CODE.get(status.code or 0, ApiError)
    if retry_after is None and status.details is not None and status.details.retry_after_seconds:
        retry_after = float(status.details.retry_after_seconds)
    return cls(request, status, retry_after)


def error_from_body(request: Request, code: int, body: bytes, retry_after: float | None = None) -> ApiError:
    """The error for an answer that is no success, whoever wrote it."""
    try:
        status = decode(Status, body)
    except UNREADABLE:
        status = Status()
    if status.kind != "Status":
        text = one_line(body.decode("utf-8", "replace"), limit=200) or "the answer has no text"
        status = Status(code=code, message=text)
        if text == _GOES_OWN_404:
            status.message = "the server has no such resource"
            return NoSuchResource(request, status)
        if code in _MISLED:
            status.message = f"what answered is no Kubernetes API server ({code}): {text}"
            return NotKubernetes(request, status, retry_after)
    elif not status.code:
        status.code = code
    return error_for(request, status, retry_after)
