"""The tree of an expression. Each node knows where in the source it stands; the checker adds its type."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from trimtab.apiserver.cel.types import Type


@dataclass(eq=False, slots=True, kw_only=True)
class Node:
    """Any expression. Nodes are told apart by identity: a macro may put one in two places."""

    offset: int
    type: Type | None = field(default=None, repr=False)
    """The type that the checker found."""


@dataclass(eq=False, slots=True)
class Literal(Node):
    """A constant: None, bool, int, Uint, float, str or bytes."""

    value: Any


@dataclass(eq=False, slots=True)
class Ident(Node):
    """A variable, or the name of a type, in which case the checker sets `constant`."""

    name: str
    constant: Any = None


@dataclass(eq=False, slots=True)
class Select(Node):
    """`operand.field`; `has(operand.field)` where it only tests. The checker sets `constant` if it is a type's name."""

    operand: Expr
    field: str
    test: bool = False
    constant: Any = None


@dataclass(eq=False, slots=True)
class Call(Node):
    """A function or operator; `target` is what it was called on. The checker sets the overloads that fit."""

    function: str
    args: list[Expr]
    target: Expr | None = None
    overloads: tuple[str, ...] = ()


@dataclass(eq=False, slots=True)
class ListExpr(Node):
    """`[a, ?b]`."""

    elements: list[Expr]
    optional: frozenset[int] = frozenset()


@dataclass(eq=False, slots=True)
class MapExpr(Node):
    """`{key: value, ?key: value}`."""

    entries: list[tuple[Expr, Expr, bool]]


@dataclass(eq=False, slots=True)
class StructExpr(Node):
    """`Name{field: value}`: fields are name, value, optional, offset."""

    name: str
    fields: list[tuple[str, Expr, bool, int]]


@dataclass(eq=False, slots=True)
class Fold(Node):
    """What macros expand to: a loop over a list or map that folds it into an accumulator."""

    range: Expr
    var: str
    accumulator: str
    initial: Expr
    condition: Expr
    step: Expr
    result: Expr
    second: str | None = None
    """The second variable, in loops over indices or keys and values."""


Expr: TypeAlias = Literal | Ident | Select | Call | ListExpr | MapExpr | StructExpr | Fold


def children(node: Expr) -> list[Expr]:
    """The expressions directly inside another."""
    match node:
        case Select():
            return [node.operand]
        case Call():
            return [*([node.target] if node.target else []), *node.args]
        case ListExpr():
            return node.elements
        case MapExpr():
            return [part for key, value, _ in node.entries for part in (key, value)]
        case StructExpr():
            return [value for _, value, _, _ in node.fields]
        case Fold():
            return [node.range, node.initial, node.condition, node.step, node.result]
        case _:
            return []


def qualified_name(node: Expr) -> str | None:
    """`a.b.c` where the expression is nothing but that."""
    parts: list[str] = []
    while isinstance(node, Select) and not node.test:
        parts.append(node.field)
        node = node.operand
    if not isinstance(node, Ident):
        return None
    return ".".join([node.name, *reversed(parts)])
