"""Loops. The shapes that macros expand to are run directly; what they cost is what the general loop would."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

from trimtab.apiserver.cel.errors import CostExceededError, EvaluationError
from trimtab.apiserver.cel.frames import Frame
from trimtab.apiserver.cel.macros import ACCUMULATOR
from trimtab.apiserver.cel.runtimecosts import NEW_LIST
from trimtab.apiserver.cel.syntax import Call, Expr, Fold, Ident, ListExpr, Literal, MapExpr
from trimtab.apiserver.cel.values import MISSING, MapValue, find, is_list, is_map, keys

if TYPE_CHECKING:
    from trimtab.apiserver.cel.planning import Planner

Step: TypeAlias = Callable[[Frame], Any]


def fold(planner: Planner, node: Fold) -> Step:
    """The function for a loop."""
    if node.accumulator != ACCUMULATOR:
        return _bind(planner, node)
    over = planner.step(node.range)
    if not isinstance(node.initial, (ListExpr, MapExpr)):
        initial = planner.step(node.initial)
    else:
        initial = _fresh_list if isinstance(node.initial, ListExpr) else _fresh_map
    accumulator = planner.bound(node.accumulator)
    first = planner.bound(node.var)
    second = planner.bound(node.second) if node.second is not None else None
    body = _appending(planner, node.step)
    quantifier = _quantifier(planner, node)
    condition = planner.step(node.condition)
    step = planner.step(node.step) if body is None and quantifier is None else None
    planner.release(node.var)
    if node.second is not None:
        planner.release(node.second)
    result = planner.step(node.result)
    planner.release(node.accumulator)
    turns = _turns(over, first, second)
    if quantifier is not None:
        return _quantified(turns, quantifier, decisive=_is_exists(node))
    if body is not None:
        return _collected(turns, body, accumulator, initial, result)
    assert step is not None
    return _general(turns, accumulator, initial, condition, step, result)


def _fresh_list(_frame: Frame) -> Any:
    return []


def _fresh_map(_frame: Frame) -> Any:
    return MapValue()


def _bind(planner: Planner, node: Fold) -> Step:
    """A name for a value: the value is computed when it is first asked for, as it is here, at once."""
    value = planner.step(node.initial)
    slot = planner.bound(node.accumulator)
    result = planner.step(node.result)
    planner.release(node.accumulator)

    def run(frame: Frame) -> Any:
        if frame.cost > frame.limit:  # chains of optionals double with every link
            raise CostExceededError
        frame.variables[slot] = value(frame)
        return result(frame)

    return run


Turns: TypeAlias = Callable[[Frame], Iterable[None]]


def _turns(over: Step, first: int, second: int | None) -> Turns:
    """Sets the loop's variables for each turn, and stops the evaluation when it has cost too much."""

    def run(frame: Frame) -> Iterable[None]:
        container = over(frame)
        variables = frame.variables
        for key, value in _pairs(container, two=second is not None):
            if frame.cost > frame.limit:
                raise CostExceededError
            variables[first] = key
            if second is not None:
                variables[second] = value
            yield

    return run


def _pairs(container: Any, *, two: bool) -> Iterable[tuple[Any, Any]]:
    if is_list(container):
        items: Iterable[Any] = container
        return enumerate(items) if two else ((item, None) for item in items)
    if is_map(container):
        return ((key, find(container, key) if two else None) for key in keys(container))
    raise EvaluationError("no such overload")


def _is_exists(node: Fold) -> bool:
    return isinstance(node.step, Call) and node.step.function == "_||_"


def _quantifier(planner: Planner, node: Fold) -> Step | None:
    """The predicate of `all` and `exists`."""
    step = node.step
    if not isinstance(step, Call) or step.function not in ("_&&_", "_||_"):
        return None
    if not isinstance(node.initial, Literal) or not _is_accumulator(step.args[0]):
        return None
    return planner.step(step.args[1])


def _quantified(turns: Turns, predicate: Step, *, decisive: bool) -> Step:
    """`all` ends with the first false, `exists` with the first true; an error counts only if nothing decides."""
    going_on = 3 if decisive else 2

    def run(frame: Frame) -> Any:
        problem: EvaluationError | None = None
        decided = False
        for _ in turns(frame):
            frame.cost += going_on
            if decided:
                break
            frame.cost += 1
            try:
                value = predicate(frame)
            except CostExceededError:
                raise
            except EvaluationError as error:
                problem = problem or error
                continue
            if value is decisive:
                decided = True
            elif value is not (not decisive):
                problem = problem or EvaluationError("no such overload")
        frame.cost += 1
        if decided:
            return decisive
        if problem is not None:
            raise problem
        return not decisive

    return run


Body: TypeAlias = tuple[Step | None, Step, int]


def _appending(planner: Planner, step: Expr) -> Body | None:
    """A filter, an element and its cost, where a loop does nothing but collect."""
    test: Step | None = None
    if isinstance(step, Call) and step.function == "_?_:_" and _is_accumulator(step.args[2]):
        inner = step.args[1]
        if not _collects(inner):
            return None
        test = planner.step(step.args[0])
        step = inner
    if not _collects(step):
        return None
    assert isinstance(step, Call)
    items = step.args[1]
    assert isinstance(items, ListExpr)
    element = items.elements[0]
    cost = 2 if planner.constant(element) is not MISSING else 2 + NEW_LIST
    return test, planner.step(element), cost


def _collects(step: Expr) -> bool:
    return (
        isinstance(step, Call)
        and step.function == "_+_"
        and _is_accumulator(step.args[0])
        and isinstance(step.args[1], ListExpr)
        and len(step.args[1].elements) == 1
        and not step.args[1].optional
    )


def _is_accumulator(node: Expr) -> bool:
    return isinstance(node, Ident) and node.name == ACCUMULATOR


def _collected(turns: Turns, body: Body, slot: int, initial: Step, result: Step) -> Step:
    """`map` and `filter`: the list grows in place, since nobody else has it yet."""
    test, element, cost = body

    def run(frame: Frame) -> Any:
        collected: list[Any] = initial(frame)
        for _ in turns(frame):
            if test is not None:
                wanted = test(frame)
                if wanted is False:
                    continue
                if wanted is not True:
                    raise EvaluationError("no such overload")
            collected.append(element(frame))
            frame.cost += cost
        frame.variables[slot] = collected
        return result(frame)

    return run


def _general(turns: Turns, slot: int, initial: Step, condition: Step, step: Step, result: Step) -> Step:
    def run(frame: Frame) -> Any:
        value = initial(frame)
        for _ in turns(frame):
            frame.variables[slot] = value
            if condition(frame) is False:
                break
            value = step(frame)
        frame.variables[slot] = value
        return result(frame)

    return run
