"""Scripts by chance, in the language of the corpus: what somebody may do to a few objects, and nobody would think of.

A script is a list of lines, so that what is found can be kept as it is. Names and values come from small sets: it is
when they meet that something happens.
"""

from __future__ import annotations

from typing import Any

import yaml
from hypothesis import assume
from hypothesis import strategies as st

from trimtab.apiserver.custom.schemacheck import check_schema

_MANAGERS = st.sampled_from(("one", "two", "three"))
_SCALARS = st.one_of(st.sampled_from(("a", "b", "", "5")), st.integers(0, 3), st.booleans(), st.none())
_WORDS = st.sampled_from(("a", "b", "c"))
_LEAVES: list[dict[str, Any]] = [
    {"type": "string"},
    {"type": "string", "maxLength": 2},
    {"type": "string", "enum": ["a", "b"]},
    {"type": "string", "default": "a"},
    {"type": "string", "nullable": True},
    {"type": "string", "nullable": True, "default": "b"},
    {"type": "integer"},
    {"type": "integer", "minimum": 1, "default": 2},
    {"type": "boolean"},
    {"type": "number"},
    {"x-kubernetes-int-or-string": True},
    {"x-kubernetes-preserve-unknown-fields": True},
    {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True},
]
_RULES = ("self == oldSelf", "has(self.a)", "!has(self.b) || self.b == oldSelf.b", "size(self) < 3")


def _object(fields: Any) -> dict[str, Any]:
    return {"type": "object", "properties": fields}


def _keyed(item: Any) -> dict[str, Any]:
    properties = {**item.get("properties", {}), "k": {"type": "string"}}
    return {
        "type": "array",
        "items": {"type": "object", "properties": properties, "required": ["k"]},
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"],
    }


