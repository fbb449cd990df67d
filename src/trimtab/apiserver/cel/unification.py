"""Whether one type can stand where another is expected, and what that says of the types not yet known."""

from __future__ import annotations

from typing import TypeAlias

from trimtab.apiserver.cel.types import DYN, Type

Bindings: TypeAlias = dict[str, Type]
"""What the type parameters met so far stand for."""

_NULLABLE = frozenset({"opaque", "struct", "duration", "timestamp"})


def assignable(bindings: Bindings, pairs: list[tuple[Type, Type]]) -> Bindings | None:
    """The bindings after unifying every pair, or None where that is impossible."""
    attempt = dict(bindings)
    return attempt if all(_assignable(attempt, a, b) for a, b in pairs) else None


def substitute(bindings: Bindings, t: Type, *, unknown_to_dyn: bool) -> Type:
    """Replace the parameters in a type by what they stand for."""
    while t.kind == "param":
        bound = bindings.get(t.name)
        if bound is None:
            return DYN if unknown_to_dyn else t
        t = bound
    if not t.params:
        return t
    params = tuple(substitute(bindings, p, unknown_to_dyn=unknown_to_dyn) for p in t.params)
    return t if params == t.params else Type(t.kind, t.name, params)


def most_general(a: Type, b: Type) -> Type:
    """The less specific of two types that unify."""
    return a if _less_specific(a, b) else b


def _less_specific(a: Type, b: Type) -> bool:
    if a.kind in ("dyn", "param"):
        return True
    if b.kind in ("dyn", "param"):
        return False
    if a.kind != b.kind:
        return False
    if a.kind in ("opaque", "list", "map"):
        return (
            a.name == b.name
            and len(a.params) == len(b.params)
            and all(_less_specific(x, y) for x, y in zip(a.params, b.params, strict=True))
        )
    return a.kind == "type" or a == b


def _assignable(bindings: Bindings, a: Type, b: Type) -> bool:
    if b.kind == "param":
        valid, bound = _bind(bindings, a, b)
        if valid or bound:
            return valid
    if a.kind == "param":
        return _bind(bindings, b, a)[0]
    if a.kind in ("dyn", "error") or b.kind in ("dyn", "error"):
        return True
    if a.kind == "null" or b.kind == "null":
        other = b if a.kind == "null" else a
        return other.kind == "null" or other.kind in _NULLABLE
    if a.kind in ("opaque", "list", "map"):
        return (
            a.kind == b.kind
            and a.name == b.name
            and len(a.params) == len(b.params)
            and all(_assignable(bindings, x, y) for x, y in zip(a.params, b.params, strict=True))
        )
    if a.kind == "type":
        return b.kind == "type"
    return a == b


def _bind(bindings: Bindings, t: Type, unknown: Type) -> tuple[bool, bool]:
    """Let a parameter stand for a type: whether it can, and whether it stood for something before."""
    if t == unknown:
        return True, True
    bound = bindings.get(unknown.name)
    if bound is None:
        if not _occurs(bindings, unknown, t):
            bindings[unknown.name] = t
            return True, False
        return False, False
    if t == bound:
        return True, True
    if _assignable(bindings, t, bound):
        general = most_general(t, bound)
        if not _occurs(bindings, unknown, general):
            bindings[unknown.name] = general
        return True, True
    return False, True


def _occurs(bindings: Bindings, unknown: Type, within: Type) -> bool:
    if within == unknown:
        return True
    if within.kind == "param":
        bound = bindings.get(within.name)
        return bound is not None and _occurs(bindings, unknown, bound)
    return any(_occurs(bindings, unknown, p) for p in within.params)
