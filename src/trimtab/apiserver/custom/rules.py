"""The rules (x-kubernetes-validations) of a schema: compiled once, evaluated for every object within a budget."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver import causes
from trimtab.apiserver.causes import Cause
from trimtab.apiserver.cel import types as t
from trimtab.apiserver.cel.bounds import Bounds
from trimtab.apiserver.cel.declared import Declared
from trimtab.apiserver.cel.errors import CelError, CompileError, CostExceededError, EvaluationError, ProgramError
from trimtab.apiserver.cel.program import Environment, Outcome, Program, Variable
from trimtab.apiserver.cel.values import NONE, Optional
from trimtab.apiserver.custom.declaring import declare
from trimtab.apiserver.custom.equality import UNCORRELATED, Same, compile_same, correlate_items, part
from trimtab.apiserver.custom.fieldpaths import normalized

Json: TypeAlias = dict[str, Any]

BUDGET: Final = 10_000_000
"""What all rules may cost for one object."""

_LONGEST_MESSAGE: Final = 5 * 1024
_EXHAUSTED: Final = "validation failed due to running out of cost budget, no further validation rules will be run"
_OMITTED: Final = object()


class _BudgetSpentError(Exception):
    """No further rule is to be run."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule with what it compiled to, or why it did not."""

    given: Json
    program: Program | None
    problem: str
    message: Program | None
    message_problem: str
    path: str
    """Where its faults are, relative to what it stands at."""

    @property
    def cost(self) -> Bounds | None:
        """What it can cost at worst."""
        return self.program.estimate if self.program else None

    @property
    def uses_old(self) -> bool:
        """Whether it compares with what was before."""
        return self.program is not None and "oldSelf" in self.program.uses

    @property
    def text(self) -> str:
        """How it is called in messages."""
        return str(self.given.get("message") or self.given["rule"]).strip()


def compile_rules(schema: Json, declared: Declared) -> list[Rule]:
    """Compile the rules of one node of a schema."""
    same_type = Variable(declared.type, declared)
    plain = Environment({"self": same_type, "oldSelf": same_type})
    optional = Environment({"self": same_type, "oldSelf": Variable(t.optional_of(declared.type))})
    found: list[Rule] = []
    for given in schema.get("x-kubernetes-validations") or ():
        environment = optional if given.get("optionalOldSelf") else plain
        program, problem = _compiled(environment, given.get("rule", ""), t.BOOL, _RULE_WORDS)
        message, message_problem = None, ""
        if program is not None and given.get("messageExpression"):
            message, message_problem = _compiled(environment, given["messageExpression"], t.STRING, _MESSAGE_WORDS)
        path = normalized(given["fieldPath"], schema) if given.get("fieldPath") else ""
        found.append(Rule(given, program, problem, message, message_problem, path or ""))
    return found


_RULE_WORDS: Final = (
    "compilation failed: ",
    "program instantiation failed: ",
    "cel expression must evaluate to a bool",
)
_MESSAGE_WORDS: Final = (
    "messageExpression compilation failed: ",
    "messageExpression instantiation failed: ",
    "messageExpression must evaluate to a string",
)


def _compiled(
    environment: Environment, source: str, wanted: t.Type, words: tuple[str, str, str]
) -> tuple[Program | None, str]:
    if not source.strip():
        return None, ""
    try:
        program = environment.compile(source)
    except CompileError as error:
        return None, f"{words[0]}{error}"
    except ProgramError as error:
        return None, f"{words[1]}{error}"
    except CelError as error:
        return None, f"{words[0]}{error}"
    return (program, "") if program.type == wanted else (None, words[2])


class _Run:
    """One validation of one object: what is left of the budget, and the faults."""

    __slots__ = ("faults", "left")

    def __init__(self) -> None:
        self.left = BUDGET
        self.faults: list[Cause] = []

    def spend(self, cost: int, exhausted: Callable[[], Cause]) -> None:
        """Pay for an evaluation, or say that nothing is left."""
        if cost > self.left:
            self.faults.append(exhausted())
            raise _BudgetSpentError
        self.left -= cost


