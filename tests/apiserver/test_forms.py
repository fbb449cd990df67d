"""What comes back, in other forms than JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.apiserver.facts import Facts, Schema, kubernetes
from trimtab.apiserver.facts.fields import GoField, fields_of
from trimtab.apiserver.messages import PROTOBUF, Request, Response, Streaming
from trimtab.apiserver.negotiation import form_of
from trimtab.apiserver.protobuf.decoding import has_any_key, read_protobuf
from trimtab.apiserver.protobuf.encoding import to_protobuf
from trimtab.apiserver.selectorwords import field_fault, label_fault
from trimtab.apiserver.server import ADMIN, Server
from trimtab.apiserver.statuses import Refused
from trimtab.apiserver.yamltext import to_yaml
from trimtab.kube.fieldselectors import FieldSelector
from trimtab.kube.invalid import InvalidValueError
from trimtab.kube.selectors import Selector

Json = dict[str, Any]
FACTS: Facts = kubernetes()
KINDS = sorted(
    (group.name, version, facts.kind)
    for group in (*FACTS.groups, msgspec.structs.replace(FACTS.groups[0], name="", versions=("v1",)))
    for version in group.versions
    for facts in FACTS.resources(group.name, version).values()
    if (schema := FACTS.schema(group.name, version, facts.kind)) is not None and fields_of(schema.name)
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
A_SCHEMA = st.sampled_from([{"type": "string"}, {"properties": {"a": {"default": 1, "additionalProperties": False}}}])
SPECIAL: dict[str, st.SearchStrategy[Any]] = {
    "Time": st.datetimes().map(lambda each: each.strftime("%Y-%m-%dT%H:%M:%SZ").rjust(20, "0")),
    "MicroTime": st.datetimes().map(lambda each: each.strftime("%Y-%m-%dT%H:%M:%S.%fZ").rjust(27, "0")),
    "Quantity": st.sampled_from(["1", "100m", "1Gi"]),
    "IntOrString": st.integers(-(2**31), 2**31 - 1) | TEXTS,
    "FieldsV1": st.just({"f:a": {".": {}}}),
    "RawExtension": st.just({"kind": "X", "a": [1, None]}),
    "JSON": st.sampled_from([{"a": [1, None]}, "x", 0, False]),
    "JSONSchemaPropsOrBool": A_SCHEMA | st.booleans(),
    "JSONSchemaPropsOrArray": A_SCHEMA | st.lists(A_SCHEMA, min_size=1),
    "JSONSchemaPropsOrStringArray": A_SCHEMA | st.lists(TEXTS, min_size=1),
}


def values(schema: Schema, depth: int = 0) -> st.SearchStrategy[Any]:
    """What may be where a schema is; nothing that protobuf cannot tell from what is not there."""
    special = SPECIAL.get(schema.name.rpartition(".")[2])
    if special is not None:
        return special
    match schema.type:
        case "array":
            return st.lists(values(schema.items, depth + 1), min_size=1, max_size=2)
        case "boolean":
            return st.booleans()
        case "integer":
            return st.integers(-(2**31), 2**31 - 1)
        case "number":
            return st.floats(allow_nan=False, allow_infinity=False)
        case "string" if schema.format == "byte":
            return st.just("AAEC")
        case "string":
            return TEXTS
        case _ if schema.values is not None and has_any_key(schema):
            return st.dictionaries(TEXTS, values(schema.values, depth + 1), min_size=1, max_size=2)
        case _:
            return structs(schema, depth)


def structs(schema: Schema, depth: int) -> st.SearchStrategy[Any]:
    if depth > 6:
        return st.just({})
    known = {
        each.name: field_values(schema.fields[each.name], each, depth + 1)
        for each in fields_in_json(schema.name)
        if each.number and each.name in schema.fields
    }
    few = 2 if depth else 4
    return st.lists(st.sampled_from(sorted(known)), max_size=few, unique=True).flatmap(
        lambda names: st.fixed_dictionaries({name: known[name] for name in names})
    ) if known else st.just({})  # fmt: skip


def fields_in_json(definition: str) -> Iterator[GoField]:
    for field in fields_of(definition):
        if field.inline:
            yield from fields_in_json(f"{definition.rpartition('.')[0]}.{field.name}")
        else:
            yield field


def field_values(schema: Schema, field: GoField, depth: int) -> st.SearchStrategy[Any]:
    any_ = st.deferred(lambda: values(schema, depth))
    return any_.filter(lambda value: value or isinstance(value, dict)) if field.drops_zero else any_


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_what_is_told_in_protobuf_is_what_was_told_in_json(data: st.DataObject) -> None:
    group, version, kind = data.draw(st.sampled_from(KINDS))
    schema = FACTS.schema(group, version, kind)
    assert schema is not None
    obj = data.draw(structs(schema, 0))
    whole = {"apiVersion": f"{group}/{version}" if group else version, "kind": kind, **obj}
    assert read_protobuf(to_protobuf(msgspec.json.encode(whole)), FACTS) == whole


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_a_definition_is_told_in_protobuf_with_all_that_schemas_may_be(data: st.DataObject) -> None:
    schema = FACTS.schema("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
    assert schema is not None
    inner = schema.fields["spec"].fields["versions"].items.fields["schema"].fields["openAPIV3Schema"]
    told = data.draw(structs(inner, 3))
    spec = {"group": "g", "versions": [{"name": "v1", "served": True, "schema": {"openAPIV3Schema": told}}]}
    whole = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": spec}
    assert read_protobuf(to_protobuf(msgspec.json.encode(whole)), FACTS) == whole


async def ask(server: Server, path: str, accept: str, **given: Any) -> Any:
    path, _, query = path.partition("?")
    body = json.dumps(given["body"]).encode() if "body" in given else b""
    headers = {"accept": accept, "content-type": "application/json", **given.get("headers", {})}
    return await server.handle(Request(given.get("method", "GET"), path, query, headers, body, ADMIN))


async def test_objects_lists_metadata_watches_and_refusals_are_told_in_protobuf() -> None:
    server = Server()
    for name in ("a", "b"):
        obj = {"metadata": {"name": name}, "data": {"k": "v"}}
        answer = await ask(server, "/api/v1/namespaces/default/configmaps", PROTOBUF, method="POST", body=obj)
        assert (answer.status, read_protobuf(answer.body, FACTS)["data"]) == (201, {"k": "v"})
    listed = await ask(server, "/api/v1/namespaces/default/configmaps", f"{PROTOBUF},application/json")
    assert listed.content_type == PROTOBUF
    plain = await ask(server, "/api/v1/namespaces/default/configmaps", "")
    assert read_protobuf(listed.body, FACTS) == json.loads(plain.body)
    missing = await ask(server, "/api/v1/namespaces/default/configmaps/none", PROTOBUF)
    assert (missing.status, read_protobuf(missing.body, FACTS)["reason"]) == (404, "NotFound")
    partial = f"{PROTOBUF};as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
    named = await ask(server, "/api/v1/namespaces/default/configmaps/a", partial)
    assert b"meta.k8s.io/v1" in named.body
    assert b"\x0a\x01a" in named.body
    watch = await ask(server, "/api/v1/namespaces/default/configmaps?watch=1&resourceVersion=0", PROTOBUF)
    assert isinstance(watch, Streaming)
    assert watch.content_type == f"{PROTOBUF};stream=watch"
    chunk = await watch.source.read()
    watch.source.close()
    events: list[bytes] = []
    while chunk:
        size = int.from_bytes(chunk[:4], "big")
        events.append(chunk[4 : 4 + size])
        chunk = chunk[4 + size :]
    assert [each[:7] for each in events] == [b"\x0a\x05ADDED"] * 2
    assert [read_protobuf(each[each.index(b"k8s\0") :], FACTS)["metadata"]["name"] for each in events] == ["a", "b"]


async def test_discovery_is_told_in_protobuf_and_by_its_tag() -> None:
    server = Server()
    for path in ("/api", "/apis", "/apis/apps", "/apis/apps/v1"):
        answer = await ask(server, path, PROTOBUF)
        assert (answer.status, answer.content_type, answer.body[:4]) == (200, PROTOBUF, b"k8s\0")
    reviews = await ask(server, "/apis/authentication.k8s.io/v1", PROTOBUF)
    assert b"\x22\x08\x0a\x06create" in reviews.body  # what Go calls Verbs is a message of its own
    at_once = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    answer = await ask(server, "/apis", at_once)
    assert isinstance(answer, Response)
    tag = dict(answer.headers)["Etag"]
    again = await ask(server, "/apis", at_once, headers={"if-none-match": tag})
    assert (again.status, again.body, again.content_type) == (304, b"", "")  # or what is kept would get another type


@pytest.mark.parametrize(
    ("accept", "custom", "wanted"),
    [
        ("application/json;q=0.5,application/yaml", False, "application/yaml"),
        ("application/*", True, "application/json"),
        ("*/*,application/yaml", False, "application/yaml"),
        (f"{PROTOBUF},application/json", True, "application/json"),
        (f"{PROTOBUF};as=Table;g=meta.k8s.io;v=v1,application/json", False, "application/json"),
        ("application/json;stream=tide,application/yaml", False, "application/yaml"),
        ("application/*", False, "406: Not Acceptable"),
        (PROTOBUF, True, "only the following media types"),
    ],
)
def test_the_form_is_the_most_welcome_that_there_is(accept: str, custom: bool, wanted: str) -> None:
    try:
        found = form_of(accept, custom=custom, protobuf=not custom).media
    except Refused as error:
        found = error.message
    assert found.startswith(wanted)


async def test_what_is_not_kept_is_no_table() -> None:
    table = "application/json;as=Table;g=meta.k8s.io;v=v1"
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    review = {"spec": {"nonResourceAttributes": {"path": "/", "verb": "get"}}}
    assert (await ask(Server(), path, table, method="POST", body=review)).status == 406
    assert (await ask(Server(), path, f"{table},application/json", method="POST", body=review)).status == 201


async def test_fields_that_are_unknown_or_stand_twice_are_told_of_as_they_come() -> None:
    body = b'{"metadata": {"name": "a"}, "x": 1, "data": {"k": "v"}, "data": {}, "y": 1}'
    path = "/api/v1/namespaces/default/configmaps"
    request = Request("POST", path, "fieldValidation=Strict", {"content-type": "application/json"}, body, ADMIN)
    answer = await Server().handle(request)
    assert isinstance(answer, Response)
    told = 'strict decoding error: unknown field \\"x\\", duplicate field \\"data\\", unknown field \\"y\\"'
    assert told.encode() in answer.body


@pytest.mark.parametrize(
    ("query", "agent", "lines"),
    [("", "curl/8", True), ("?pretty=0", "curl/8", False), ("?pretty=true", "kubectl", True)],
)
async def test_json_is_in_lines_for_people(query: str, agent: str, lines: bool) -> None:
    answer = await ask(Server(), f"/api/v1/namespaces/default{query}", "", headers={"user-agent": agent})
    assert (b'\n  "metadata": {\n' in answer.body) == lines


TREES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(st.characters(exclude_categories=["Cs", "Cc"]))
    | st.just("a\nb"),
    lambda inner: st.lists(inner) | st.dictionaries(st.text("abcxyz01.:/", min_size=1), inner),
)


@given(TREES)
def test_what_is_told_in_yaml_is_what_was_told_in_json(tree: object) -> None:
    assert yaml.safe_load(to_yaml(tree)) == tree


def test_yaml_is_written_as_kubernetes_writes_it() -> None:
    told = {"f10": "1", "f9": True, "f:a": {".": {}}, "y": "no", "m": "a: b", "t": "2020-01-01T00:00:00Z", "l": "a\nb"}
    assert to_yaml(told).decode().splitlines() == [
        "f:a:", "  .: {}", "f9: true", 'f10: "1"', "l: |-", "  a", "  b", "m: 'a: b'", 't: "2020-01-01T00:00:00Z"',
        '"y": "no"',
    ]  # fmt: skip


@given(st.text("ab=!(),<> -/in", max_size=10))
def test_a_selector_has_a_fault_where_it_cannot_be_read(text: str) -> None:
    for read, fault in ((Selector.parse, label_fault), (FieldSelector.parse, field_fault)):
        try:
            read(text)
            assert fault(text) == ""
        except InvalidValueError:
            assert fault(text) != ""


async def test_an_amount_that_is_null_is_none() -> None:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": None}}}
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [container]}}
    made = await ask(Server(), "/api/v1/namespaces/default/pods", PROTOBUF, method="POST", body=pod)
    (found,) = read_protobuf(made.body, FACTS)["spec"]["containers"]
    assert (made.status, found["resources"]["requests"]) == (201, {"cpu": "0"})
