"""Definitions and their objects get what a real kube-apiserver gave them (tools/record wrote that down)."""

import copy
import json
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from trimtab.apiserver.causes import Cause
from trimtab.apiserver.custom.conditions import default_definition, prepare_create, settle
from trimtab.apiserver.custom.definition import Version, compile_definition
from trimtab.apiserver.custom.definitions import check_definition

DATA = Path(__file__).parent / "data"
ANSWERS = [json.loads(line) for line in (DATA / "answers.jsonl").read_text().splitlines()]
KINDS = {answer["case"]: answer["sent"] for answer in ANSWERS if answer["about"] == "kind"}

# What differs, and why.
KNOWN: dict[str, str] = {}


def about(what: str) -> list[Any]:
    """The answers of one sort, each named by what was asked."""
    found = []
    for answer in ANSWERS:
        if answer["about"] == what:
            name = (
                f"{answer['case']}: {json.dumps(answer['sent'].get('spec'))[:80]}"
                if what != "definition"
                else answer["case"]
            )
            marks = [pytest.mark.xfail(reason=KNOWN[name])] if name in KNOWN else []
            found.append(pytest.param(answer, id=name, marks=marks))
    return found


def compared(causes: list[dict[str, str]]) -> Counter[tuple[str, str, str]]:
    """Causes without their order, which is random in the server where it walks through maps."""
    return Counter((c["reason"], re.sub(r"selfType\d+", "selfType", c["message"]), c.get("field", "")) for c in causes)


def bodies(causes: list[Cause]) -> list[dict[str, str]]:
    return [cause.body() for cause in causes]


def prepared(sent: dict[str, Any]) -> dict[str, Any]:
    definition = copy.deepcopy(sent)
    default_definition(definition)
    prepare_create(definition)
    return definition


@cache
def version(case: str) -> Version:
    definition = prepared(KINDS[case])
    assert check_definition(definition) == []
    return compile_definition(definition).versions["v1"]


def test_the_corpus_is_of_one_piece() -> None:
    assert len(ANSWERS) > 350


@pytest.mark.parametrize("answer", about("definition"))
def test_a_definition_is_refused_as_by_the_real_server(answer: dict[str, Any]) -> None:
    causes = bodies(check_definition(prepared(answer["sent"])))
    assert compared(causes) == compared(answer.get("causes", []))


@pytest.mark.parametrize("answer", about("kind"))
def test_a_definition_is_completed_as_by_the_real_server(answer: dict[str, Any]) -> None:
    definition = prepared(answer["sent"])
    definition["status"] = settle(definition, [], "now")
    for condition in definition["status"]["conditions"]:
        del condition["lastTransitionTime"]
    assert definition["spec"]["names"] == answer["stored"]["spec"]["names"]
    assert definition["status"] == answer["stored"]["status"]


@pytest.mark.parametrize("answer", about("object"))
def test_an_object_is_taken_or_refused_as_by_the_real_server(answer: dict[str, Any]) -> None:
    compiled, obj = version(answer["case"]), copy.deepcopy(answer["sent"])
    malformed = compiled.malformed(obj)
    if malformed is not None or answer["code"] == 400:
        assert answer["message"].endswith(f": {malformed}")
        return
    unknown = compiled.prune(obj)
    compiled.default(obj)
    assert compared(bodies(compiled.validate(obj))) == compared(answer.get("causes", []))
    if answer["code"] < 400:
        del obj["metadata"]
        assert obj == answer["stored"]
        assert [f'unknown field "{path}"' for path in unknown] == answer.get("warnings", [])


@pytest.mark.parametrize("answer", about("update"))
def test_an_update_is_taken_or_refused_as_by_the_real_server(answer: dict[str, Any]) -> None:
    compiled, obj, old = version(answer["case"]), copy.deepcopy(answer["sent"]), copy.deepcopy(answer["old"])
    for each in (obj, old):
        compiled.prune(each)
        compiled.default(each)
    assert compared(bodies(compiled.validate(obj, old))) == compared(answer.get("causes", []))


@pytest.mark.parametrize("answer", about("table"))
def test_a_row_shows_what_the_real_server_shows(answer: dict[str, Any]) -> None:
    columns = version(answer["case"]).columns
    assert [column.definition() for column in columns] == answer["columns"][1:]
    assert [column.value(answer["sent"]) for column in columns] == answer["cells"][1:]
