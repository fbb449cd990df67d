"""Asking whether somebody may do something: `authorizer.group('').resource('pods').check('list').allowed()`.

Whoever evaluates gives the answer: a function from an `Attributes` to a decision.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from trimtab.apiserver.cel import types as t
from trimtab.apiserver.cel.errors import EvaluationError
from trimtab.apiserver.cel.functions import Library
from trimtab.apiserver.cel.namerules import is_label, is_subdomain

AUTHORIZER: Final = Library()

AUTHORIZER_TYPE: Final = t.struct("kubernetes.authorization.Authorizer")
_PATH: Final = t.struct("kubernetes.authorization.PathCheck")
_GROUP: Final = t.struct("kubernetes.authorization.GroupCheck")
RESOURCE_TYPE: Final = t.struct("kubernetes.authorization.ResourceCheck")
_DECISION: Final = t.struct("kubernetes.authorization.Decision")


@dataclass(frozen=True, slots=True)
class Attributes:
    """What is asked: who wants to do what to which resource, or at which path."""

    user: Any
    verb: str = ""
    path: str = ""
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    field_selector: str = ""
    label_selector: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer; `error` is what went wrong when asking."""

    allowed: bool
    reason: str = ""
    error: str = ""
    type_name = "kubernetes.authorization.Decision"


Authorize: TypeAlias = Callable[[Attributes], Decision]
ServiceAccount: TypeAlias = Callable[[str, str], Any]


@dataclass(frozen=True, slots=True)
class Authorizer:
    """Who asks, and whom: the beginning of every check. Groups, paths and resources are filled in as it is called."""

    authorize: Authorize
    attributes: Attributes
    service_account: ServiceAccount
    type_name: str = AUTHORIZER_TYPE.name

    def narrowed(self, kind: t.Type, **changes: str) -> Authorizer:
        """The same with more known of what is asked."""
        return replace(self, attributes=replace(self.attributes, **changes), type_name=kind.name)


def _path(authorizer: Authorizer, path: str) -> Authorizer:
    if not path.strip():
        raise EvaluationError("path must not be empty")
    return authorizer.narrowed(_PATH, path=path)


def _resource(authorizer: Authorizer, resource: str) -> Authorizer:
    if not resource.strip():
        raise EvaluationError("resource must not be empty")
    return authorizer.narrowed(RESOURCE_TYPE, resource=resource)


def _service_account(authorizer: Authorizer, namespace: str, name: str) -> Authorizer:
    if is_subdomain(name):
        raise EvaluationError("Invalid service account name")
    if is_label(namespace):
        raise EvaluationError("Invalid service account namespace")
    user = authorizer.service_account(namespace, name)
    return replace(authorizer, attributes=replace(authorizer.attributes, user=user))


def _check(authorizer: Authorizer, verb: str) -> Decision:
    return authorizer.authorize(replace(authorizer.attributes, verb=verb))


def _narrow(field: str) -> Callable[[Authorizer, str], Authorizer]:
    return lambda authorizer, value: authorizer.narrowed(RESOURCE_TYPE, **{field: value})


_S = t.STRING
AUTHORIZER.member("path", "authorizer_path", [AUTHORIZER_TYPE, _S], _PATH, _path)
AUTHORIZER.member(
    "group", "authorizer_group", [AUTHORIZER_TYPE, _S], _GROUP, lambda a, group: a.narrowed(_GROUP, group=group)
)
AUTHORIZER.member(
    "serviceAccount", "authorizer_serviceaccount", [AUTHORIZER_TYPE, _S, _S], AUTHORIZER_TYPE, _service_account
)
AUTHORIZER.member("resource", "groupcheck_resource", [_GROUP, _S], RESOURCE_TYPE, _resource)
for _name, _field in (
    ("subresource", "subresource"),
    ("namespace", "namespace"),
    ("name", "name"),
    ("fieldSelector", "field_selector"),
    ("labelSelector", "label_selector"),
):
    AUTHORIZER.member(_name, f"resourcecheck_{_name.lower()}", [RESOURCE_TYPE, _S], RESOURCE_TYPE, _narrow(_field))
AUTHORIZER.member("check", "pathcheck_check", [_PATH, _S], _DECISION, _check)
AUTHORIZER.member("check", "resourcecheck_check", [RESOURCE_TYPE, _S], _DECISION, _check)
AUTHORIZER.member("errored", "decision_errored", [_DECISION], t.BOOL, lambda decision: bool(decision.error))
AUTHORIZER.member("error", "decision_error", [_DECISION], _S, lambda decision: decision.error)
AUTHORIZER.member("allowed", "decision_allowed", [_DECISION], t.BOOL, lambda decision: decision.allowed)
AUTHORIZER.member("reason", "decision_reason", [_DECISION], _S, lambda decision: decision.reason)
