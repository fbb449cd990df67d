"""The expressions of a policy: what each sort of them can look at, and the variables that they share."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from trimtab.apiserver.admission.expressions import WITH_NAMESPACE, Expression
from trimtab.apiserver.cel import types as t
from trimtab.apiserver.cel.declared import Declared
from trimtab.apiserver.cel.program import KUBERNETES, MUTATING, Environment, Variable
from trimtab.apiserver.cel.structs import OBJECT, PATCH

Json: TypeAlias = dict[str, Any]

_MUTATED: Final = {"ApplyConfiguration": t.struct(OBJECT), "JSONPatch": t.list_of(t.struct(PATCH))}


class Scope:
    """What the expressions of one policy see. Variables are added in their order; each sees those before it."""

    def __init__(self, spec: Json) -> None:
        self._known = dict(WITH_NAMESPACE)
        if spec.get("paramKind") is not None:
            self._known["params"] = Variable(t.DYN)
        self.conditions: Final = Environment(self._known)
        """For match conditions, which see no variables."""
        self.variables: dict[str, Expression] = {}
        self._declared = Declared("object", t.struct("kubernetes.variables"))
        self._plain: Environment | None = None

    def add(self, name: str, source: str) -> Expression:
        """Compile a variable."""
        expression = self.variables[name] = self.expression(source)
        type_ = expression.program.type if expression.program is not None else t.DYN
        self._declared.fields[name] = self._declared.properties[name] = Declared("unknown", type_)
        self._plain = None
        return expression

    def expression(self, source: str) -> Expression:
        """Compile a validation, an audit annotation or the like."""
        if self._plain is None:
            self._plain = self._environment()
        return Expression(self._plain, source)

    def message(self, source: str) -> Expression:
        """Compile what makes a message, which may not ask who may do what."""
        return Expression(self._environment(hidden="authorizer"), source)

    def mutation(self, source: str) -> Expression:
        """Compile what changes objects."""
        return Expression(self._environment(mutates=True), source)

    def mutated(self, patch: str) -> t.Type:
        """What a mutation has to evaluate to."""
        return _MUTATED[patch]

    def _environment(self, *, hidden: str = "", mutates: bool = False) -> Environment:
        known = {name: variable for name, variable in self._known.items() if name != hidden}
        if self.variables or mutates:
            known["variables"] = Variable(self._declared.type, self._declared)
        return Environment(known, MUTATING if mutates else KUBERNETES, makes_structs=mutates)
