"""The reviews: questions about who somebody is and what they may do, asked by creating what is stored nowhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver import causes, names, statuses
from trimtab.apiserver.access.attributes import Attributes
from trimtab.apiserver.access.rbac import MASTERS, Rbac
from trimtab.apiserver.access.rules import ALL, Rule
from trimtab.apiserver.access.tokens import ISSUER, BadToken, Tokens
from trimtab.apiserver.calls import Call
from trimtab.apiserver.causes import Cause
from trimtab.apiserver.identity import Identities
from trimtab.apiserver.messages import User
from trimtab.apiserver.routing import Target
from trimtab.apiserver.surroundings import Surroundings

Json: TypeAlias = dict[str, Any]

_AUTHORIZATION: Final = "authorization.k8s.io"
_AUTHENTICATION: Final = "authentication.k8s.io"


class Reviews:
    """Answers them."""

    def __init__(self, rbac: Rbac, tokens: Tokens, identities: Identities, around: Surroundings) -> None:
        self._rbac = rbac
        self._tokens = tokens
        self._identities = identities
        self._around = around
        self._answers: dict[str, Callable[[Call, Json], Json]] = {
            f"selfsubjectaccessreviews.{_AUTHORIZATION}": self._self_access,
            f"subjectaccessreviews.{_AUTHORIZATION}": self._access,
            f"localsubjectaccessreviews.{_AUTHORIZATION}": self._local_access,
            f"selfsubjectrulesreviews.{_AUTHORIZATION}": self._self_rules,
            f"selfsubjectreviews.{_AUTHENTICATION}": self._self,
            f"tokenreviews.{_AUTHENTICATION}": self._token,
            "serviceaccounts/token": self._issue,
        }

    def has(self, target: Target) -> bool:
        """Whether what is to be created is a question."""
        return _name_of(target) in self._answers

    def answer(self, call: Call, target: Target, obj: Json) -> Json:
        """The question with its answer."""
        return self._answers[_name_of(target)](call, obj)

    def _self_access(self, call: Call, obj: Json) -> Json:
        spec = _spec(obj)
        _refuse(_check_attributes(spec) + _check_selectors(spec) + _check_metadata(obj))
        return {**obj, "status": self._decided(call.user, spec)}

    def _access(self, call: Call, obj: Json) -> Json:  # noqa: ARG002 - the asker does not matter
        spec = _spec(obj)
        _refuse(_check_attributes(spec) + _check_user(spec) + _check_selectors(spec) + _check_metadata(obj))
        return {**obj, "status": self._decided(_subject(spec), spec)}

    def _local_access(self, call: Call, obj: Json) -> Json:
        spec = _spec(obj)
        found = _check_attributes(spec) + _check_user(spec) + _check_selectors(spec) + _check_metadata(obj, "namespace")
        resource = cast("Json | None", spec.get("resourceAttributes"))
        if resource is not None and resource.get("namespace", "") != call.target.namespace:
            path, asked = "spec.resourceAttributes.namespace", resource.get("namespace", "")
            found.append(causes.invalid(path, asked, "must match metadata.namespace"))
        if (path := spec.get("nonResourceAttributes")) is not None:
            why = "disallowed on this kind of request"
            found.append(causes.invalid("spec.nonResourceAttributes", _shown_path(path), why))
        _refuse(found)
        return {**obj, "status": self._decided(_subject(spec), spec)}

    def _decided(self, user: User, spec: Json) -> Json:
        decision = self._rbac.decide(_attributes(user, spec))
        return {"allowed": decision.allowed} | ({"reason": decision.reason} if decision.reason else {})

    def _self_rules(self, call: Call, obj: Json) -> Json:
        namespace = _spec(obj).get("namespace")
        if not namespace:
            raise statuses.bad_request("no namespace on request")
        rules = list(dict.fromkeys(self._rbac.rules(call.user, namespace)))
        everything = (Rule((ALL,), (ALL,), (ALL,)), Rule((ALL,), urls=(ALL,)))
        if MASTERS in call.user.groups:
            rules = [*everything, *(rule for rule in rules if rule not in everything)]
        status: Json = {
            "resourceRules": [rule.body() for rule in rules if not rule.urls],
            "nonResourceRules": [rule.body() for rule in rules if rule.urls],
            "incomplete": False,
        }
        return {**obj, "metadata": {}, "spec": {}, "status": status}

    def _self(self, call: Call, obj: Json) -> Json:
        metadata = {"creationTimestamp": self._around.stamp()}
        return {**obj, "metadata": metadata, "status": {"userInfo": _shown_user(call.user)}}

    def _token(self, call: Call, obj: Json) -> Json:  # noqa: ARG002
        spec = _spec(obj)
        token = spec.get("token")
        if not token:
            raise statuses.bad_request("token is required for TokenReview in authentication")
        audiences = cast("Sequence[str]", spec.get("audiences") or (ISSUER,))
        return {**obj, "status": self._looked_at(token, audiences)}

    def _looked_at(self, token: str, audiences: Sequence[str]) -> Json:
        user = self._identities.holder(token) if ISSUER in audiences else None
        meant: Sequence[str] = (ISSUER,)
        if user is None:
            try:
                known = self._tokens.read(token, audiences)
            except BadToken as error:
                why = f"[invalid bearer token, {error}]" if str(error) else "invalid bearer token"
                return {"user": {}, "error": why}
            user, meant = known.user, known.audiences
        return {"authenticated": True, "user": _shown_user(user), "audiences": list(meant)}

    def _issue(self, call: Call, obj: Json) -> Json:
        return self._tokens.issue(call.target.namespace, call.target.name, obj)


def _name_of(target: Target) -> str:
    sub = target.subresource
    return f"{target.kind.bucket}/{sub.name}" if sub is not None else target.kind.bucket


def _spec(obj: Json) -> Json:
    return cast("Json", obj.get("spec") or {})


def _attributes(user: User, spec: Json) -> Attributes:
    about = cast("Json | None", spec.get("resourceAttributes"))
    if about is None:
        about = cast("Json", spec.get("nonResourceAttributes") or {})
        return Attributes(user, about.get("verb", ""), path=about.get("path", "") or "/")
    names = ("verb", "group", "version", "resource", "subresource", "namespace", "name")
    return Attributes(user, *(about.get(name, "") for name in names))


def _subject(spec: Json) -> User:
    return User(spec.get("user", ""), tuple(spec.get("groups") or ()), spec.get("uid", ""), spec.get("extra") or {})


def _shown_user(user: User) -> Json:
    made: Json = {"username": user.name, "uid": user.uid, "groups": list(user.groups)}
    made["extra"] = {key: list(values) for key, values in user.extra.items()}
    return {name: value for name, value in made.items() if value}


def _shown_path(given: Json) -> Json:
    return {"Path": given.get("path", ""), "Verb": given.get("verb", "")}


def _check_attributes(spec: Json) -> list[Cause]:
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None and path is not None:
        why = "cannot be specified in combination with resourceAttributes"
        return [causes.invalid("spec.nonResourceAttributes", _shown_path(path), why)]
    if resource is None and path is None:
        why = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        return [causes.invalid("spec.resourceAttributes", None, why)]
    return []


def _check_selectors(spec: Json) -> list[Cause]:
    about = cast("Json", spec.get("resourceAttributes") or {})
    found: list[Cause] = []
    for name in ("fieldSelector", "labelSelector"):
        selector = cast("Json | None", about.get(name))
        if selector is None:
            continue
        path = f"spec.resourceAttributes.{name}"
        raw, requirements = selector.get("rawSelector") or "", cast("list[Json]", selector.get("requirements") or [])
        if raw and requirements:
            why = "may not specified at the same time as requirements"
            found.append(causes.invalid(f"{path}.rawSelector", raw, why))
        if not raw and not requirements:
            why = f"when {path} is specified, requirements or rawSelector is required"
            found.append(causes.required(f"{path}.requirements", why))
        for place, each in enumerate(requirements):
            found += _check_requirement(each, f"{path}.requirements[{place}]", labels=name == "labelSelector")
    return found


def _check_requirement(requirement: Json, path: str, *, labels: bool) -> list[Cause]:
    """What is wrong with it; an operator that is not known is let be, newer clients may know it."""
    key, operator = requirement.get("key") or "", requirement.get("operator")
    values = cast("list[str]", requirement.get("values") or [])
    found: list[Cause] = []
    if not labels and not key:
        found.append(causes.required(f"{path}.key", "must be specified"))
    if operator in ("In", "NotIn") and not values:
        found.append(causes.required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
    if operator in ("Exists", "DoesNotExist") and values:
        why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        found.append(causes.forbidden(f"{path}.values", why))
    if labels:
        found += [causes.invalid(f"{path}.key", key, why) for why in names.qualified(key)]
        for place, value in enumerate(values):
            found += [causes.invalid(f"{path}.values[{place}]", value, why) for why in names.label_value(value)]
    return found


def _check_metadata(obj: Json, allowed: str = "") -> list[Cause]:
    """What is wrong with the metadata of a question, which has to have none."""
    metadata = cast("Json", obj["metadata"])
    if all(name in ("managedFields", allowed) or not value for name, value in metadata.items()):
        return []
    except_ = f" except for {allowed}" if allowed else ""
    return [causes.invalid("metadata", _as_struct(metadata), f"must be empty{except_}")]


def _as_struct(metadata: Json) -> causes.Struct:
    entries = [causes.Struct(entry) for entry in metadata.get("managedFields") or ()]
    return causes.Struct(metadata if not entries else {**metadata, "managedFields": entries})


def _check_user(spec: Json) -> list[Cause]:
    if spec.get("user") or spec.get("groups"):
        return []
    return [causes.invalid("spec.user", "", "at least one of user or group must be specified")]


def _refuse(found: list[Cause]) -> None:
    if found:
        raise statuses.invalid("", _AUTHORIZATION, "", found)