Node: TypeAlias = Callable[[Any, Any, Any, bool, str, _Run], None]
"""Runs the rules at and below a node: for a value, the old one, the old one for ratcheting, whether the parent is
unchanged, and the path."""


def compile_validator(schema: Json, *, root: bool) -> Callable[[Any, Any], list[Cause]] | None:
    """The function that runs all rules on an object, given the old one or None; None where there are no rules."""
    node = _node(schema, root=root, top=True)
    if node is None:
        return None

    def run(obj: Any, old: Any) -> list[Cause]:
        state = _Run()
        with suppress(_BudgetSpentError):  # the fault that says so is among them
            node(obj, old, UNCORRELATED if old is None else old, False, "", state)
        return state.faults

    return run


def _node(schema: Json, *, root: bool, top: bool = False) -> Node | None:  # noqa: C901 - the closure in it is counted too
    fields: dict[str, Node] = {}
    for name, field in part(schema, "properties").items():
        node = _node(field, root=bool(field.get("x-kubernetes-embedded-resource")))
        if node is not None:
            fields[name] = node
    rest, items = _inner(schema.get("additionalProperties")), _inner(schema.get("items"))
    declared = declare(schema, root=root) if schema.get("x-kubernetes-validations") else None
    rules = compile_rules(schema, declared) if declared is not None else []
    alike = compile_same(schema)
    if not rules and not fields and rest is None and items is None:
        return None

    def run(value: Any, old: Any, before: Any, parent_same: bool, path: str, state: _Run) -> None:
        if value is None:
            return
        if rules:
            assert declared is not None
            unchanged = _Lazily(value, before, parent_same, alike)
            _evaluate(schema, rules, declared, value, old, unchanged, path, state)
        if isinstance(value, dict):
            obj = cast("Json", value)
            olds = cast("Json", old) if isinstance(old, dict) else {}
            befores = cast("Json", before) if isinstance(before, dict) else None
            for key, inner in obj.items():
                node, place = fields.get(key), f"{path}.{key}" if path else key
                if rest is not None:
                    node, place = rest, f"{path}[{key}]"
                if node is not None:
                    at = UNCORRELATED if befores is None or (top and key in _META) else befores.get(key, UNCORRELATED)
                    kept = parent_same if befores is None else alike(value, before)
                    node(inner, olds.get(key), at, kept, place, state)
        elif isinstance(value, list) and items is not None:
            values = cast("list[Any]", value)
            olds_by_key = correlate_items(schema, values, old)
            befores_by_key = correlate_items(schema, values, before)
            kept = parent_same if before is UNCORRELATED else alike(value, before)
            for index, inner in enumerate(values):
                was = olds_by_key[index] if olds_by_key else UNCORRELATED
                at = befores_by_key[index] if befores_by_key else UNCORRELATED
                items(inner, None if was is UNCORRELATED else was, at, kept, f"{path}[{index}]", state)

    return run


_META: Final = ("apiVersion", "kind")


def _inner(schema: Any) -> Node | None:
    if not isinstance(schema, dict):
        return None
    known = cast("Json", schema)
    return _node(known, root=bool(known.get("x-kubernetes-embedded-resource")))


class _Lazily:
    """Whether a value is unchanged, which is asked for only when a rule fails."""

    __slots__ = ("_alike", "_before", "_parent", "_value")

    def __init__(self, value: Any, before: Any, parent: bool, alike: Same) -> None:
        self._value, self._before, self._parent, self._alike = value, before, parent, alike

    def __bool__(self) -> bool:
        return self._parent if self._before is UNCORRELATED else self._alike(self._value, self._before)


