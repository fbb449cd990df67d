"""What is wrong with an expression although its types fit: literals that can never work, lists of mixed types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from trimtab.apiserver.cel.errors import Issue, compile_error
from trimtab.apiserver.cel.library.formatting import FormatError, expand, misfit
from trimtab.apiserver.cel.regexes import PatternError, compile_pattern
from trimtab.apiserver.cel.syntax import Call, Expr, ListExpr, Literal, MapExpr, children
from trimtab.apiserver.cel.times import parse_duration, parse_timestamp
from trimtab.apiserver.cel.types import Type, unwrap_optional

if TYPE_CHECKING:
    from collections.abc import Iterator


def lint(source: str, tree: Expr) -> None:
    """Raise CompileError for what can be told to be wrong without evaluating."""
    nodes = list(_walk(tree))
    issues = [issue for node, _ in nodes for issue in _literals(node)]
    for node, formatted in nodes:
        if not formatted:
            issues.extend(_mixtures(node))
    issues.extend(issue for node, _ in nodes for issue in _formats(node))
    if issues:
        raise compile_error(source, issues)


def _walk(tree: Expr) -> Iterator[tuple[Expr, bool]]:
    """All nodes once, and whether they are inside a call of `format`."""
    stack = [(tree, False)]
    seen: set[int] = set()
    while stack:
        node, formatted = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        yield node, formatted
        inside = formatted or (isinstance(node, Call) and node.function == "format")
        stack.extend((child, inside) for child in reversed(children(node)))


def _literals(node: Expr) -> list[Issue]:
    if not isinstance(node, Call) or node.function not in ("duration", "timestamp", "matches"):
        return []
    text = node.args[-1] if node.args else None
    if not isinstance(text, Literal) or not isinstance(text.value, str):
        return []
    if node.function == "matches":
        try:
            compile_pattern(text.value)
        except PatternError:
            return [Issue(text.offset, "invalid matches argument")]
        return []
    parse = parse_duration if node.function == "duration" else parse_timestamp
    return [] if parse(text.value) else [Issue(text.offset, f"invalid {node.function} argument")]


def _mixtures(node: Expr) -> list[Issue]:
    if isinstance(node, ListExpr):
        return _mixed([(item, n in node.optional) for n, item in enumerate(node.elements)])
    if isinstance(node, MapExpr):
        keys = _mixed([(key, False) for key, _, _ in node.entries])
        return keys + _mixed([(value, optional) for _, value, optional in node.entries])
    return []


def _mixed(parts: list[tuple[Expr, bool]]) -> list[Issue]:
    first: Type | None = None
    for node, optional in parts:
        assert node.type is not None
        found = unwrap_optional(node.type)[0] if optional else node.type
        if first is None:
            first = found
        elif found != first:
            return [Issue(node.offset, f"expected type '{first}' but found '{found}'")]
    return []


class _MisfitError(FormatError):
    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.offset = offset


class _Types:
    """Checks the clauses of a format string against the types of what it is given."""

    def __init__(self, args: list[Expr]) -> None:
        self._args = args

    def has(self, index: int) -> bool:
        return index < len(self._args)

    def clause(self, letter: str, precision: int | None, index: int) -> str:  # noqa: ARG002 - the protocol's
        node = self._args[index]
        bad = _misfit(node, _FITTING[letter], deep=letter == "s")
        if bad is not None:
            assert bad.type is not None
            raise _MisfitError(f"error during formatting: {misfit(letter, bad.type.name)}", bad.offset)
        return ""


_FITTING: Final = {
    "s": frozenset(
        {"list", "map", "int", "uint", "double", "bool", "string", "timestamp", "bytes", "duration", "type", "null"}
    ),
    "d": frozenset({"int", "uint"}),
    "f": frozenset({"double", "string"}),
    "e": frozenset({"double", "string"}),
    "b": frozenset({"int", "uint", "bool"}),
    "x": frozenset({"int", "uint", "string", "bytes"}),
    "X": frozenset({"int", "uint", "string", "bytes"}),
    "o": frozenset({"int", "uint"}),
}


def _misfit(node: Expr, kinds: frozenset[str], *, deep: bool) -> Expr | None:
    assert node.type is not None
    if node.type.kind != "dyn" and node.type.kind not in kinds:
        return node
    if deep and isinstance(node, (ListExpr, MapExpr)):
        return next((bad for child in children(node) if (bad := _misfit(child, kinds, deep=True)) is not None), None)
    return None


def _formats(node: Expr) -> list[Issue]:
    if not isinstance(node, Call) or node.function != "format" or not isinstance(node.target, Literal):
        return []
    if not node.args or not isinstance(node.args[0], ListExpr):
        return []
    args = node.args[0].elements
    try:
        _, wanted = expand(str(node.target.value), _Types(args))
    except FormatError as error:
        return [Issue(error.offset if isinstance(error, _MisfitError) else node.offset, str(error))]
    if len(args) > wanted:
        problem = f"too many arguments supplied to string.format (expected {wanted}, got {len(args)})"
        return [Issue(node.offset, problem)]
    return []
