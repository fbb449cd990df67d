"""The Pod Security Standards, as a real API server (1.36.3) applied them to the Pods in data/podsecurity.jsonl."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.apiserver.test_custom_resources import Asking

from trimtab.apiserver.server import Server

Json = dict[str, Any]
ANSWERS = [json.loads(line) for line in (Path(__file__).parent / "data/podsecurity.jsonl").read_text().splitlines()]
PODS = "/api/v1/namespaces/n/pods"
LABEL = "pod-security.kubernetes.io/enforce"
MERGE = {"content_type": "application/merge-patch+json"}


@pytest.fixture
def ask() -> Asking:
    return Asking(Server())


def warned(answer: Json) -> str:
    """What it warns of, the last one where there are several."""
    return answer["headers"].get("Warning", "").removeprefix('299 - "').removesuffix('"').replace('\\"', '"')


@pytest.mark.parametrize("answer", ANSWERS, ids=[f"{number}" for number in range(len(ANSWERS))])
async def test_a_pod_is_let_through_or_not_as_by_the_real_server(ask: Asking, answer: Json) -> None:
    await ask("POST", "/api/v1/namespaces", {"metadata": {"name": "n", "labels": answer["labels"]}})
    said = await ask("POST", f"{PODS}?dryRun=All", {"metadata": {"name": "p"}, "spec": answer["spec"]})
    assert said["code"] == answer["code"]
    assert said.get("message", "").partition("is forbidden: ")[2] == answer["message"]
    assert warned(said) == "".join(answer["warnings"])


async def test_who_makes_a_namespace_stricter_is_told_who_does_not_fit(ask: Asking) -> None:
    await ask("POST", "/api/v1/namespaces", {"metadata": {"name": "n"}})
    for name, more in (("a", {}), ("b", {}), ("c", {"hostPID": True})):
        await ask(
            "POST", PODS, {"metadata": {"name": name}, "spec": {"containers": [{"name": "m", "image": "i"}], **more}}
        )
    made = await ask("PATCH", "/api/v1/namespaces/n", {"metadata": {"labels": {LABEL: "baseline"}}}, **MERGE)
    assert warned(made) == "c: host namespaces"
    changed = await ask("PATCH", f"{PODS}/c", {"metadata": {"labels": {"x": "y"}}}, **MERGE)
    assert changed["code"] == 200  # it is there, and nothing that matters changes
    image = [{"op": "replace", "path": "/spec/containers/0/image", "value": "j"}]
    assert (await ask("PATCH", f"{PODS}/c", image, content_type="application/json-patch+json"))["code"] == 403
    odd = await ask("PATCH", "/api/v1/namespaces/n", {"metadata": {"labels": {LABEL: "odd"}}}, **MERGE)
    assert odd["details"]["causes"][0]["field"] == f"metadata.labels[{LABEL}]"
