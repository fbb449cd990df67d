"""What a real server makes of objects of built-in kinds: data/cases is asked, data/answers is what was said."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from server import Server

sys.path.append(str(Path(__file__).resolve().parents[2]))
from tests.apiserver.builtin.asking import ANSWERS, CASES, KEPT, cases, changed


def record(server: Server) -> None:
    """Write what is answered to the cases of each group."""
    server.ask("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "default"}})
    for path in sorted(CASES.glob("*.yaml")):
        answers = [answer for name, kind in cases(path.stem) for answer in ask(server, name, kind)]
        lines = [json.dumps(answer, ensure_ascii=False) for answer in answers]
        (ANSWERS / f"{path.stem}.jsonl").write_text("\n".join(lines) + "\n")
        print(f"{path.stem}: {len(answers)} answers")


def ask(server: Server, name: str, kind: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Ask for what is said of a kind."""
    path, base = kind["path"], kind["base"]
    for change in (*kind.get("creates", ()), *kind.get("more", ())):
        answer = server.ask("POST", f"{path}?dryRun=All&fieldValidation=Warn", changed(base, change))
        yield {"kind": name, "change": change, "path": path, "base": base, **said(*answer)}
    if not kind.get("updates") and not kind.get("statuses"):
        return
    status, there, _ = server.ask("POST", path, base)
    if status >= 400:
        raise SystemExit(f"{base} was refused: {there}")
    called = there["metadata"]["name"]
    for part, suffix in (("updates", ""), ("statuses", "/status")):
        for change in kind.get(part, ()):
            _, there, _ = server.ask("GET", f"{path}/{called}")
            where = f"{path}/{called}{suffix}?dryRun=All&fieldValidation=Warn"
            answer = server.ask("PUT", where, changed(there, change))
            yield {"kind": name, "change": change, "path": path, "base": base, "suffix": suffix, **said(*answer)}
    server.ask("DELETE", f"{path}/{called}?gracePeriodSeconds=0")


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
