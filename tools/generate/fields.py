"""The text of a class's field: its name, its type with what marks it, its default."""

from __future__ import annotations

from typing import Any

from names import camel, python_name
from nesting import Nesting
from schemas import BUILT_IN, home_of, python_type, reference

# OpenAPI cannot tell a string that may be absent from one that is never looked at as absent. These are the ones that
# everybody reads, and for which Kubernetes itself takes "" for absent.
EMPTY_WHEN_ABSENT = {
    "ObjectMeta": {"name", "generateName", "namespace", "uid", "resourceVersion"},
    "ListMeta": {"resourceVersion", "continue"},
    "ObjectReference": {"apiVersion", "kind", "name", "namespace", "uid", "resourceVersion", "fieldPath"},
}
ZERO_WHEN_ABSENT = {"ObjectMeta": {"generation"}}

FACTORY = "default_factory="


def field_text(owner: str, name: str, prop: dict[str, Any], nesting: Nesting, *, required: bool) -> str:
    """The line for a property of the schema `owner`."""
    python = python_name(name)
    hint, default = _hint_and_default(owner, name, prop, nesting, required=required)
    renamed = "" if camel(python) == name else f"name={name!r}"
    if renamed or default.startswith(FACTORY):
        named = default if default.startswith(FACTORY) or not default else f"default={default}"
        default = f"field({', '.join(filter(None, [named, renamed]))})"
    hint = _marked(hint, prop)
    return f"{python}: {hint} = {default}" if default else f"{python}: {hint}"


def _hint_and_default(
    owner: str, name: str, prop: dict[str, Any], nesting: Nesting, *, required: bool
) -> tuple[str, str]:
    """The type, and the text of the default: none where the field has to be given."""
    package, version, cls = home_of(owner)
    hint, target = python_type(prop, (package, version)), reference(prop)
    if target and target not in BUILT_IN and prop.get("default") == {}:
        return {"made": (hint, FACTORY + hint), "given": (hint, ""), "none": (f"{hint} | None", "None")}[
            nesting.of(owner, name, prop)
        ]
    if required and not nesting.zeroed(owner):
        return hint, ""
    if hint == "Any":
        return hint, "UNSET"  # null is a value of its own here
    if hint.startswith("list["):
        return hint, "[]"
    if hint.startswith("dict["):
        return hint, "{}"
    zero = prop.get("default")
    if _is_zero(zero):
        return hint, repr(zero)
    if name in EMPTY_WHEN_ABSENT.get(cls, ()):
        return hint, "''"
    if hint == "int" and (cls.endswith("Status") or name in ZERO_WHEN_ABSENT.get(cls, ())):
        return hint, "0"  # a count that the server leaves out is none
    return f"{hint} | None", "None"


def _marked(hint: str, prop: dict[str, Any]) -> str:
    """The hint with what appliers, patches and readers of defaults have to know."""
    marks: list[str] = []
    value = prop.get("default")
    if value is not None and value != {} and not _is_zero(value):
        marks.append(f"Default({value!r})")
    match prop.get("x-kubernetes-list-type") or prop.get("x-kubernetes-map-type"):
        case "map":
            marks.append(f"ListMap({', '.join(map(repr, prop['x-kubernetes-list-map-keys']))})")
        case "set":
            marks.append("SET")
        case "atomic" if not hint.startswith("list["):
            marks.append("ATOMIC")
        case _:
            pass  # a list is atomic where nothing else is said
    if strategy := prop.get("x-kubernetes-patch-strategy"):
        key = prop.get("x-kubernetes-patch-merge-key")
        marks.append(f"Strategic({strategy!r}, {key!r})" if key else f"Strategic({strategy!r})")
    return f"Annotated[{hint}, {', '.join(marks)}]" if marks else hint


def _is_zero(value: Any) -> bool:
    return value in ("", 0, False)
