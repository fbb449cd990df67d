"""What kinds take for what is left out, held against what a real server made of the same objects."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

import pytest
from msgspec.json import decode
from tests.apiserver.patching.cases import compared

from trimtab.apiserver.facts import kubernetes, with_defaults

FACTS = kubernetes()
LIVES = [decode(line) for line in (Path(__file__).parents[1] / "patching/data/lives.jsonl").read_bytes().splitlines()]
CREATED = [
    (f"{life['name']}, {step['kind']}", step["sent"], step["answer"])
    for life in LIVES
    for step in life["steps"][:1]
    if step["status"] == 201 and step["kind"] in {"Deployment", "Pod", "Service"}
]

# Copied from another field, or allotted.
NOT_HERE = re.compile(
    r"\.(imagePullPolicy|clusterIPs?|ipFamil\w+|nodePort|targetPort|externalTrafficPolicy|requests(\.\w+)?|serviceAccount)$"
)


@pytest.mark.parametrize(("sent", "answer"), [case[1:] for case in CREATED], ids=[case[0] for case in CREATED])
def test_what_is_left_out(sent: dict[str, Any], answer: dict[str, Any]) -> None:
    *group, version = sent["apiVersion"].split("/")
    schema = FACTS.schema("".join(group), version, sent["kind"])
    assert schema is not None
    given = copy.deepcopy(sent)
    filled = with_defaults(FACTS, schema, sent)
    assert sent == given
    found = compared(".spec", filled["spec"], answer["spec"], None, exact=True)
    assert [line for line in found if not NOT_HERE.search(line.partition(":")[0])] == []
    assert with_defaults(FACTS, schema, filled) is filled


def test_what_depends_on_a_field_beside_it() -> None:
    schema = FACTS.schema("apps", "v1", "Deployment")
    assert schema is not None
    strategy = schema.fields["spec"].fields["strategy"]
    rolling = {"maxSurge": "25%", "maxUnavailable": "25%"}
    assert with_defaults(FACTS, strategy, {}) == {"type": "RollingUpdate", "rollingUpdate": rolling}
    assert with_defaults(FACTS, strategy, {"type": "Recreate"}) == {"type": "Recreate"}
    probe = schema.fields["spec"].fields["template"].fields["spec"].fields["containers"].items.fields["livenessProbe"]
    assert with_defaults(FACTS, probe, {"tcpSocket": {"port": 1}, "periodSeconds": 3}) == {
        "tcpSocket": {"port": 1},
        "periodSeconds": 3,
        "timeoutSeconds": 1,
        "successThreshold": 1,
        "failureThreshold": 3,
    }
