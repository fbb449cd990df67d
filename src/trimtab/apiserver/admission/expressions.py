"""What expressions of admission can see: the object as it was and is to be, the request, who asks, the namespace."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver.access.attributes import Attributes
from trimtab.apiserver.access.impersonation import AUTHENTICATED, account_groups
from trimtab.apiserver.access.rbac import Rbac, account_name
from trimtab.apiserver.admission.requests import Write, request_body
from trimtab.apiserver.cel import types as t
from trimtab.apiserver.cel.declared import Declared
from trimtab.apiserver.cel.errors import CelError, EvaluationError
from trimtab.apiserver.cel.library.authorizer import AUTHORIZER_TYPE, RESOURCE_TYPE, Authorizer, Decision
from trimtab.apiserver.cel.library.authorizer import Attributes as Asked
from trimtab.apiserver.cel.program import Environment, Program, Variable
from trimtab.apiserver.cel.values import MISSING
from trimtab.apiserver.cel.values import Mapping as CelMapping
from trimtab.apiserver.custom.declaring import declare
from trimtab.apiserver.messages import User

Json: TypeAlias = dict[str, Any]

_S: Final[Json] = {"type": "string"}
_LIST: Final[Json] = {"type": "array", "items": _S}
_MAP: Final[Json] = {"type": "object", "additionalProperties": _S}
_TIME: Final[Json] = {"type": "string", "format": "date-time"}
_LISTS: Final[Json] = {"type": "object", "additionalProperties": _LIST}


def _struct(**properties: Json) -> Json:
    return {"type": "object", "properties": properties}


_KIND: Final = _struct(group=_S, version=_S, kind=_S)
_RESOURCE: Final = _struct(group=_S, version=_S, resource=_S)
_REQUEST: Final = _struct(
    kind=_KIND, resource=_RESOURCE, subResource=_S, requestKind=_KIND, requestResource=_RESOURCE,
    requestSubResource=_S, name=_S, namespace=_S, operation=_S, dryRun={"type": "boolean"},
    userInfo=_struct(username=_S, uid=_S, groups=_LIST, extra=_LISTS),
)  # fmt: skip
_NAMESPACE: Final = _struct(
    metadata=_struct(
        name=_S, generateName=_S, namespace=_S, labels=_MAP, annotations=_MAP, UID=_S, creationTimestamp=_TIME,
        deletionTimestamp=_TIME, deletionGracePeriodSeconds={"type": "integer"}, generation={"type": "integer"},
        resourceVersion=_S, finalizers=_LIST,
    ),
    spec=_struct(finalizers=_LIST),
    status=_struct(
        phase=_S,
        conditions={
            "type": "array",
            "items": _struct(status=_S, type=_S, lastTransitionTime=_TIME, message=_S, reason=_S),
        },
    ),
)  # fmt: skip


_SEEN: Final = (*_NAMESPACE["properties"]["metadata"]["properties"], "uid")


def _declared(schema: Json, name: str) -> Declared:
    found = declare(schema, root=False, name=name)
    assert found is not None
    return found


REQUEST: Final = _declared(_REQUEST, "kubernetes.AdmissionRequest")
REQUEST.fields["options"] = REQUEST.properties["options"] = Declared("unknown", t.DYN)
NAMESPACE: Final = _declared(_NAMESPACE, "kubernetes.Namespace")
_AUTHORIZER: Final = Declared("object", AUTHORIZER_TYPE, {"requestResource": Declared("unknown", RESOURCE_TYPE)})
VARIABLES: Final[Mapping[str, Variable]] = {
    "object": Variable(t.DYN),
    "oldObject": Variable(t.DYN),
    "request": Variable(REQUEST.type, REQUEST),
    "authorizer": Variable(AUTHORIZER_TYPE, _AUTHORIZER),
}
PLAIN: Final = Environment(VARIABLES)
"""What match conditions of webhooks see."""
WITH_NAMESPACE: Final[Mapping[str, Variable]] = {
    **VARIABLES,
    "namespaceObject": Variable(NAMESPACE.type, NAMESPACE),
}


RULES_COST: Final = 10_000_000
"""What all rules of a policy may cost for one write."""
CONDITIONS_COST: Final = 2_500_000
"""What all its match conditions may."""


class OutOfBudget(Exception):
    """Expressions that share a budget have spent it."""

    def __init__(self) -> None:
        super().__init__("validation failed due to running out of cost budget, no further validation rules will be run")


class Budget:
    """What the expressions of one policy may still cost for one write."""

    def __init__(self, left: int = RULES_COST) -> None:
        self._left = left

    def spend(self, cost: int) -> None:
        """Take what an evaluation has cost. Raises OutOfBudget."""
        self._left -= cost
        if self._left < 0:
            raise OutOfBudget


class Expression:
    """An expression, and what it compiled to, or why it did not."""

    def __init__(self, environment: Environment, source: str) -> None:
        self.given = source
        self.source = source.strip()
        self.program: Program | None = None
        self.problem = ""
        try:
            self.program = environment.compile(source)
        except CelError as error:
            self.problem = str(error)

    def evaluate(self, values: Mapping[str, Any], budget: Budget | None = None) -> tuple[Any, str]:
        """Its value, or what went wrong. Raises OutOfBudget."""
        if self.program is None:
            return None, f"compilation error: {self.problem}"
        outcome = self.program.evaluate(values)
        if budget is not None:
            budget.spend(outcome.cost)
        return outcome.value, "" if outcome.error is None else str(outcome.error)


@dataclass(frozen=True, slots=True)
class _Asking(Authorizer, CelMapping):
    """An authorizer that knows what the request is about."""

    about: Authorizer | None = None

    def find(self, key: Any) -> Any:
        """`authorizer.requestResource`."""
        return self.about if key == "requestResource" and self.about is not None else MISSING

    def keys(self) -> list[Any]:
        """It is no map, though it is looked into."""
        return []

    def __len__(self) -> int:
        return 0


class Lazy(CelMapping):
    """Variables of a policy, each evaluated when it is first looked at."""

    __slots__ = ("_budget", "_expressions", "_known", "_values")

    def __init__(
        self, expressions: Mapping[str, Expression], values: Mapping[str, Any], budget: Budget | None = None
    ) -> None:
        self._expressions = expressions
        self._budget = budget
        self._values = values
        self._known: dict[str, tuple[Any, str]] = {}

    def find(self, key: Any) -> Any:
        """The value of a variable."""
        expression = self._expressions.get(key)
        if expression is None:
            return MISSING
        if key not in self._known:
            self._known[key] = expression.evaluate({**self._values, "variables": self}, self._budget)
        value, error = self._known[key]
        if error:
            raise EvaluationError(f'composited variable "{key}" fails to evaluate: {error}')
        return value

    def keys(self) -> list[Any]:
        """Their names."""
        return list(self._expressions)

    def __len__(self) -> int:
        return len(self._expressions)


def variables_of(write: Write, rbac: Rbac, version: str) -> dict[str, Any]:
    """What the expressions are evaluated with."""
    body = request_body(write, "", version)
    request = {name: value for name, value in body.items() if name not in ("object", "oldObject", "uid")}
    asked = Asked(write.call.user)
    authorizer = Authorizer(_decider(rbac), asked, _account)
    target = write.call.target
    about = authorizer.narrowed(
        RESOURCE_TYPE,
        group=write.kind.group, resource=write.kind.plural, subresource=write.subresource,
        namespace=target.namespace, name=write.name,
    )  # fmt: skip
    return {
        "object": body["object"],
        "oldObject": body["oldObject"],
        "request": request,
        "authorizer": _Asking(_decider(rbac), asked, _account, about=about),
        "namespaceObject": _namespace_value(write),
    }


def _namespace_value(write: Write) -> Json | None:
    """What expressions see of the namespace. Its times are text to them, whatever their type says."""
    if not write.kind.namespaced or write.namespace is None:
        return None
    given = cast("Json", write.namespace["metadata"])
    metadata = {name: given[name] for name in _SEEN if name in given}
    return {
        "metadata": metadata,
        "spec": write.namespace.get("spec") or {},
        "status": write.namespace.get("status") or {},
    }


def _account(namespace: str, name: str) -> User:
    return User(account_name(namespace, name), (*account_groups(namespace), AUTHENTICATED))


def _decider(rbac: Rbac) -> Callable[[Asked], Decision]:
    def decide(asked: Asked) -> Decision:
        found = rbac.decide(
            Attributes(
                cast("User", asked.user), asked.verb, asked.group, "", asked.resource, asked.subresource,
                asked.namespace, asked.name, asked.path,
            )
        )  # fmt: skip
        return Decision(found.allowed, found.reason)

    return decide
