"""What a real server makes of definitions and of their objects: cases.yaml is asked, answers.jsonl is what was said."""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from server import DEFINITIONS, Server

DATA = Path(__file__).resolve().parents[2] / "tests/apiserver/custom/data"
GROUP = "kinds.dev"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


def record(server: Server) -> None:
    """Write answers.jsonl."""
    cases = yaml.safe_load((DATA / "cases.yaml").read_text())
    answers = [ask_definition(server, case) for case in cases["definitions"]]
    for kind in cases["kinds"]:
        answers += ask_kind(server, kind)
    lines = [json.dumps(answer, ensure_ascii=False) for answer in answers]
    (DATA / "answers.jsonl").write_text("\n".join(lines) + "\n")
    print(f"{len(answers)} answers")


def definition(case: dict[str, Any], plural: str, kind: str, group: str) -> dict[str, Any]:
    """A definition as the case says, with the usual around it."""
    schema = case.get("schema", {"type": "object", "properties": {"spec": case.get("spec")}})
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    if schema is None:
        del version["schema"]
    version |= case.get("version", {})
    names = {"plural": plural, "kind": kind, **case.get("names", {})}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": case.get("metadata", {"name": f"{names['plural']}.{case.get('top', {}).get('group', group)}"}),
        "spec": {
            "group": group,
            "scope": "Cluster",
            "names": names,
            "versions": case.get("versions", [version]),
            **case.get("top", {}),
        },
    }


def said(status: int, answer: Any, warnings: list[str]) -> dict[str, Any]:
    """What of an answer is compared."""
    found: dict[str, Any] = {"code": status}
    if status >= 400:
        found["reason"] = answer.get("reason")
        found["causes"] = answer.get("details", {}).get("causes", [])
        if not found["causes"]:
            found["message"] = answer.get("message")
    else:
        found["stored"] = {key: value for key, value in answer.items() if key != "metadata"}
    if warnings:
        found["warnings"] = sorted(
            warning.split('"', 1)[1].rsplit('"', 1)[0].replace('\\"', '"') for warning in warnings
        )
    return found


def ask_definition(server: Server, case: dict[str, Any]) -> dict[str, Any]:
    """Create a definition, dry."""
    body = definition(case, "things", "Thing", "names.dev")
    return {
        "about": "definition",
        "case": case["name"],
        "sent": body,
        **said(*server.ask("POST", f"{DEFINITIONS}?dryRun=All", body)),
    }


def ask_kind(server: Server, kind: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Create a kind, and ask for its objects."""
    name = kind["name"]
    body = definition(kind, f"{name}s", name.capitalize(), GROUP)
    first = copy.deepcopy(body)
    if "before" in kind:
        first["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"] = kind["before"]
    status, answer = server.define(first)
    if status >= 400:
        raise SystemExit(f"{name} was refused: {answer}")
    yield {"about": "kind", "case": name, "sent": body, "code": status, "stored": answer_of(answer)}
    path = f"/apis/{GROUP}/v1/{name}s"
    head = {"apiVersion": f"{GROUP}/v1", "kind": name.capitalize()}
    updates = [
        (before, after, stored(server, path, {**head, "metadata": {"name": f"u{n}"}, "spec": before}))
        for n, (before, after) in enumerate(kind.get("updates", ()))
    ]
    if "before" in kind:
        change(server, body, path, head)
    wholes = [{**head, "metadata": {"name": "x"}, "spec": spec} for spec in kind.get("objects", ())]
    wholes += [{**head, "metadata": {"name": "x"}, **rest} for rest in kind.get("whole", ())]
    wholes += [
        {**head, "metadata": {"name": "x"}, "spec": {field: value}}
        for field, values in kind.get("each", {}).items()
        for value in values
    ]
    for whole in wholes:
        given = {"about": "object", "case": name, "sent": whole}
        yield {**given, **said(*server.ask("POST", f"{path}?dryRun=All&fieldValidation=Warn", whole))}
    for before, after, old in updates:
        new = {**old, "spec": after}
        answer = said(*server.ask("PUT", f"{path}/{old['metadata']['name']}?dryRun=All&fieldValidation=Warn", new))
        sent = {key: value for key, value in new.items() if key != "metadata"}
        yield {"about": "update", "case": name, "old": {**head, "spec": before}, "sent": sent, **answer}
    for n, spec in enumerate(kind.get("tables", ())):
        whole = {**head, "metadata": {"name": f"t{n}"}, "spec": spec}
        stored(server, path, whole)
        table = server.table(f"{path}/t{n}", TABLE)
        row = {"columns": table["columnDefinitions"], "cells": table["rows"][0]["cells"]}
        yield {"about": "table", "case": name, "sent": whole, **row}
    server.ask("DELETE", f"{DEFINITIONS}/{name}s.{GROUP}")


def answer_of(answer: Any) -> Any:
    """A definition without what differs from run to run."""
    kept = {key: value for key, value in answer.items() if key != "metadata"}
    for condition in kept["status"]["conditions"]:
        del condition["lastTransitionTime"]
    return kept


def stored(server: Server, path: str, whole: dict[str, Any]) -> dict[str, Any]:
    """Create an object that an update can change."""
    status, answer, _ = server.ask("POST", path, whole)
    if status >= 400:
        raise SystemExit(f"{whole} was refused: {answer}")
    return answer


def change(server: Server, body: dict[str, Any], path: str, head: dict[str, Any]) -> None:
    """Put the later schema, and wait until what it forbids is refused."""
    where = f"{DEFINITIONS}/{body['metadata']['name']}"
    current = server.ask("GET", where)[1]
    current["spec"]["versions"] = body["spec"]["versions"]
    status, answer, _ = server.ask("PUT", where, current)
    if status >= 400:
        raise SystemExit(f"the change was refused: {answer}")
    deadline = time.monotonic() + 30
    while server.ask("POST", f"{path}?dryRun=All", {**head, "metadata": {"name": "x"}, "spec": {}})[0] < 400:
        if time.monotonic() > deadline:
            raise SystemExit("the changed schema was not used within 30 seconds")
        time.sleep(0.05)