def _evaluate(
    schema: Json,
    rules: list[Rule],
    declared: Declared,
    value: Any,
    old: Any,
    unchanged: _Lazily,
    path: str,
    state: _Run,
) -> None:
    kind = schema.get("type") or ""
    at = path or "<nil>"
    if state.left <= 0:
        state.faults.append(causes.invalid(at, kind, _EXHAUSTED))
        raise _BudgetSpentError
    own, earlier = _read(declared, value), _read(declared, old)
    for rule in rules:
        if rule.problem:
            state.faults.append(causes.invalid(at, kind, f"rule compile error: {rule.problem}"))
            continue
        optional = bool(rule.given.get("optionalOldSelf"))
        if rule.program is None or (rule.uses_old and old is None and not optional):
            continue
        unreadable = own if isinstance(own, EvaluationError) else earlier if rule.uses_old else None
        if isinstance(unreadable, EvaluationError):
            state.faults.append(_failed(at, kind, rule, unreadable))
            continue
        known: dict[str, Any] = {"self": own}
        if optional:
            known["oldSelf"] = NONE if old is None else Optional(earlier)
        elif old is not None:
            known["oldSelf"] = earlier
        outcome = rule.program.evaluate(known)
        state.spend(outcome.cost, lambda: causes.invalid(at, kind, _EXHAUSTED))
        if outcome.error is not None:
            state.faults.append(_failed(at, kind, rule, outcome.error))
            if isinstance(outcome.error, CostExceededError):
                raise _BudgetSpentError
        elif outcome.value is not True:
            fault = _broken(schema, rule, known, value, path, state)
            if rule.uses_old or not unchanged:
                state.faults.append(fault)


def _read(declared: Declared, value: Any) -> Any:
    """A value as expressions know it, or what keeps it from being one."""
    try:
        return None if value is None else declared.read(value)
    except EvaluationError as error:
        return error


def _failed(at: str, kind: str, rule: Rule, error: EvaluationError) -> Cause:
    if isinstance(error, CostExceededError):
        why = f"'{error}': no further validation rules will be run due to call cost exceeds limit for rule: {rule.text}"
    elif str(error).startswith("no such overload"):
        why = (
            f"'{error}': call arguments did not match a supported operator, function or macro signature for rule: "
            f"{rule.text}"
        )
    else:
        why = f"{error} evaluating rule: {rule.text}"
    return causes.invalid(at, kind, why)


def _broken(schema: Json, rule: Rule, known: dict[str, Any], value: Any, path: str, state: _Run) -> Cause:
    at = path
    if rule.path:
        at = f"{path}.{rule.path}" if path else rule.path
    at = at or "<nil>"
    detail = _message(rule, known, schema, at, state)
    if detail is None:
        given = rule.given.get("message")
        detail = str(given).strip() if given else f"failed rule: {rule.text}"
    shown = _OMITTED if schema.get("type") in ("object", "array") else value
    match rule.given.get("reason"):
        case "FieldValueForbidden":
            return causes.forbidden(at, detail)
        case "FieldValueRequired":
            return causes.required(at, detail)
        case "FieldValueDuplicate":
            return (
                Cause("FieldValueDuplicate", "Duplicate value", at)
                if shown is _OMITTED
                else causes.duplicate(at, shown)
            )
        case _:
            if shown is _OMITTED:
                return Cause("FieldValueInvalid", f"Invalid value: {detail}", at)
            return causes.invalid(at, shown, detail)


def _message(rule: Rule, known: dict[str, Any], schema: Json, at: str, state: _Run) -> str | None:
    """What the rule's own expression says of the fault; None where it says nothing that can be used."""
    if rule.message is None:
        return None
    outcome: Outcome = rule.message.evaluate(known)
    kind = schema.get("type") or ""
    spent = (
        "messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run"
    )
    state.spend(outcome.cost, lambda: causes.invalid(at, kind, spent))
    if isinstance(outcome.error, CostExceededError):
        expression = causes.quoted(rule.given["messageExpression"])
        limit = "no further validation rules will be run due to call cost exceeds limit for messageExpression"
        why = f"{limit}: {expression}"
        state.faults.append(causes.invalid(at, kind, why))
        raise _BudgetSpentError
    if outcome.error is not None or not isinstance(outcome.value, str):
        return None
    text = outcome.value.strip()
    return text if text and "\n" not in text and len(text.encode()) <= _LONGEST_MESSAGE else None
