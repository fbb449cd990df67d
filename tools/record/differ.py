"""Looks for differences: random definitions and objects, asked of a real server and of ours.

By hand: `tools/record differ 7 100` makes a hundred definitions from seed 7. What differs is printed as it goes into
cases.yaml, whence it is asked for ever after.
"""

from __future__ import annotations

import copy
import json
import re
import sys
from collections import Counter
from typing import Any

import custom
from schemas import Maker
from server import DEFINITIONS, Server

from trimtab.apiserver.custom.conditions import default_definition, prepare_create
from trimtab.apiserver.custom.definition import Version, compile_definition
from trimtab.apiserver.custom.definitions import check_definition

OBJECTS = 8


def run(server: Server) -> None:
    """Compare as many as the command line says, or fifty."""
    seed, count = (int(given) for given in (*sys.argv[2:4], *("1", "50")[len(sys.argv[2:4]) :]))
    maker = Maker(seed)
    same = asked = 0
    for number in range(count):
        case = {"name": f"found-{seed}-{number}", "spec": maker.schema()}
        body = custom.definition(case, f"finds{number}", f"Find{number}", custom.GROUP)
        ours = prepared(body)
        status, answer, _ = server.ask("POST", f"{DEFINITIONS}?dryRun=All", body)
        given = answer.get("details", {}).get("causes", []) if status >= 400 else []
        found = [cause.body() for cause in check_definition(ours)]
        asked += 1
        same += report({**case, "about": "definition"}, given, found)
        if status >= 400 or found:
            continue
        server.define(body)
        version = compile_definition(ours).versions["v1"]
        for _ in range(OBJECTS):
            asked += 1
            same += compare(server, case, body, version, maker.fitting(case["spec"]))
        server.ask("DELETE", f"{DEFINITIONS}/{body['metadata']['name']}")
    print(f"{same} of {asked} are equal")


def prepared(body: dict[str, Any]) -> dict[str, Any]:
    """The definition as our server would have it."""
    ours = copy.deepcopy(body)
    default_definition(ours)
    prepare_create(ours)
    return ours


def compare(server: Server, case: dict[str, Any], body: dict[str, Any], version: Version, spec: Any) -> bool:
    """Ask both for one object."""
    names = body["spec"]["names"]
    head = {"apiVersion": f"{custom.GROUP}/v1", "kind": names["kind"], "metadata": {"name": "x"}}
    path = f"/apis/{custom.GROUP}/v1/{names['plural']}?dryRun=All&fieldValidation=Warn"
    answer = custom.said(*server.ask("POST", path, {**head, "spec": spec}))
    mine = {**head, "spec": copy.deepcopy(spec)}
    unknown = version.prune(mine)
    version.default(mine)
    faults = [cause.body() for cause in version.validate(mine)]
    given = answer.get("causes", [])
    stored = answer.get("stored", {}).get("spec")
    case = {**case, "about": "object", "objects": [spec]}
    if answer["code"] < 400 and (mine.get("spec") != stored or len(unknown) != len(answer.get("warnings", []))):
        given = [*given, {"reason": "Stored", "message": json.dumps(stored)}]
    return report(case, given, faults)


def report(case: dict[str, Any], given: list[dict[str, str]], found: list[dict[str, str]]) -> bool:
    """Print a case whose causes differ."""
    real, ours = (
        Counter(re.sub(r"selfType\d+", "self", json.dumps(c, sort_keys=True)) for c in s) for s in (given, found)
    )
    if real == ours:
        return True
    print(f"- {json.dumps(case)}\n  # real {dict(real - ours)}\n  # ours {dict(ours - real)}")
    return False
