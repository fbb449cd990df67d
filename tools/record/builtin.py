"""What a real server makes of objects of built-in kinds: cases.yaml is asked, answers.jsonl is what was said."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from server import Server

DATA = Path(__file__).resolve().parents[2] / "tests/apiserver/builtin/data"
KEPT = ("labels", "annotations", "finalizers", "generation", "ownerReferences")


def record(server: Server) -> None:
    """Write answers.jsonl."""
    kinds = yaml.safe_load((DATA / "cases.yaml").read_text())
    server.ask("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "default"}})
    answers = [answer for name, kind in kinds.items() for answer in ask(server, name, kind)]
    lines = [json.dumps(answer, ensure_ascii=False) for answer in answers]
    (DATA / "answers.jsonl").write_text("\n".join(lines) + "\n")
    print(f"{len(answers)} answers")


def ask(server: Server, name: str, kind: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Ask for what is said of a kind."""
    path, base = kind["path"], kind["base"]
    for change in (*kind.get("creates", ()), *kind.get("more", ())):
        sent = changed(base, change)
        answer = server.ask("POST", f"{path}?dryRun=All&fieldValidation=Warn", sent)
        yield {"kind": name, "change": change, "path": path, "sent": sent, **said(*answer)}
    if not kind.get("updates") and not kind.get("statuses"):
        return
    status, there, _ = server.ask("POST", path, base)
    if status >= 400:
        raise SystemExit(f"{base} was refused: {there}")
    where = f"{path}/{there['metadata']['name']}"
    for part, suffix in (("updates", ""), ("statuses", "/status")):
        for change in kind.get(part, ()):
            answer = server.ask("PUT", f"{where}{suffix}?dryRun=All&fieldValidation=Warn", changed(there, change))
            yield {
                "kind": name,
                "change": change,
                "path": path,
                "base": base,
                "name": there["metadata"]["name"],
                "suffix": suffix,
                **said(*answer),
            }
    server.ask("DELETE", f"{where}?gracePeriodSeconds=0")


def changed(base: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    """The object with what is to be set in it."""
    made = copy.deepcopy(base)
    for path, value in change.items():
        at: Any = made
        *way, last = path.split(".") if path not in at else [path]
        for step in way:
            at = at[int(step)] if isinstance(at, list) else at.setdefault(step, {})
        if isinstance(at, list):
            at[int(last) :] = [value]
        elif value is None:
            at.pop(last, None)
        else:
            at[last] = value
    return made


def said(status: int, answer: Any, _warnings: list[str]) -> dict[str, Any]:
    """What of an answer is compared."""
    if status >= 400:
        return {
            "code": status,
            "reason": answer.get("reason"),
            "message": answer.get("message"),
            "causes": answer.get("details", {}).get("causes", []),
        }
    stored = {key: value for key, value in answer.items() if key != "metadata"}
    stored["metadata"] = {key: answer["metadata"][key] for key in KEPT if key in answer["metadata"]}
    return {"code": status, "stored": stored}
