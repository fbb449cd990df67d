"""From a checked tree to closures: one Python function for each node, made once and run for every object."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from trimtab.apiserver.cel import folding
from trimtab.apiserver.cel.access import index, present, select, select_optional
from trimtab.apiserver.cel.errors import CostExceededError, EvaluationError, ProgramError
from trimtab.apiserver.cel.frames import Frame
from trimtab.apiserver.cel.regexes import PatternError, compile_pattern
from trimtab.apiserver.cel.runtimecosts import NEW_LIST, NEW_MAP, charge
from trimtab.apiserver.cel.structs import making
from trimtab.apiserver.cel.syntax import Call, Expr, Fold, Ident, ListExpr, Literal, MapExpr, Select, StructExpr
from trimtab.apiserver.cel.types import Type
from trimtab.apiserver.cel.values import MISSING, NONE, MapValue, Optional, is_list, is_map, kind_name

if TYPE_CHECKING:
    from trimtab.apiserver.cel.functions import Overload

Step: TypeAlias = Callable[[Frame], Any]

_CONVERSIONS: Final = frozenset(
    {"bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"}
)
_OPERATORS: Final = frozenset(["_+_", "_-_", "_*_", "_/_", "_%_", "_<_", "_<=_", "_>_", "_>=_", "-_", "!_", "@in"])


def plan(tree: Expr, variables: list[str], functions: dict[str, list[Overload]]) -> tuple[Step, int]:
    """Make the function that evaluates a tree, and tell how many variables its frames have."""
    planner = Planner(variables, functions)
    step = planner.step(tree)
    return step, planner.slots


class Planner:
    """Makes the closures; variables become places in the frame."""

    def __init__(self, variables: list[str], functions: dict[str, list[Overload]]) -> None:
        self._scope: dict[str, list[int]] = {name: [n] for n, name in enumerate(variables)}
        self.slots = len(variables)
        self._functions = functions
        self._constants: dict[int, Any] = {}
        self._steps: dict[int, Step] = {}

    def step(self, node: Expr) -> Step:
        """The function for one node; the same one for a node that a macro put into two places."""
        known = self._steps.get(id(node))
        if known is None:
            known = self._steps[id(node)] = self._step(node)
        return known

    def _step(self, node: Expr) -> Step:
        constant = self.constant(node)
        if constant is not MISSING:
            return lambda _: constant
        match node:
            case Ident():
                return self._ident(node)
            case Select():
                return self._select(node)
            case Call():
                return self._call(node)
            case ListExpr():
                return self._list(node)
            case MapExpr():
                return self._map(node)
            case Fold():
                return folding.fold(self, node)
            case StructExpr():
                fields = [(name, self.step(value), optional) for name, value, optional, _ in node.fields]
                return making(node.name.removeprefix("."), fields)
            case Literal():  # literals are constants
                raise AssertionError(node)

    def constant(self, node: Expr) -> Any:
        """The value of a node that is the same in every evaluation, or MISSING. Such nodes cost nothing."""
        known = self._constants.get(id(node), self)
        if known is self:
            known = self._constants[id(node)] = self._constant(node)
        return known

    def _constant(self, node: Expr) -> Any:
        match node:
            case Literal():
                return node.value
            case Ident(constant=constant) | Select(constant=constant) if constant is not None:
                return constant
            case ListExpr() if node.elements and not node.optional:
                values = [self.constant(element) for element in node.elements]
                return MISSING if any(value is MISSING for value in values) else values
            case ListExpr() | MapExpr() if not _parts(node):
                return [] if isinstance(node, ListExpr) else MapValue()
            case MapExpr():
                return self._constant_map(node)
            case Call(function=function, args=[argument], target=None) if function in _CONVERSIONS:
                return self._converted(node, self.constant(argument))
            case _:
                return MISSING

    def _constant_map(self, node: MapExpr) -> Any:
        built = MapValue()
        for key, value, optional in node.entries:
            constant, held = self.constant(key), self.constant(value)
            if optional or held is MISSING or not isinstance(constant, (str, int, float, type(None))):
                return MISSING
            built.replace(constant, held)  # of keys that are constant and equal, the last one stays
        return built

    def _converted(self, node: Call, argument: Any) -> Any:
        if argument is MISSING:
            return MISSING
        try:
            return self._implementation(node)(argument)
        except EvaluationError as error:
            raise ProgramError(str(error)) from None

    def _ident(self, node: Ident) -> Step:
        slot = self._scope[node.name][-1]

        def run(frame: Frame) -> Any:
            frame.cost += 1
            value = frame.variables[slot]
            if value is MISSING:
                raise EvaluationError(f"no such attribute(s): {node.name}")
            return value

        return run

    def _select(self, node: Select) -> Step:
        path = [node.field]
        operand = node.operand
        while not node.test and isinstance(operand, Select) and not operand.test:
            path.append(operand.field)
            operand = operand.operand
        inner = self._attribute(operand)
        if node.test:
            field = node.field

            def test(frame: Frame) -> bool:
                return present(inner(frame), field)

            return test
        names = path[::-1]
        cost = len(names)

        def run(frame: Frame) -> Any:
            value = inner(frame)
            frame.cost += cost
            for name in names:
                value = select(value, name)
            return value

        return run

    def _attribute(self, operand: Expr) -> Step:
        """An operand that is looked into. Looking into what a call made costs one more."""
        inner = self.step(operand)
        if isinstance(operand, (Ident, Select)) or (
            isinstance(operand, Call) and operand.function in ("_[_]", "_?._", "_[?_]")
        ):
            return inner

        def run(frame: Frame) -> Any:
            value = inner(frame)
            frame.cost += 1
            return value

        return run

    def _call(self, node: Call) -> Step:
        special = _SPECIAL.get(node.function)
        if special is not None:
            return special(self, node)
        if node.function in ("or", "orValue") and node.target is not None:
            return self._or(node)
        args = [self.step(arg) for arg in ([node.target] if node.target else []) + node.args]
        run = self._implementation(node)
        price = charge(node.function, node.overloads[0])
        if node.function == "@in" and isinstance(self.constant(node.args[1]), list):
            price = _nothing
        if price is None:
            return _plain(run, args)

        def charged(frame: Frame) -> Any:
            values = [arg(frame) for arg in args]
            result = run(*values)
            frame.cost += price(values, result)
            if frame.cost > frame.limit:
                raise CostExceededError
            return result

        return charged

    def _implementation(self, node: Call) -> Callable[..., Any]:
        """What a call does: its one overload, or where types are known at run time only, whichever fits then."""
        overloads = [o for o in self._functions[node.function] if o.id in node.overloads]
        fixed_pattern = _fixed_pattern(node)
        if fixed_pattern is not None:
            return fixed_pattern
        args = ([node.target] if node.target else []) + node.args
        dynamic = any(_may_vary(arg.type) for arg in args)
        if len(overloads) == 1 and not dynamic:
            assert overloads[0].run is not None
            return overloads[0].run
        member = node.target is not None
        candidates = [o for o in self._functions[node.function] if o.member == member and len(o.args) == len(args)]
        if node.function in ("_==_", "_!=_"):
            assert candidates[0].run is not None
            return candidates[0].run
        return _dispatch(node.function, candidates)

    def _or(self, node: Call) -> Step:
        assert node.target is not None
        first, second, wants_value = self.step(node.target), self.step(node.args[0]), node.function == "orValue"

        def run(frame: Frame) -> Any:
            value = first(frame)
            if not isinstance(value, Optional):
                raise EvaluationError("no such overload")
            if value.present:
                return value.value if wants_value else value
            return second(frame)

        return run

    def _list(self, node: ListExpr) -> Step:
        elements = [self.step(element) for element in node.elements]
        optional = node.optional
        if not optional:

            def run(frame: Frame) -> Any:
                values = [element(frame) for element in elements]
                frame.cost += NEW_LIST
                return values

            return run

        def run_optional(frame: Frame) -> Any:
            values: list[Any] = []
            for n, element in enumerate(elements):
                value = element(frame)
                if n in optional:
                    if not isinstance(value, Optional):
                        raise EvaluationError(
                            f"cannot initialize optional list element from non-optional value {value}"
                        )
                    if not value.present:
                        continue
                    value = value.value
                values.append(value)
            frame.cost += NEW_LIST
            return values

        return run_optional

    def _map(self, node: MapExpr) -> Step:
        entries = [(self.step(key), self.step(value), optional) for key, value, optional in node.entries]

        def run(frame: Frame) -> Any:
            built = MapValue()
            for key_step, value_step, optional in entries:
                key, value = key_step(frame), value_step(frame)
                if optional:
                    if not isinstance(value, Optional):
                        raise EvaluationError(
                            f"cannot initialize optional entry '{key}' from non-optional value {value}"
                        )
                    if not value.present:
                        continue
                    value = value.value
                _insert(built, key, value)
            frame.cost += NEW_MAP
            return built

        return run

    def bound(self, name: str) -> int:
        """Open a scope for a variable: its place in the frame."""
        slot = self.slots
        self.slots += 1
        self._scope.setdefault(name, []).append(slot)
        return slot

    def release(self, name: str) -> None:
        """Close the scope of a variable."""
        self._scope[name].pop()

    def logical(self, node: Call) -> Step:
        """`&&` and `||`: what decides it on either side hides an error on the other."""
        decisive = node.function == "_||_"
        left, right = self.step(node.args[0]), self.step(node.args[1])

        def run(frame: Frame) -> Any:
            problem: EvaluationError | None = None
            try:
                value = left(frame)
                if value is decisive:
                    return decisive
                if value is not (not decisive):
                    problem = EvaluationError("no such overload")
            except CostExceededError:
                raise
            except EvaluationError as error:
                problem = error
            value = right(frame) if problem is None else _either(right, frame, decisive, problem)
            if value is not True and value is not False:
                raise EvaluationError("no such overload")
            return value

        return run

    def conditional(self, node: Call) -> Step:
        """`a ? b : c`."""
        test = self.step(node.args[0])
        yes, no = self._branch(node.args[1]), self._branch(node.args[2])

        def run(frame: Frame) -> Any:
            value = test(frame)
            if value is True:
                return yes(frame)
            if value is False:
                return no(frame)
            raise EvaluationError("no such overload")

        return run

    def _branch(self, node: Expr) -> Step:
        """A branch that is a variable, or looks into something: what it begins with costs nothing there."""
        step = self.step(node)
        is_access = isinstance(node, (Ident, Select)) or (isinstance(node, Call) and node.function in ("_[_]", "_[?_]"))
        if not is_access or self.constant(node) is not MISSING:
            return step

        def run(frame: Frame) -> Any:
            frame.cost -= 1
            return step(frame)

        return run

    def index(self, node: Call) -> Step:
        """`a[b]`, and `a[?b]` which gives an optional."""
        container, key = self._attribute(node.args[0]), self.step(node.args[1])
        optional = node.function == "_[?_]"

        def run(frame: Frame) -> Any:
            inside, at = container(frame), key(frame)
            found = index(inside, at, optional=optional)
            if found is not NONE:
                frame.cost += 1
            return found

        return run

    def optional_select(self, node: Call) -> Step:
        """`a.?b`."""
        operand = self._attribute(node.args[0])
        assert isinstance(node.args[1], Literal)
        field = str(node.args[1].value)

        def run(frame: Frame) -> Any:
            found = select_optional(operand(frame), field)
            frame.cost += found.present
            return found

        return run

    def not_strictly_false(self, node: Call) -> Step:
        """What loops go on by: anything but false."""
        inner = self.step(node.args[0])

        def run(frame: Frame) -> bool:
            frame.cost += 1
            try:
                return inner(frame) is not False
            except CostExceededError:
                raise
            except EvaluationError:
                return True

        return run


_SPECIAL: Final[dict[str, Callable[[Planner, Call], Step]]] = {
    "_&&_": Planner.logical,
    "_||_": Planner.logical,
    "_?:_": Planner.conditional,
    "_?_:_": Planner.conditional,
    "_[_]": Planner.index,
    "_[?_]": Planner.index,
    "_?._": Planner.optional_select,
    "@not_strictly_false": Planner.not_strictly_false,
}


def _either(right: Step, frame: Frame, decisive: bool, problem: EvaluationError) -> Any:
    try:
        value = right(frame)
    except CostExceededError:
        raise
    except EvaluationError:
        raise problem from None
    if value is decisive:
        return value
    raise problem


def _plain(run: Callable[..., Any], args: list[Step]) -> Step:
    if len(args) == 1:
        (only,) = args

        def one(frame: Frame) -> Any:
            value = only(frame)
            frame.cost += 1
            return run(value)

        return one
    if len(args) == 2:
        first, second = args

        def two(frame: Frame) -> Any:
            a, b = first(frame), second(frame)
            frame.cost += 1
            return run(a, b)

        return two

    def many(frame: Frame) -> Any:
        values = [arg(frame) for arg in args]
        frame.cost += 1
        return run(*values)

    return many


def _nothing(_args: Any, _result: Any) -> int:
    """Looking for something in a list of constants."""
    return 0


def _parts(node: ListExpr | MapExpr) -> list[Any]:
    return list(node.elements) if isinstance(node, ListExpr) else list(node.entries)


def _insert(built: MapValue, key: Any, value: Any) -> None:
    if isinstance(key, float) or key is None or not isinstance(key, (str, int)):
        raise EvaluationError(f"unsupported key type: {kind_name(key)}")
    if not built.insert(key, value):
        raise EvaluationError(f"Failed with repeated key: {key}")


def _fixed_pattern(node: Call) -> Callable[..., Any] | None:
    """Searches for a pattern that is written in the expression: it is compiled with it."""
    if node.function not in ("matches", "find", "findAll"):
        return None
    pattern = node.args[0] if node.target is not None else node.args[1]
    if not isinstance(pattern, Literal) or not isinstance(pattern.value, str):
        return None
    try:
        compiled = compile_pattern(pattern.value)
    except PatternError as error:
        raise ProgramError(str(error)) from None
    target = node.target or node.args[0]
    if _may_vary(target.type):
        return None
    if node.function == "matches":
        return _ignoring_pattern(compiled.matches)
    if node.function == "find":
        return _ignoring_pattern(compiled.first)
    return _ignoring_pattern(compiled.every)


def _ignoring_pattern(search: Callable[..., Any]) -> Callable[..., Any]:
    def run(text: str, _pattern: str, *more: int) -> Any:
        return search(text, *more)

    return run


def _may_vary(found: Type | None) -> bool:
    return found is None or found.kind == "dyn" or any(_may_vary(p) for p in found.params)


def _dispatch(function: str, overloads: list[Overload]) -> Callable[..., Any]:
    def run(*values: Any) -> Any:
        for overload in overloads:
            if overload.run is not None and all(map(_fits, overload.args, values)):
                return overload.run(*values)
        if function in _OPERATORS:
            raise EvaluationError("no such overload")
        raise EvaluationError(f"no such overload: {function}({', '.join(kind_name(value) for value in values)})")

    return run


def _fits(wanted: Type, value: Any) -> bool:
    if wanted.kind in ("dyn", "param"):
        return True
    if wanted.kind == "list":
        return is_list(value) and (not len(value) or _fits(wanted.params[0], next(iter(value))))
    if wanted.kind == "map":
        return is_map(value)
    return wanted.name == kind_name(value)
