"""What the server says when it refuses: each refusal is an exception that becomes a Status.

The reasons and their codes are `kube.reasons`; the sentences are those that clients know, and that some of them read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from trimtab.apiserver.causes import Cause, quoted
from trimtab.errors import TrimtabError
from trimtab.kube.reasons import CODES, Reason


class Refused(TrimtabError):
    """A request that was refused, whoever refused it."""

    def __init__(
        self,
        reason: Reason | Literal[""],
        message: str,
        *,
        code: int | None = None,
        name: str = "",
        group: str = "",
        kind: str = "",
        uid: str = "",
        causes: Sequence[Cause] = (),
        retry_after: int = 0,
        continue_: str = "",
        empty_details: bool = False,
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.code = (CODES[reason] if reason else 500) if code is None else code
        self.message = message
        self.name = name
        self.group = group
        self.kind = kind
        self.uid = uid
        self.causes = tuple(causes)
        self.retry_after = retry_after
        self.continue_ = continue_
        self.empty_details = empty_details
        self.warnings: tuple[str, ...] = ()  # told along with it

    def body(self) -> dict[str, Any]:
        """The Status."""
        details = {
            "name": self.name,
            "group": self.group,
            "kind": self.kind,
            "uid": self.uid,
            "causes": [cause.body() for cause in self.causes],
            "retryAfterSeconds": self.retry_after,
        }
        status: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {"continue": self.continue_} if self.continue_ else {},
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            status["reason"] = self.reason
        if (given := {key: value for key, value in details.items() if value}) or self.empty_details:
            status["details"] = given
        status["code"] = self.code
        return status


def success(name: str, group: str, plural: str, uid: str) -> dict[str, Any]:
    """The Status of a deletion that is done."""
    details = {"name": name, "group": group, "kind": plural, "uid": uid}
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {key: value for key, value in details.items() if value},
    }


def qualified(plural: str, group: str) -> str:
    """`deployments.apps`, or `pods`: how messages name a resource."""
    return f"{plural}.{group}" if group else plural


def bad_request(message: str) -> Refused:
    """It makes no sense."""
    return Refused("BadRequest", message)


def unauthorized() -> Refused:
    """Nobody knows who is asking."""
    return Refused("Unauthorized", "Unauthorized")


def forbidden(plural: str, group: str, name: str, why: str, causes: Sequence[Cause] = ()) -> Refused:
    """It is known who is asking, and they may not; or nobody may now."""
    what = f"{qualified(plural, group)} {quoted(name)}" if name else qualified(plural, group)
    message = f"{what} is forbidden: {why}"
    return Refused("Forbidden", message, name=name, group=group, kind=plural, causes=causes)


def not_found(plural: str, group: str, name: str) -> Refused:
    """There is no such object."""
    return Refused(
        "NotFound", f"{qualified(plural, group)} {quoted(name)} not found", name=name, group=group, kind=plural
    )


def no_such_resource() -> Refused:
    """There is no such kind here."""
    return Refused("NotFound", "the server could not find the requested resource", empty_details=True)


def method_not_allowed() -> Refused:
    """The kind has no such verb."""
    message = "the server does not allow this method on the requested resource"
    return Refused("MethodNotAllowed", message, empty_details=True)


def being_withdrawn(plural: str, group: str, name: str) -> Refused:
    """The kind is about to be served no longer."""
    return forbidden(plural, group, name, "create not allowed while custom resource definition is terminating")


def not_acceptable(types: Sequence[str]) -> Refused:
    """No form in which we answer is one that was asked for."""
    return Refused("NotAcceptable", "only the following media types are accepted: " + ", ".join(types))


def unsupported_media_type(types: Sequence[str]) -> Refused:
    """The body is in no form that is read here."""
    message = "the body of the request was in an unknown format - accepted media types include: " + ", ".join(types)
    return Refused("UnsupportedMediaType", message)


def already_exists(plural: str, group: str, name: str) -> Refused:
    """An object of that name is there."""
    message = f"{qualified(plural, group)} {quoted(name)} already exists"
    return Refused("AlreadyExists", message, name=name, group=group, kind=plural)


def conflict(plural: str, group: str, name: str, why: str, causes: Sequence[Cause] = ()) -> Refused:
    """The object is not as the writer believed."""
    message = f"Operation cannot be fulfilled on {qualified(plural, group)} {quoted(name)}: {why}"
    return Refused("Conflict", message, name=name, group=group, kind=plural, causes=causes)


MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"
"""Why a write with an old resource version is refused."""


def invalid(kind: str, group: str, name: str, causes: Sequence[Cause]) -> Refused:
    """The object breaks rules."""
    faults = list(dict.fromkeys(map(str, causes)))
    what = f"{qualified(kind, group)} {quoted(name)} is invalid"
    message = what + (": " + (faults[0] if len(faults) == 1 else f"[{', '.join(faults)}]") if faults else "")
    return Refused("Invalid", message, name=name, group=group, kind=kind, causes=causes)


def too_large(limit: int) -> Refused:
    """The body is larger than any may be."""
    return Refused("RequestEntityTooLarge", f"Request entity too large: limit is {limit}")


def expired(message: str, continue_: str = "") -> Refused:
    """What was asked for is too long ago."""
    return Refused("Expired", message, continue_=continue_)


def version_too_large(wanted: int, current: int) -> Refused:
    """A state was asked for that is not there yet."""
    cause = Cause("ResourceVersionTooLarge", "Too large resource version")
    message = f"Timeout: Too large resource version: {wanted}, current: {current}"
    return Refused("Timeout", message, causes=[cause], retry_after=1)


def too_many_requests(message: str, retry_after: int = 1) -> Refused:
    """Not now."""
    return Refused("TooManyRequests", message, retry_after=retry_after)


def internal(why: str) -> Refused:
    """The server failed, and says at what."""
    return Refused("InternalError", f"Internal error occurred: {why}", causes=[Cause("", why)])


def unknown(message: str) -> Refused:
    """What Kubernetes answers where it forgot to say why: a 500 without a reason."""
    return Refused("", message)


def unavailable(message: str) -> Refused:
    """The server does not serve now."""
    return Refused("ServiceUnavailable", message)
