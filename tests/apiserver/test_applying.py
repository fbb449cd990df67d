"""Applies by chance: twice is as good as once, a dry run is the run, and who applies owns what they applied."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.apiserver.test_custom_resources import DEFINITION, DEFINITIONS, WINGS, Asking
from tests.parity.guessing import SCHEMAS, values

from trimtab.apiserver.server import Server

Json = dict[str, Any]
APPLY = {"content_type": "application/apply-patch+yaml"}
MAPS = "/api/v1/namespaces/default/configmaps"
KEYS = st.sampled_from("abcd")


def definition(spec: Json) -> Json:
    version = {"name": "v1", "served": True, "storage": True}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    return {**DEFINITION, "spec": {**DEFINITION["spec"], "versions": [{**version, "schema": schema}]}}


def bare(answer: Json) -> Json:
    """An answer without what is new each time: uid, version and times."""
    metadata = dict(answer.get("metadata", {}))
    for name in ("uid", "resourceVersion", "creationTimestamp"):
        metadata.pop(name, None)
    entries = metadata.pop("managedFields", [])
    owners = [{name: value for name, value in entry.items() if name != "time"} for entry in entries]
    return {**answer, "metadata": {**metadata, "managedFields": owners}}


@given(SCHEMAS.flatmap(lambda spec: st.tuples(st.just(spec), st.lists(values(spec), min_size=1, max_size=3))))
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
async def test_twice_is_as_good_as_once_and_a_dry_run_is_the_run(drawn: tuple[Json, list[Any]]) -> None:
    spec, specs = drawn
    server = Server()
    ask = Asking(server)
    await ask(
        "POST", DEFINITIONS, definition(spec)
    )  # one that is refused leaves nothing to apply to: 404s are equal too
    for number, each in enumerate(specs):
        wing = {"apiVersion": "mythology.trimtab.dev/v1", "kind": "Wing", "metadata": {"name": "a"}, "spec": each}
        path = f"{WINGS}/a?fieldManager=m{number % 2}&force=true"
        tried = await ask("PATCH", f"{path}&dryRun=All", wing, **APPLY)
        first = await ask("PATCH", path, wing, **APPLY)
        assert bare(tried) == bare(first)
        again = await ask("PATCH", path, wing, **APPLY)
        assert again["code"] < 500
        if first["code"] < 300:
            kept = {name: value for name, value in first.items() if name not in ("code", "headers")}
            assert {name: value for name, value in again.items() if name not in ("code", "headers")} == kept
    server.close()


@given(st.lists(st.tuples(st.sampled_from("xyz"), st.dictionaries(KEYS, KEYS, max_size=3)), min_size=1, max_size=6))
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
async def test_who_applies_owns_what_they_applied_last(applied: list[tuple[str, dict[str, str]]]) -> None:
    server = Server()
    ask = Asking(server)
    last: dict[str, dict[str, str]] = {}
    data: dict[str, str] = {}
    for manager, wanted in applied:
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": wanted}
        made = await ask("PATCH", f"{MAPS}/a?fieldManager={manager}&force=true", body, **APPLY)
        let_go = last.get(manager, {}).keys() - wanted.keys()
        for other, had in last.items():  # whoever had a field that has another value now has it no longer
            last[other] = {key: value for key, value in had.items() if wanted.get(key, value) == value}
        last[manager] = dict(wanted)
        owned = {key for fields in last.values() for key in fields}
        data = {key: value for key, value in {**data, **wanted}.items() if key not in let_go or key in owned}
        entries = {entry["manager"]: entry["fieldsV1"] for entry in made["metadata"].get("managedFields", [])}
        assert made.get("data", {}) == data
        assert {who: set(fields["f:data"]) for who, fields in entries.items() if fields.get("f:data")} == {
            who: {f"f:{key}" for key in fields} for who, fields in last.items() if fields
        }
    server.close()
