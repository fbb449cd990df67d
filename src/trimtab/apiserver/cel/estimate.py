"""What an expression can cost at worst, told from its types and the sizes that schemas allow, before it ever runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from trimtab.apiserver.cel import callcosts
from trimtab.apiserver.cel.bounds import CONSTANT, UNKNOWN, Bounds, fixed
from trimtab.apiserver.cel.macros import ACCUMULATOR
from trimtab.apiserver.cel.runtimecosts import NEW_LIST, NEW_MAP, NEW_STRUCT
from trimtab.apiserver.cel.syntax import Call, Expr, Fold, Ident, ListExpr, Literal, MapExpr, Select, StructExpr
from trimtab.apiserver.cel.types import SCALARS, Type, unwrap_optional

if TYPE_CHECKING:
    from trimtab.apiserver.cel.declared import Declared

Path: TypeAlias = tuple[str, ...]

_ONE: Final = fixed(1)


@dataclass(slots=True)
class _Entries:
    """The sizes of what a list or map holds."""

    container: str
    key: Bounds
    value: Bounds

    def union(self, other: _Entries) -> _Entries:
        return _Entries(self.container, self.key.union(other.key), self.value.union(other.value))


@dataclass(slots=True)
class _Local:
    path: Path
    size: Bounds | None
    entries: _Entries | None


def estimate(tree: Expr, root: Declared | None) -> Bounds:
    """The least and the most that evaluating the tree costs; `root` says how large `self` and what is in it can be."""
    return _Estimator(root).cost(tree)


class _Estimator:
    def __init__(self, root: Declared | None) -> None:
        self._root = root
        self._paths: dict[int, Path] = {}
        self._sizes: dict[int, Bounds] = {}
        self._entries: dict[int, _Entries] = {}
        self._locals: dict[str, list[_Local]] = {}
        self._known: dict[int, Bounds] = {}
        self._kinds: dict[type, Callable[..., Bounds]] = {
            Ident: self._ident,
            Select: self._select,
            Call: self._call,
            ListExpr: self._list,
            MapExpr: self._map,
            StructExpr: self._struct,
            Fold: self._fold,
        }

    def cost(self, node: Expr) -> Bounds:
        known = self._known.get(id(node))
        if known is None:
            known = self._known[id(node)] = CONSTANT if isinstance(node, Literal) else self._kinds[type(node)](node)
        return known

    def _ident(self, node: Ident) -> Bounds:
        local = self._local(node.name)
        self._paths[id(node)] = local.path if local else (node.name,)
        return _ONE

    def _select(self, node: Select) -> Bounds:
        if node.constant is not None:
            self._paths[id(node)] = (node.field,)
            return _ONE
        total = self.cost(node.operand)
        if node.test:
            return total
        assert node.operand.type is not None
        if node.operand.type.kind in ("map", "struct", "param"):
            total = total + _ONE
        self._paths[id(node)] = (*self._path(node.operand), node.field)
        return total

    def _call(self, node: Call) -> Bounds:
        if node.function == "dyn":
            total = _ONE + self.cost(node.args[0])
            self._copy(node, node.args[0])
            return total
        arguments = [self.cost(arg) for arg in node.args]
        total = self.cost(node.target) if node.target else CONSTANT
        least, result = None, None
        for overload in node.overloads:
            cost, size = self._overload(node, overload, arguments)
            least = cost if least is None else least.union(cost)
            if size is not None:
                result = size if result is None else result.union(size)
            self._index(node, overload)
        self._result_of_index(node)
        if result is not None and id(node) not in self._sizes:
            self._sizes[id(node)] = result
        return total + (least or CONSTANT)

    def _overload(self, node: Call, overload: str, arguments: list[Bounds]) -> tuple[Bounds, Bounds | None]:
        total = CONSTANT
        for argument in arguments:
            total = total + argument
        sized = callcosts.Arguments(self, node)
        known = callcosts.kubernetes(node.function, overload, sized) or callcosts.extension(overload, sized)
        if known is not None:
            return known[0] + total, known[1]
        match overload:
            case "logical_and" | "logical_or":
                return Bounds(arguments[0].least, total.most), None
            case "conditional":
                _, yes, no = node.args
                entries = (self.entries(yes), self.entries(no))
                if entries[0] and entries[1]:
                    self._entries[id(node)] = entries[0].union(entries[1])
                return arguments[0] + arguments[1].union(arguments[2]), self.size(yes).union(self.size(no))
            case "add_list" | "add_string" | "add_bytes":
                left, right = node.args
                merged = (self.entries(left), self.entries(right))
                if merged[0] and merged[1]:
                    self._entries[id(node)] = merged[0].union(merged[1])
                size = self.size(left) + self.size(right)
                return (_ONE if overload == "add_list" else size.scaled(0.1)) + total, size
            case _:
                cost, size = callcosts.standard(overload, sized)
                return cost + total, size

    def _index(self, node: Call, overload: str) -> None:
        if overload == "index_list" and node.args:
            self._paths[id(node)] = (*self._path(node.args[0]), "@items")
        elif overload == "index_map" and node.args:
            self._paths[id(node)] = (*self._path(node.args[0]), "@values")

    def _result_of_index(self, node: Call) -> None:
        if node.overloads and node.overloads[-1] in ("index_list", "index_map"):
            entries = self.entries(node.args[0])
            if entries is not None:
                self._sizes[id(node)] = entries.value

    def _list(self, node: ListExpr) -> Bounds:
        total, size = fixed(NEW_LIST), None
        for element in node.elements:
            total = total + self.cost(element)
            size = self.size(element) if size is None else size.union(self.size(element))
        self._entries[id(node)] = _Entries("list", _ONE, size or CONSTANT)
        return total

    def _map(self, node: MapExpr) -> Bounds:
        total, key_size, value_size = fixed(NEW_MAP), None, None
        for key, value, _ in node.entries:
            total = total + self.cost(key) + self.cost(value)
            key_size = self.size(key) if key_size is None else key_size.union(self.size(key))
            value_size = self.size(value) if value_size is None else value_size.union(self.size(value))
        self._entries[id(node)] = _Entries("map", key_size or CONSTANT, value_size or CONSTANT)
        return total

    def _struct(self, node: StructExpr) -> Bounds:
        total = fixed(NEW_STRUCT)
        for _, value, _, _ in node.fields:
            total = total + self.cost(value)
        return total

    def _fold(self, node: Fold) -> Bounds:
        if node.accumulator != ACCUMULATOR and isinstance(node.condition, Literal) and node.condition.value is False:
            return self._bound(node)
        total = self.cost(node.range) + self.cost(node.initial)
        self._push(node.accumulator, node.initial)
        variables = self._loop_variables(node)
        for name, local in variables:
            self._locals.setdefault(name, []).append(local)
        condition, step = self.cost(node.condition), self.cost(node.step)
        for name, _ in variables:
            self._locals[name].pop()
        total = total + self.cost(node.result)
        self._locals[node.accumulator].pop()
        count = self.size(node.range)
        self._fold_size(node, count)
        return total + count.times(condition + step)

    def _fold_size(self, node: Fold, count: Bounds) -> None:
        if isinstance(node.initial, Literal):
            self._sizes[id(node)] = self.size(node.initial)
        elif isinstance(node.initial, (ListExpr, MapExpr)):
            self._sizes[id(node)] = count
            entries = self.entries(node.step)
            if entries is not None:
                self._entries[id(node)] = entries

    def _bound(self, node: Fold) -> Bounds:
        total = self.cost(node.range) + self.cost(node.initial)
        self._push(node.accumulator, node.initial)
        total = total + self.cost(node.result)
        self._locals[node.accumulator].pop()
        self._copy(node, node.result)
        return total

    def _loop_variables(self, node: Fold) -> list[tuple[str, _Local]]:
        entries = self.entries(node.range)
        assert node.range.type is not None
        container = entries.container if entries else node.range.type.kind
        path = self._path(node.range)
        is_list = container == "list"
        items = _Local((*path, "@items" if is_list else "@values"), entries.value if entries else None, None)
        indices = _Local((*path, "@indices" if is_list else "@keys"), entries.key if entries else None, None)
        if node.second is not None:
            return [(node.var, indices), (node.second, items)]
        return [(node.var, items if is_list else indices)]

    def size(self, node: Expr) -> Bounds:
        """How large a value can be; 0 to unlimited where that is not known."""
        return self.known_size(node) or UNKNOWN

    def known_size(self, node: Expr) -> Bounds | None:
        """How large a value can be, where something says so."""
        known = self._sizes.get(id(node)) or _literal_size(node)
        if known is None:
            assert node.type is not None
            known = self._declared_size(self._path(node))
            if known is None and _is_scalar(node.type):
                known = _ONE
        if known is None and isinstance(node, Ident) and (local := self._local(node.name)) is not None:
            known = local.size
        return known

    def element_size(self, node: Expr) -> Bounds:
        """How large the elements of a list can be."""
        path = self._path(node)
        usable = path and path[0] != ACCUMULATOR
        return (self._declared_size((*path, "@items")) if usable else None) or UNKNOWN

    def entries(self, node: Expr) -> _Entries | None:
        known = self._entries.get(id(node))
        if known is None and isinstance(node, Ident) and (local := self._local(node.name)) is not None:
            return local.entries
        return known

    def _declared_size(self, path: Path) -> Bounds | None:
        """The first of a path is not looked at: kube-apiserver takes every variable for `self`."""
        declared = self._root if path else None
        for name in path[1:]:
            if declared is None:
                return None
            if name in ("@items", "@values"):
                declared = declared.element
            elif name == "@keys":
                return Bounds(0, 0) if declared.shape == "map" else None
            else:
                declared = declared.fields.get(name)
        return Bounds(0, declared.most) if declared is not None else None

    def _path(self, node: Expr) -> Path:
        if isinstance(node, Ident) and (local := self._local(node.name)) is not None:
            return local.path
        return self._paths.get(id(node), ())

    def _local(self, name: str) -> _Local | None:
        stack = self._locals.get(name)
        return stack[-1] if stack else None

    def _push(self, name: str, value: Expr) -> None:
        local = _Local(self._path(value), self.known_size(value), self.entries(value))
        self._locals.setdefault(name, []).append(local)

    def _copy(self, node: Expr, source: Expr) -> None:
        size, entries = self.known_size(source), self.entries(source)
        if size is not None:
            self._sizes[id(node)] = size
        if entries is not None:
            self._entries[id(node)] = entries


def _literal_size(node: Expr) -> Bounds | None:
    if isinstance(node, Literal):
        return fixed(len(node.value)) if isinstance(node.value, (str, bytes)) else _ONE
    if isinstance(node, ListExpr):
        return fixed(len(node.elements))
    return fixed(len(node.entries)) if isinstance(node, MapExpr) else None


def _is_scalar(found: Type) -> bool:
    inner, _ = unwrap_optional(found)
    return inner.kind in SCALARS
