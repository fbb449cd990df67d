"""Objects of built-in kinds get what a real kube-apiserver gave them (tools/record wrote that down)."""

import json
import re
from collections import Counter
from typing import Any

import pytest
from tests.apiserver.builtin.asking import ANSWERS as FOLDER
from tests.apiserver.builtin.asking import DATA, KEPT, changed

from trimtab.apiserver.messages import Request, Response
from trimtab.apiserver.server import ADMIN, Server

ANSWERS = [json.loads(line) for path in sorted(FOLDER.glob("*.jsonl")) for line in path.read_text().splitlines()]
UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
MOMENT = re.compile(r'("last(?:PhaseTransition|Transition|Update)Time": )"20[^"]*"')
GIVEN = ("clusterIP", "clusterIPs")  # each server gives what it has

# What differs: the cases by name, and why.
KNOWN = dict(line.split("\t") for line in (DATA / "different.tsv").read_text().splitlines() if line and line[0] != "#")


def named(answer: dict[str, Any]) -> str:
    return f"{answer['kind']}{answer.get('suffix', ' new')}: {json.dumps(answer['change'])}"


def cases() -> list[Any]:
    """The answers, each named by what was asked."""
    found = []
    for answer in ANSWERS:
        name = named(answer)
        marks = [pytest.mark.xfail(reason=KNOWN[name], strict=True)] if name in KNOWN else []
        found.append(pytest.param(answer, id=name[:120], marks=marks))
    return found


def compared(causes: list[dict[str, str]]) -> Counter[tuple[str, ...]]:
    """Causes without their order, which is random where the server walks through maps."""
    return Counter((cause["reason"], plain(cause["message"]), cause.get("field", "")) for cause in causes)


def plain(message: str) -> str:
    """A message without uids, and without what the server shows of its inner types."""
    message = UID.sub("UID", message.partition("\n@@")[0].removesuffix("\n"))
    return re.sub(
        r'Invalid value: \{"(labels|Capabilities|privileged|metadata)".*\}: ', "Invalid value: (shown): ", message
    )


def shown(obj: dict[str, Any]) -> Any:
    """What of an object is compared."""
    metadata = {key: obj["metadata"][key] for key in KEPT if key in obj["metadata"]}
    made = json.loads(MOMENT.sub(r'\1"MOMENT"', UID.sub("UID", json.dumps({**obj, "metadata": metadata}))))
    spec = made.get("spec") or {}
    if made["kind"] == "Pod":  # what plugins of admission add
        for name in ("priority", "preemptionPolicy"):
            spec.pop(name, None)
        spec["tolerations"] = [
            each for each in spec.get("tolerations") or [] if not each.get("key", "").startswith("node.kubernetes.io/")
        ]
    if made["kind"] == "CertificateSigningRequest":  # who asked
        for name in ("username", "uid", "groups", "extra"):
            spec.pop(name, None)
    if made["kind"] == "Service":
        for name in GIVEN:
            if spec.get(name) not in (None, "None", ["None"]):
                spec[name] = "given"
        for each in spec.get("ports") or ():
            if "nodePort" in each:
                each["nodePort"] = "given"
    return made


async def ask(server: Server, method: str, path: str, body: dict[str, Any]) -> tuple[int, Any]:
    where, _, query = path.partition("?")
    headers = {"content-type": "application/json", "accept": "application/json"}
    answer = await server.handle(Request(method, where, query, headers, json.dumps(body).encode(), ADMIN))
    assert isinstance(answer, Response)
    return answer.status, json.loads(answer.body)


def test_the_corpus_is_of_one_piece() -> None:
    assert len(ANSWERS) > 1400
    assert KNOWN.keys() <= {named(answer) for answer in ANSWERS}


@pytest.mark.parametrize("answer", cases())
async def test_an_object_is_taken_or_refused_as_by_the_real_server(answer: dict[str, Any]) -> None:
    server, path = Server(), answer["path"]
    if "suffix" in answer:
        _, there = await ask(server, "POST", path, answer["base"])
        where = f"{path}/{there['metadata']['name']}{answer['suffix']}?dryRun=All"
        code, said = await ask(server, "PUT", where, changed(there, answer["change"]))
    else:
        code, said = await ask(
            server, "POST", f"{path}?dryRun=All&fieldValidation=Warn", changed(answer["base"], answer["change"])
        )
    if answer["code"] < 400:
        assert (code, shown(said)) == (answer["code"], shown(answer["stored"]))
        return
    assert compared(said.get("details", {}).get("causes", [])) == compared(answer["causes"])
    assert (code, said["reason"]) == (answer["code"], answer["reason"])
    if not answer["causes"]:
        assert said["message"] == answer["message"]
