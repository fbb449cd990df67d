"""What a real server makes of expressions: each is asked for as the rule of a custom resource.

Whether it compiles is told by creating a definition with it, dry; its value by a rule that always fails with a message
that holds the value, formatted inside a list (so that a text is quoted and an int is told from a double).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from server import DEFINITIONS, Server

DATA = Path(__file__).resolve().parents[2] / "tests/apiserver/cel/data"
GROUP = "cel.trimtab.dev"
BATCH = 40
NO_OVERLOAD = ": call arguments did not match a supported operator, function or macro signature for rule: "
COMPILES = "cel expression must evaluate to a bool"


def record(server: Server) -> None:
    """Write answers.jsonl."""
    subject = json.loads((DATA / "self.json").read_text())
    cases = list(expressions())
    for case in cases:
        case.update(compiled(server, subject["schema"], case["expression"]))
    valued = [case for case in cases if "refused" not in case]
    for first in range(0, len(valued), BATCH):
        evaluate(server, subject, first // BATCH, valued[first : first + BATCH])
    lines = [json.dumps(case, ensure_ascii=False) for case in cases]
    (DATA / "answers.jsonl").write_text("\n".join(lines) + "\n")
    print(f"{len(cases)} expressions, {len(cases) - len(valued)} of them refused")


def expressions() -> list[dict[str, Any]]:
    """The expressions with the area that they belong to."""
    area, found = "", []
    for line in (DATA / "expressions.txt").read_text().splitlines():
        if line.startswith("# "):
            area = line[2:]
        elif line:
            found.append({"area": area, "expression": line})
    return found


def definition(number: int | str, schema: dict[str, Any], rules: list[dict[str, str]]) -> dict[str, Any]:
    """A definition with the rules on its spec."""
    spec = {**schema, "x-kubernetes-validations": rules}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"evals{number}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Cluster",
            "names": {"plural": f"evals{number}", "singular": f"eval{number}", "kind": f"Eval{number}"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
                }
            ],
        },
    }


def causes(answer: Any) -> list[str]:
    """The messages of a Status's causes."""
    return [cause["message"] for cause in answer.get("details", {}).get("causes", ())]


def compiled(server: Server, schema: dict[str, Any], expression: str) -> dict[str, Any]:
    """Whether an expression compiles, and what it costs too much."""
    body = definition("x", schema, [{"rule": expression}])
    status, answer, _ = server.ask("POST", f"{DEFINITIONS}?dryRun=All", body)
    if status < 400:
        return {}
    messages = causes(answer)
    refused = [m for m in messages if "compilation failed" in m or "program instantiation failed" in m]
    if refused:
        return {"refused": refused[0]}
    costly = [m for m in messages if "cost" in m]
    if costly:
        return {"costly": costly}
    return {} if any(COMPILES in m for m in messages) else {"other": messages}


def evaluate(server: Server, subject: dict[str, Any], number: int, cases: list[dict[str, Any]]) -> None:
    """Note the values of a batch of expressions."""
    rules, asked = [], []
    for case in cases:
        text = f"'%s'.format([[{case['expression']}]])"
        rule = {"rule": f"{text} == ''", "messageExpression": text}
        status, _, _ = server.ask("POST", f"{DEFINITIONS}?dryRun=All", definition("x", subject["schema"], [rule]))
        if status >= 400 or "oldSelf" in case["expression"]:
            case["unformatted"] = True
        else:
            rules.append(rule)
            asked.append(case)
    body = definition(number, subject["schema"], rules)
    status, answer = server.define(body)
    if status >= 400:
        raise SystemExit(f"batch {number} was refused: {causes(answer)}")
    item = {
        "apiVersion": f"{GROUP}/v1",
        "kind": f"Eval{number}",
        "metadata": {"name": "x"},
        "spec": subject["self"],
    }
    _, answer, _ = server.ask("POST", f"/apis/{GROUP}/v1/evals{number}?dryRun=All", item)
    found = causes(answer)
    if len(found) != len(asked):
        raise SystemExit(f"{len(asked)} rules were answered by {len(found)} causes: {answer}")
    for case, rule, message in zip(asked, rules, found, strict=True):
        text = message.removeprefix('Invalid value: "object": ').removeprefix("Invalid value: ")
        suffix = f" evaluating rule: {rule['rule']}"
        overload = (
            f": call arguments did not match a supported operator, function or macro signature for rule: {rule['rule']}"
        )
        if text.endswith(suffix):
            case["error"] = text.removesuffix(suffix)
        elif text.endswith(overload):
            case["error"] = text.removesuffix(overload).strip("'")
        elif text.startswith("failed rule"):
            case["unformatted"] = True
        else:
            case["value"] = text
    server.ask("DELETE", f"{DEFINITIONS}/evals{number}.{GROUP}")
