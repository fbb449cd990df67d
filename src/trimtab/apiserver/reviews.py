"""Reviews: questions that are asked by creating an object, which is answered and never stored."""

from __future__ import annotations

from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver import statuses
from trimtab.apiserver.calls import Call
from trimtab.apiserver.identity import Identities
from trimtab.apiserver.messages import User

Json: TypeAlias = dict[str, Any]

_GROUPS: Final = frozenset({"authentication.k8s.io", "authorization.k8s.io"})


def is_review(call: Call) -> bool:
    """Whether a kind is one that is only asked."""
    return call.target.kind.verbs == ("create",)


def answer(call: Call, review: Json, identities: Identities) -> Json:
    """The review with its answer. Whoever is known may do everything: there is no authorization yet."""
    kind = call.target.kind
    if kind.group not in _GROUPS:
        raise statuses.Refused("MethodNotAllowed", f"{kind} is not served here: there is nothing to bind Pods to")
    spec = cast("Json", review.get("spec") or {})
    match kind.kind:
        case "SelfSubjectReview":
            status: Json = {"userInfo": _info(call.user)}
        case "TokenReview":
            status = _token(spec.get("token") or "", identities)
        case "SelfSubjectRulesReview":
            status = {
                "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
                "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
                "incomplete": False,
            }
        case _:
            if bool(spec.get("resourceAttributes")) == bool(spec.get("nonResourceAttributes")):
                said = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
                raise statuses.bad_request(said)
            status = {"allowed": True}
    metadata = {key: value for key, value in review["metadata"].items() if key != "managedFields"}
    return {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": metadata, "spec": spec, "status": status}


def _token(token: str, identities: Identities) -> Json:
    user = identities.owner_of(token)
    if user is None:
        return {"user": {}, "error": "invalid bearer token"}
    return {"authenticated": True, "user": _info(user)}


def _info(user: User) -> Json:
    made: Json = {"username": user.name, "groups": list(user.groups)}
    if user.uid:
        made["uid"] = user.uid
    return made
