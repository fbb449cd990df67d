"""Match conditions: expressions that must all be true, or a webhook or policy is not for this write."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from trimtab.apiserver.admission.expressions import CONDITIONS_COST, PLAIN, Budget, Expression, OutOfBudget
from trimtab.apiserver.cel.program import Environment

Json: TypeAlias = dict[str, Any]


class Conditions:
    """Those of one webhook or policy."""

    def __init__(self, given: Iterable[Json], environment: Environment = PLAIN) -> None:
        self._all = [(str(each.get("name", "")), Expression(environment, each.get("expression", ""))) for each in given]

    def __bool__(self) -> bool:
        return bool(self._all)

    @property
    def expressions(self) -> list[Expression]:
        """What is evaluated."""
        return [expression for _, expression in self._all]

    def hold(self, values: Mapping[str, Any]) -> tuple[bool, str]:
        """Whether they do, and what went wrong: one that is false decides, whatever went wrong with others."""
        errors: list[str] = []
        budget = Budget(CONDITIONS_COST)
        for _, expression in self._all:
            try:
                value, error = expression.evaluate(values, budget)
            except OutOfBudget as spent:
                return False, str(spent)
            if error:
                errors.append(f"expression '{expression.source}' resulted in error: {error}")
            elif value is not True:
                return False, ""
        if not errors:
            return True, ""
        return False, errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]"