def _nested(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    objects = st.dictionaries(_WORDS, inner, min_size=1, max_size=3).map(_object)
    return st.one_of(
        objects,
        objects.map(_keyed),
        st.builds(lambda o, r: {**o, "x-kubernetes-validations": [{"rule": r}]}, objects, st.sampled_from(_RULES[:3])),
        st.builds(lambda o, n: {**o, "required": [n]}, objects, _WORDS),
        st.builds(lambda o: {**o, "default": {}}, objects),
        objects.map(lambda o: {**o, "x-kubernetes-map-type": "atomic"}),
        objects.map(lambda o: {**o, "x-kubernetes-preserve-unknown-fields": True}),
        inner.map(lambda i: {"type": "object", "additionalProperties": i}),
        inner.map(lambda i: {"type": "array", "items": i}),
        st.just({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}),
    )


SCHEMAS = st.dictionaries(
    _WORDS, st.recursive(st.sampled_from(_LEAVES), _nested, max_leaves=4), min_size=1, max_size=3
).map(_object)
"""Schemas of a spec."""


def values(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """What may be written where a schema stands: most of it fits."""
    fits: st.SearchStrategy[Any]
    match schema.get("type"):
        case "object":
            fields = {name: values(field) for name, field in schema.get("properties", {}).items()}
            rest = schema.get("additionalProperties")
            if fields:
                fits = st.fixed_dictionaries({}, optional=fields)
            else:
                fits = st.dictionaries(_WORDS, values(rest) if rest else _SCALARS, max_size=2)
            if schema.get("x-kubernetes-preserve-unknown-fields"):
                fits = st.builds(
                    lambda known, more: {**more, **known}, fits, st.dictionaries(_WORDS, _SCALARS, max_size=1)
                )
        case "array":
            fits = st.lists(values(schema["items"]), max_size=3)
        case "string":
            fits = st.sampled_from(("a", "b", "abc", ""))
        case "integer":
            fits = st.integers(0, 3)
        case "number":
            fits = st.sampled_from((0, 1, 1.5, 2.0))
        case "boolean":
            fits = st.booleans()
        case _:
            fits = st.one_of(_SCALARS, st.dictionaries(_WORDS, _SCALARS, max_size=2))
    return st.one_of(fits, fits, fits, fits, fits, _SCALARS)


def flow(value: Any) -> str:
    """YAML in one line."""
    return yaml.safe_dump(value, default_flow_style=True, width=10**6, allow_unicode=True).strip().removesuffix("\n...")


_METADATA = st.one_of(
    st.just({}),
    st.just({}),
    st.fixed_dictionaries(
        {},
        optional={
            "labels": st.dictionaries(st.sampled_from(("l", "m")), st.one_of(_WORDS, st.none()), max_size=2),
            "annotations": st.dictionaries(st.sampled_from(("n", "o")), _WORDS, max_size=1),
            "finalizers": st.sampled_from(([], ["e.x/a"], ["e.x/a", "e.x/b"])),
            "resourceVersion": st.sampled_from(("", "1")),
            "generation": st.just(7),
            "ownerReferences": st.sampled_from(
                (
                    [],
                    [{"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "u"}],
                    [{"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "u"}] * 2,
                )
            ),
            "managedFields": st.sampled_from(([], [{}], None)),
        },
    ),
)


@st.composite
def writes(draw: st.DrawFn, path: str, template: str, contents: st.SearchStrategy[Any], subs: tuple[str, ...]) -> str:
    """One request about an object."""
    name = draw(st.sampled_from(("a", "a", "a", "b")))
    sub = draw(st.sampled_from(("", "", "", "", *subs)))
    at = f"{path}/{name}{sub}"
    content = draw(contents)
    metadata = draw(_METADATA)
    over = {**content, **({"metadata": {"name": name, **metadata}} if metadata else {})}
    query = draw(st.sampled_from(("", "", "", "&dryRun=All", "&fieldValidation=Strict", "&fieldValidation=Ignore")))
    manager = draw(_MANAGERS)
    verb = draw(
        st.sampled_from(("POST", "PUT", "merge", "json", "strategic", "apply", "apply", "apply", "GET", "DELETE"))
    )
    match verb:
        case "POST":
            return f"POST {path}?fieldManager={manager}{query} {template} {name} {flow(over)}"
        case "PUT":
            known = draw(st.booleans())
            if known and not metadata:
                over = {**over, "metadata": {"name": name, "resourceVersion": "$0.metadata.resourceVersion"}}
            return f"PUT {at}?fieldManager={manager}{query} {template} {name} {flow(over)}"
        case "merge" | "strategic":
            patch = {**content, **({"metadata": metadata} if metadata else {})}
            return f"PATCH {at}?fieldManager={manager}{query} {flow(patch)} @{verb}"
        case "json":
            key = draw(st.sampled_from((*content, "spec", "data", "metadata/labels"))) if content else "data"
            operation = draw(st.sampled_from(("add", "replace", "remove", "test")))
            value = content.get(key, {"l": "x"})
            patch = [{"op": operation, "path": f"/{key}", "value": value}]
            return f"PATCH {at}?fieldManager={manager}{query} {flow(patch)} @json"
        case "apply":
            force = draw(st.sampled_from(("", "", "&force=true")))
            return f"PATCH {at}?fieldManager={manager}{force}{query} {template} {name} {flow(over)} @apply"
        case "DELETE":
            return f"DELETE {path}/{name}?{query.removeprefix('&') if 'dryRun' in query else ''}".rstrip("?")
        case _:
            return draw(
                st.sampled_from(
                    (f"GET {path}/{name}", f"GET {path}?labelSelector=l%3Da", f"GET {path}?labelSelector=l,m!%3Db")
                )
            )


_CONFIG_MAPS = st.fixed_dictionaries(
    {},
    optional={"data": st.one_of(st.dictionaries(_WORDS, _SCALARS, max_size=3), _SCALARS), "immutable": st.booleans()},
)


@st.composite
def scripts(draw: st.DrawFn) -> list[str]:
    """A few requests about objects of one kind."""
    if draw(st.booleans()):
        begin = [f"POST cms cm a {flow(draw(_CONFIG_MAPS))}"]
        return begin + draw(st.lists(writes("cms", "cm", _CONFIG_MAPS, ()), min_size=2, max_size=7))
    spec = draw(SCHEMAS)
    has_status = draw(st.booleans())
    schema = _object({"spec": spec, "status": _object({"r": {"type": "integer"}, "m": {"type": "string"}})})
    assume(not check_schema(schema, "", has_status=has_status))  # a definition that is refused is waited for in vain
    version: dict[str, Any] = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    if has_status:
        version["subresources"] = {"status": {}}
    begin = [
        f"POST crds crd things.$NS.example.com {flow({'spec': {'versions': [version]}})}",
        'GET things @until="ThingList"',
        "POST things thing a",
    ]
    contents = st.fixed_dictionaries(
        {}, optional={"spec": values(spec), "status": st.fixed_dictionaries({}, optional={"r": st.integers(0, 2)})}
    )
    subs = ("/status",) if has_status else ()
    steps = draw(st.lists(writes("things", "thing", contents, subs), min_size=2, max_size=6))
    return [*begin, *(step.replace("$0.", "$2.") for step in steps)]
