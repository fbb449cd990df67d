"""Compiling and running expressions: what the rest of the API server uses.

env = Environment({"self": declared})
program = env.compile("self.replicas <= 5")   # CompileError or ProgramError where it is not valid
program.estimate.most                         # what it can cost at worst
program.evaluate({"self": value})             # Outcome: the value, and what it cost
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from trimtab.apiserver.cel.checker import check
from trimtab.apiserver.cel.declared import Declared
from trimtab.apiserver.cel.errors import (
    CostExceededError,
    EvaluationError,
    Issue,
    compile_error,
)
from trimtab.apiserver.cel.estimate import estimate
from trimtab.apiserver.cel.frames import Frame
from trimtab.apiserver.cel.functions import Library
from trimtab.apiserver.cel.library.amounts import QUANTITIES, SEMVERS
from trimtab.apiserver.cel.library.authorizer import AUTHORIZER
from trimtab.apiserver.cel.library.formats import FORMATS
from trimtab.apiserver.cel.library.lists import FOLDS, LISTS, SETS
from trimtab.apiserver.cel.library.net import CIDRS, IPS, URLS
from trimtab.apiserver.cel.library.optionals import OPTIONALS
from trimtab.apiserver.cel.library.standard import STANDARD
from trimtab.apiserver.cel.library.strings import JSON_PATCH, REGEX, STRINGS
from trimtab.apiserver.cel.linting import lint
from trimtab.apiserver.cel.macros import BINDING, MACROS
from trimtab.apiserver.cel.parser import parse
from trimtab.apiserver.cel.planning import Step, plan
from trimtab.apiserver.cel.structs import field_type, struct_type
from trimtab.apiserver.cel.syntax import Expr, Ident, children
from trimtab.apiserver.cel.types import Type
from trimtab.apiserver.cel.values import MISSING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from trimtab.apiserver.cel.bounds import Bounds

COST_LIMIT: Final = 1_000_000
"""What one evaluation may cost."""


def _kubernetes(*more: Library) -> Library:
    library = Library()
    for part in (
        STANDARD, URLS, REGEX, LISTS, AUTHORIZER, OPTIONALS, QUANTITIES, STRINGS, SETS, IPS, CIDRS, FORMATS, FOLDS,
        SEMVERS, *more,
    ):  # fmt: skip
        library.include(part)
    return library


KUBERNETES: Final = _kubernetes()
"""What every expression in Kubernetes can call."""
MUTATING: Final = _kubernetes(JSON_PATCH)
"""The same, and what mutating policies can call besides."""


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable: its type, and what its schema says of its values where it has one."""

    type: Type
    declared: Declared | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an evaluation came to: a value or an error, and what it cost."""

    value: Any
    error: EvaluationError | None
    cost: int


class Environment:
    """The variables and functions that an expression can use. It can compile any number of them."""

    def __init__(
        self,
        variables: Mapping[str, Variable],
        library: Library = KUBERNETES,
        *,
        makes_structs: bool = False,
        binds: bool = False,
    ) -> None:
        """`makes_structs` lets expressions make parts of objects and of patches; `binds`, name values by `cel.bind`."""
        self._variables = dict(variables)
        self._library = library
        self._macros = BINDING if binds else MACROS
        self._struct_type = struct_type if makes_structs else _no_struct
        self._structs: dict[str, Declared] = {}
        for variable in variables.values():
            if variable.declared is not None:
                self._collect(variable.declared)

    def compile(self, source: str) -> Program:
        """Compile an expression, or raise CompileError or ProgramError with the words of kube-apiserver."""
        try:
            return self._compile(source)
        except RecursionError:
            raise compile_error(source, [Issue(None, "max recursion depth exceeded")]) from None

    def _compile(self, source: str) -> Program:
        tree = parse(source, self._macros)
        types = {name: variable.type for name, variable in self._variables.items()}
        check(source, tree, types, self._library.functions, self._field, self._struct_type)
        lint(source, tree)
        names = list(self._variables)
        step, slots = plan(tree, names, self._library.functions)
        root = next((v.declared for v in self._variables.values() if v.declared is not None), None)
        assert tree.type is not None
        return Program(source, tree.type, estimate(tree, root), frozenset(_used(tree)), names, step, slots)

    def _collect(self, declared: Declared) -> None:
        if declared.type.kind == "struct":
            self._structs[declared.type.name] = declared
        for field in declared.fields.values():
            self._collect(field)
        if declared.element is not None:
            self._collect(declared.element)

    def _field(self, struct: str, name: str) -> Type | None:
        declared = self._structs.get(struct)
        if declared is None:
            return field_type(struct, name) if self._struct_type(struct) is not None else None
        field = declared.fields.get(name) or declared.fields.get(f"__{name}__")
        return field.type if field is not None else None


@dataclass(frozen=True, slots=True)
class Program:
    """A compiled expression."""

    source: str
    type: Type
    """Of what it evaluates to."""
    estimate: Bounds
    """What an evaluation can cost, told from the types and the sizes that schemas allow."""
    uses: frozenset[str]
    """The names of variables in it."""
    _names: list[str]
    _step: Step
    _slots: int

    def evaluate(self, variables: Mapping[str, Any], *, limit: int = COST_LIMIT) -> Outcome:
        """Evaluate it with these values of its variables; whatever happens, in time and memory bounded by the limit."""
        slots: list[Any] = [variables.get(name, MISSING) for name in self._names]
        slots.extend([MISSING] * (self._slots - len(slots)))
        frame = Frame(slots, limit)
        try:
            value = self._step(frame)
        except EvaluationError as error:
            return Outcome(None, error, frame.cost)
        except (RecursionError, MemoryError, OverflowError) as error:
            return Outcome(None, EvaluationError(f"evaluation failed: {type(error).__name__}"), frame.cost)
        if frame.cost > limit:
            return Outcome(None, CostExceededError(), frame.cost)
        return Outcome(value, None, frame.cost)


def _no_struct(_: str) -> Type | None:
    return None


def _used(tree: Expr) -> set[str]:
    found: set[str] = set()
    stack, seen = [tree], set[int]()
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, Ident) and node.constant is None:
            found.add(node.name)
        stack.extend(children(node))
    return found
