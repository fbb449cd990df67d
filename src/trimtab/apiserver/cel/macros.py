"""Macros: calls that stand for a loop, a test, or an optional's computation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from trimtab.apiserver.cel.syntax import Call, Expr, Fold, Ident, ListExpr, Literal, MapExpr, Select

ACCUMULATOR: Final = "@result"
_OLD_ACCUMULATOR: Final = "__result__"
_SORTED: Final = "@__sortBy_input__"

Expander: TypeAlias = Callable[[int, Expr | None, list[Expr]], Expr]
"""Makes an expression of the offset of a call, its target and its arguments."""


class MacroError(Exception):
    """A macro was called with what it cannot take."""

    def __init__(self, offset: int, message: str) -> None:
        super().__init__(message)
        self.offset = offset


def macro(expanders: dict[str, Expander], name: str, count: int, *, receiver: bool) -> Expander | None:
    """The macro of that name for so many arguments."""
    return expanders.get(f"{name}:{count}:{receiver}")


def _variable(node: Expr, message: str = "argument must be a simple name") -> str:
    if not isinstance(node, Ident):
        raise MacroError(node.offset, message)
    if node.name in (ACCUMULATOR, _OLD_ACCUMULATOR):
        raise MacroError(node.offset, "iteration variable overwrites accumulator variable")
    return node.name


def _two_variables(first: Expr, second: Expr) -> tuple[str, str]:
    for node in (first, second):
        if not isinstance(node, Ident):
            raise MacroError(node.offset, "argument must be a simple name")
    a, b = _variable(first), _variable(second)
    if a == b:
        raise MacroError(second.offset, f"duplicate variable name: {a}")
    return a, b


class _Maker:
    """Makes nodes that all stand where the macro was called."""

    def __init__(self, offset: int) -> None:
        self.offset = offset

    def accumulator(self) -> Ident:
        return Ident(offset=self.offset, name=ACCUMULATOR)

    def literal(self, value: bool | int) -> Literal:
        return Literal(offset=self.offset, value=value)

    def call(self, function: str, *args: Expr, target: Expr | None = None) -> Call:
        return Call(offset=self.offset, function=function, args=list(args), target=target)

    def items(self, *elements: Expr) -> ListExpr:
        return ListExpr(offset=self.offset, elements=list(elements))

    def fold(
        self, over: Expr | None, variables: tuple[str, ...], initial: Expr, condition: Expr, step: Expr,
        result: Expr | None = None,
    ) -> Fold:  # fmt: skip
        assert over is not None
        return Fold(
            offset=self.offset,
            range=over,
            var=variables[0],
            second=variables[1] if len(variables) > 1 else None,
            accumulator=ACCUMULATOR,
            initial=initial,
            condition=condition,
            step=step,
            result=result or self.accumulator(),
        )

    def bind(self, name: str, value: Expr, result: Expr) -> Fold:
        """Give a value a name: a loop over nothing."""
        return Fold(
            offset=self.offset,
            range=self.items(),
            var="#unused",
            accumulator=name,
            initial=value,
            condition=self.literal(False),
            step=Ident(offset=self.offset, name=name),
            result=result,
        )


def _has(offset: int, _target: Expr | None, args: list[Expr]) -> Expr:
    (tested,) = args
    if not isinstance(tested, Select) or tested.test:
        raise MacroError(tested.offset, "invalid argument to has() macro")
    return Select(offset=offset, operand=tested.operand, field=tested.field, test=True)


def _variables(args: list[Expr], two: bool) -> tuple[str, ...]:
    return _two_variables(args[0], args[1]) if two else (_variable(args[0]),)


def _all(two: bool) -> Expander:
    def expand(offset: int, target: Expr | None, args: list[Expr]) -> Expr:
        make = _Maker(offset)
        going_on = make.call("@not_strictly_false", make.accumulator())
        step = make.call("_&&_", make.accumulator(), args[-1])
        return make.fold(target, _variables(args, two), make.literal(True), going_on, step)

    return expand


def _exists(two: bool) -> Expander:
    def expand(offset: int, target: Expr | None, args: list[Expr]) -> Expr:
        make = _Maker(offset)
        going_on = make.call("@not_strictly_false", make.call("!_", make.accumulator()))
        step = make.call("_||_", make.accumulator(), args[-1])
        return make.fold(target, _variables(args, two), make.literal(False), going_on, step)

    return expand


def _exists_one(two: bool) -> Expander:
    def expand(offset: int, target: Expr | None, args: list[Expr]) -> Expr:
        make = _Maker(offset)
        more = make.call("_+_", make.accumulator(), make.literal(1))
        step = make.call("_?_:_", args[-1], more, make.accumulator())
        result = make.call("_==_", make.accumulator(), make.literal(1))
        return make.fold(target, _variables(args, two), make.literal(0), make.literal(True), step, result)

    return expand


def _map(offset: int, target: Expr | None, args: list[Expr]) -> Expr:
    make = _Maker(offset)
    variable = _variable(args[0], "argument is not an identifier")
    step: Expr = make.call("_+_", make.accumulator(), make.items(args[-1]))
    if len(args) > 2:
        step = make.call("_?_:_", args[1], step, make.accumulator())
    return make.fold(target, (variable,), make.items(), make.literal(True), step)


def _filter(offset: int, target: Expr | None, args: list[Expr]) -> Expr:
    make = _Maker(offset)
    variable = _variable(args[0], "argument is not an identifier")
    kept = make.call("_+_", make.accumulator(), make.items(args[0]))
    step = make.call("_?_:_", args[1], kept, make.accumulator())
    return make.fold(target, (variable,), make.items(), make.literal(True), step)


def _transform(offset: int, target: Expr | None, args: list[Expr], *, initial: Expr, step: Expr) -> Expr:
    make = _Maker(offset)
    if len(args) > 3:
        step = make.call("_?_:_", args[2], step, make.accumulator())
    return make.fold(target, _two_variables(args[0], args[1]), initial, make.literal(True), step)


def _transform_list(offset: int, target: Expr | None, args: list[Expr]) -> Expr:
    make = _Maker(offset)
    step = make.call("_+_", make.accumulator(), make.items(args[-1]))
    return _transform(offset, target, args, initial=make.items(), step=step)


def _transform_map(offset: int, target: Expr | None, args: list[Expr]) -> Expr:
    make = _Maker(offset)
    key = Ident(offset=offset, name=_two_variables(args[0], args[1])[0])
    step = make.call("cel.@mapInsert", make.accumulator(), key, args[-1])
    return _transform(offset, target, args, initial=MapExpr(offset=offset, entries=[]), step=step)


def _transform_map_entry(offset: int, target: Expr | None, args: list[Expr]) -> Expr:
    make = _Maker(offset)
    step = make.call("cel.@mapInsert", make.accumulator(), args[-1])
    return _transform(offset, target, args, initial=MapExpr(offset=offset, entries=[]), step=step)


def _optional_map(name: str) -> Expander:
    """The computation sees the value; where there is none, neither is there a result.

    The target stands in two places of the tree; both are the same nodes, so that chains of these stay small.
    """

    def expand(offset: int, target: Expr | None, args: list[Expr]) -> Expr:
        if not isinstance(args[0], Ident):
            raise MacroError(args[0].offset, f"{name}() variable name must be a simple identifier")
        assert target is not None
        make = _Maker(offset)
        result: Expr = make.bind(args[0].name, make.call("value", target=target), args[1])
        if name == "optMap":
            result = make.call("optional.of", result)
        return make.call("_?_:_", make.call("hasValue", target=target), result, make.call("optional.none"))

    return expand


def _sort_by(offset: int, target: Expr | None, args: list[Expr]) -> Expr:
    assert target is not None
    if isinstance(target, (Literal, MapExpr)):
        problem = "sortBy can only be applied to a list, identifier, comprehension, call or select expression"
        raise MacroError(target.offset, problem)
    make = _Maker(offset)
    keys = _map(offset, Ident(offset=offset, name=_SORTED), args)
    ordered = make.call("@sortByAssociatedKeys", keys, target=Ident(offset=offset, name=_SORTED))
    return make.bind(_SORTED, target, ordered)


def _bind(offset: int, target: Expr | None, args: list[Expr]) -> Expr:
    name, value, result = args[0], args[1], args[2]
    if not isinstance(target, Ident) or target.name != "cel":
        return _Maker(offset).call("bind", *args, target=target)
    if not isinstance(name, Ident):
        raise MacroError(name.offset, "cel.bind() variable names must be simple identifiers")
    return _Maker(offset).bind(name.name, value, result)


MACROS: Final[dict[str, Expander]] = {
    "has:1:False": _has,
    "all:2:True": _all(False),
    "all:3:True": _all(True),
    "exists:2:True": _exists(False),
    "exists:3:True": _exists(True),
    "exists_one:2:True": _exists_one(False),
    "exists_one:3:True": _exists_one(True),
    "existsOne:3:True": _exists_one(True),
    "map:2:True": _map,
    "map:3:True": _map,
    "filter:2:True": _filter,
    "transformList:3:True": _transform_list,
    "transformList:4:True": _transform_list,
    "transformMap:3:True": _transform_map,
    "transformMap:4:True": _transform_map,
    "transformMapEntry:3:True": _transform_map_entry,
    "transformMapEntry:4:True": _transform_map_entry,
    "optMap:2:True": _optional_map("optMap"),
    "optFlatMap:2:True": _optional_map("optFlatMap"),
    "sortBy:2:True": _sort_by,
}
"""The macros that expressions in Kubernetes may use, by name, number of arguments, and whether called on something."""

BINDING: Final = {**MACROS, "bind:3:True": _bind}
"""Those that select devices may use: `cel.bind` too."""
