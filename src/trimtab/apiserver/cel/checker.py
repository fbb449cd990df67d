"""Type checking: every expression gets a type, every call the overloads that fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from trimtab.apiserver.cel import types as t
from trimtab.apiserver.cel.errors import Issue, compile_error
from trimtab.apiserver.cel.syntax import (
    Call,
    Expr,
    Fold,
    Ident,
    ListExpr,
    Literal,
    MapExpr,
    Node,
    Select,
    StructExpr,
    qualified_name,
)
from trimtab.apiserver.cel.types import Type
from trimtab.apiserver.cel.unification import Bindings, assignable, most_general, substitute
from trimtab.apiserver.cel.values import TypeValue, Uint

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from trimtab.apiserver.cel.functions import Overload

TYPE_NAMES: Final = {
    **{u.name: u for u in (t.BOOL, t.INT, t.UINT, t.DOUBLE, t.STRING, t.BYTES, t.NULL, t.DURATION, t.TIMESTAMP)},
    **{u.name: u for u in (t.TYPE, t.IP, t.CIDR)},
    "list": t.list_of(t.DYN),
    "map": t.map_of(t.DYN, t.DYN),
    "optional_type": t.optional_of(t.DYN),
}
"""Types that have a name in expressions."""


def check(
    source: str,
    tree: Expr,
    variables: Mapping[str, Type],
    functions: Mapping[str, list[Overload]],
    field_type: Callable[[str, str], Type | None],
    struct_type: Callable[[str], Type | None],
) -> None:
    """Find the type of every node, or raise CompileError.

    `field_type` knows the fields of structs by their names, `struct_type` the structs that can be made.
    """
    checker = _Checker(variables, functions, field_type, struct_type)
    checker.check(tree)
    if checker.issues:
        raise compile_error(source, checker.issues)
    checker.settle()


class _Checker:
    def __init__(
        self,
        variables: Mapping[str, Type],
        functions: Mapping[str, list[Overload]],
        field_type: Callable[[str, str], Type | None],
        struct_type: Callable[[str], Type | None],
    ) -> None:
        self.issues: list[Issue] = []
        self._scopes: list[dict[str, Type]] = [dict(variables)]
        self._functions = functions
        self._field_type = field_type
        self._struct_type = struct_type
        self._bindings: Bindings = {}
        self._fresh = 0
        self._seen: list[Node] = []

    def settle(self) -> None:
        """Replace what types were called while checking by what they turned out to be."""
        for node in self._seen:
            assert node.type is not None
            node.type = substitute(self._bindings, node.type, unknown_to_dyn=True)

    def check(self, node: Expr) -> Type:
        if node.type is not None:  # a macro put it into two places
            return node.type
        match node:
            case Literal():
                found = _literal_type(node.value)
            case Ident():
                found = self._ident(node)
            case Select():
                found = self._select(node)
            case Call():
                found = self._call(node)
            case ListExpr():
                found = self._list(node)
            case MapExpr():
                found = self._map(node)
            case StructExpr():
                found = self._struct(node)
            case Fold():
                found = self._fold(node)
        node.type = found
        self._seen.append(node)
        return found

    def _ident(self, node: Ident) -> Type:
        known = self._lookup(node, node.name)
        if known is None:
            self._error(node, f"undeclared reference to '{node.name}' (in container '')")
            return t.ERROR
        return known

    def _lookup(self, node: Ident | Select, name: str) -> Type | None:
        """The type of a variable, or of the name of a type, which is then a constant."""
        plain = name.removeprefix(".")
        scopes = self._scopes[:1] if plain != name else reversed(self._scopes)
        for scope in scopes:
            if plain in scope:
                if isinstance(node, Ident):
                    node.name = plain
                return scope[plain]
        named = TYPE_NAMES.get(plain)
        if named is None:
            return None
        if isinstance(node, Ident):
            node.constant = TypeValue(plain)
        return t.type_of(named)

    def _select(self, node: Select) -> Type:
        name = None if node.test else qualified_name(node)
        if name in TYPE_NAMES:
            node.constant = TypeValue(name)
            return t.type_of(TYPE_NAMES[name])
        found = self._selected(node, node.operand, node.field, optional=False)
        return t.BOOL if node.test else self._known(found)

    def _selected(self, node: Node, operand: Expr, field: str, *, optional: bool) -> Type:
        target, was_optional = t.unwrap_optional(self._known(self.check(operand)))
        if target.kind == "map":
            found = target.params[1]
        elif target.kind == "struct":
            declared = self._field_type(target.name, field)
            if declared is None:
                self._error(node, f"undefined field '{field}'")
            found = declared or t.ERROR
        else:
            if target.kind == "param":
                self._assign([(t.DYN, target)])
            elif target.kind not in ("dyn", "error"):
                self._error(node, f"type '{target}' does not support field selection")
            found = t.DYN
        return t.optional_of(found) if was_optional or optional else found

    def _call(self, node: Call) -> Type:
        if node.function == "_?._":
            operand, name = node.args
            assert isinstance(name, Literal)
            found = self._selected(node, operand, str(name.value), optional=True)
            self.check(name)
            node.overloads = ("select_optional_field",)
            return self._known(found)
        for arg in node.args:
            self.check(arg)
        if node.target is not None:
            name = qualified_name(node.target)
            full = f"{name}.{node.function}".removeprefix(".") if name is not None else ""
            if full in self._functions:
                node.function, node.target = full, None
            else:
                self.check(node.target)
        overloads = self._functions.get(node.function.removeprefix("."))
        if overloads is None:
            self._error(node, f"undeclared reference to '{node.function}' (in container '')")
            return t.ERROR
        node.function = node.function.removeprefix(".")
        if node.function in ("_&&_", "_||_"):
            return self._logical(node)
        return self._resolve(node, overloads)

    def _logical(self, node: Call) -> Type:
        valid = True
        for arg in node.args:
            found = self.check(arg)
            if not self._assign([(found, t.BOOL)]):
                self._error(arg, f"expected type 'bool' but found '{self._known(found)}'")
                valid = False
        node.overloads = ("logical_and" if node.function == "_&&_" else "logical_or",)
        return t.BOOL if valid else t.ERROR

    def _resolve(self, node: Call, overloads: list[Overload]) -> Type:
        args = [*([node.target] if node.target else []), *node.args]
        given = [self._type(arg) for arg in args]
        fitting: list[str] = []
        result: Type | None = None
        for overload in overloads:
            if overload.member != (node.target is not None) or len(overload.args) != len(given):
                continue
            fresh: Bindings = {name: self._new_variable() for name in sorted(overload.params)}
            wanted = [substitute(fresh, arg, unknown_to_dyn=False) for arg in overload.args]
            if not self._assign(list(zip(given, wanted, strict=True))):
                continue
            fitting.append(overload.id)
            found = self._known(substitute(fresh, overload.result, unknown_to_dyn=False))
            if result is None:
                result = found
            elif result.kind != "dyn" and found != result:
                result = t.DYN
        if result is None:
            shown = [str(substitute(self._bindings, g, unknown_to_dyn=True)) for g in given]
            on = f"{shown.pop(0)}." if node.target is not None else ""
            self._error(node, f"found no matching overload for '{node.function}' applied to '{on}({', '.join(shown)})'")
            return t.ERROR
        node.overloads = tuple(fitting)
        return result

    def _list(self, node: ListExpr) -> Type:
        element: Type | None = None
        for n, item in enumerate(node.elements):
            found = self._entry(item, optional=n in node.optional)
            element = self._joined(element, found)
        return t.list_of(element or self._new_variable())

    def _map(self, node: MapExpr) -> Type:
        key_type: Type | None = None
        value_type: Type | None = None
        for key, value, optional in node.entries:
            key_type = self._joined(key_type, self.check(key))
            value_type = self._joined(value_type, self._entry(value, optional=optional))
        return t.map_of(key_type or self._new_variable(), value_type or self._new_variable())

    def _entry(self, node: Expr, *, optional: bool) -> Type:
        found = self.check(node)
        if not optional:
            return found
        inner, was_optional = t.unwrap_optional(found)
        if not was_optional and inner.kind != "dyn":
            self._mismatch(node, t.optional_of(inner), inner)
        return inner

    def _struct(self, node: StructExpr) -> Type:
        made = self._struct_type(node.name.removeprefix("."))
        if made is None:
            known = TYPE_NAMES.get(node.name)
            if known is None:
                self._error(node, f"undeclared reference to '{node.name}' (in container '')")
            else:
                self._error(node, f"'{known.name}' is not a message type")
            for _, value, _, _ in node.fields:
                self.check(value)
            return t.ERROR
        for name, value, optional, offset in node.fields:
            found, wanted = self._entry(value, optional=optional), self._field_type(made.name, name)
            if wanted is None:
                self.issues.append(Issue(offset, f"undefined field '{name}'"))
            elif not self._assign([(wanted, found)]):
                why = f"expected type of field '{name}' is '{wanted}' but provided type is '{self._known(found)}'"
                self.issues.append(Issue(offset, why))
        return made

    def _fold(self, node: Fold) -> Type:
        over = self._known(self.check(node.range))
        accumulated = self.check(node.initial)
        first, second = self._loop_types(node, over)
        self._scopes.append({node.accumulator: accumulated})
        loop = {node.var: first}
        if node.second is not None:
            loop[node.second] = second
        self._scopes.append(loop)
        self.check(node.condition)
        self._expect(node.condition, t.BOOL)
        self.check(node.step)
        self._expect(node.step, accumulated)
        self._scopes.pop()
        result = self.check(node.result)
        self._scopes.pop()
        return self._known(result)

    def _loop_types(self, node: Fold, over: Type) -> tuple[Type, Type]:
        if over.kind == "list":
            return (t.INT, over.params[0]) if node.second else (over.params[0], t.ERROR)
        if over.kind == "map":
            return over.params[0], over.params[1]
        if over.kind in ("dyn", "error", "param"):
            self._assign([(t.DYN, over)])
            return t.DYN, t.DYN
        self._error(
            node.range,
            f"expression of type '{over}' cannot be range of a comprehension (must be list, map, or dynamic)",
        )
        return t.ERROR, t.ERROR

    def _expect(self, node: Expr, wanted: Type) -> None:
        found = self._type(node)
        if not self._assign([(wanted, found)]):
            self._mismatch(node, wanted, found)

    def _joined(self, previous: Type | None, current: Type) -> Type:
        if previous is None:
            return current
        # Mixtures are refused later (linting.py), and not where they are what is to be formatted.
        return most_general(previous, current) if self._assign([(previous, current)]) else t.DYN

    def _type(self, node: Expr) -> Type:
        assert node.type is not None
        return node.type

    def _known(self, found: Type) -> Type:
        return substitute(self._bindings, found, unknown_to_dyn=False)

    def _assign(self, pairs: list[tuple[Type, Type]]) -> bool:
        after = assignable(self._bindings, pairs)
        if after is None:
            return False
        self._bindings = after
        return True

    def _new_variable(self) -> Type:
        self._fresh += 1
        return t.param(f"_var{self._fresh}")

    def _mismatch(self, node: Expr, expected: Type, found: Type) -> None:
        self._error(node, f"expected type '{expected}' but found '{found}'")

    def _error(self, node: Node, message: str) -> None:
        self.issues.append(Issue(node.offset, message))


def _literal_type(value: object) -> Type:
    for kind, found in _LITERALS:
        if isinstance(value, kind):
            return found
    return t.NULL


_LITERALS: Final[tuple[tuple[type, Type], ...]] = (
    (bool, t.BOOL),
    (Uint, t.UINT),
    (int, t.INT),
    (float, t.DOUBLE),
    (str, t.STRING),
    (bytes, t.BYTES),
)
