"""Every expression of the corpus gets the answer that a real kube-apiserver gave (tools/record wrote those down)."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from trimtab.apiserver.cel.errors import CelError, CompileError, EvaluationError, ProgramError
from trimtab.apiserver.cel.library.formatting import format_string
from trimtab.apiserver.cel.program import Environment, Program, Variable
from trimtab.apiserver.custom.declaring import declare

DATA = Path(__file__).parent / "data"
SUBJECT = json.loads((DATA / "self.json").read_text())
ANSWERS = [json.loads(line) for line in (DATA / "answers.jsonl").read_text().splitlines()]
DECLARED = declare(SUBJECT["schema"], root=False)
assert DECLARED is not None
ENVIRONMENT = Environment({name: Variable(DECLARED.type, DECLARED) for name in ("self", "oldSelf")})
SELF = DECLARED.read(SUBJECT["self"])

# What differs, and why. ANTLR goes on after an error in the syntax, and tells more of them; we stop at the first.
KNOWN = {
    r"'\u12'": "a string that is broken in the middle of an escape",
    "google.protobuf.Timestamp{}": "messages of protobuf cannot be built; no schema has any",
    "{[1]: 1}": "a list as a key, in a map of constants",
    "self.labels.map(k, self.labels[k])": "the order in which Go walks through a map is random",
    "timestamp('2024-01-01T00:00:00+02:00')": "moments do not keep the zone that they were written in",
}


def cases() -> Iterator[Any]:
    for answer in ANSWERS:
        expression = answer["expression"]
        marks = [pytest.mark.xfail(reason=KNOWN[expression])] if expression in KNOWN else []
        yield pytest.param(answer, id=f"{answer['area']}: {expression}", marks=marks)


def neutral(text: str) -> str:
    """The server makes up a name for the type of self each time."""
    return re.sub(r"selfType\d+", "selfType", text)


def compiled(expression: str) -> Program | CelError:
    try:
        return ENVIRONMENT.compile(expression)
    except CelError as error:
        return error


@pytest.mark.parametrize("answer", list(cases()))
def test_it_answers_as_the_real_server(answer: dict[str, Any]) -> None:
    expression = answer["expression"]
    refused = neutral(answer.get("refused", ""))
    program = compiled(expression)
    if isinstance(program, CompileError):
        assert f"compilation failed: {program}" in refused
        return
    if isinstance(program, ProgramError):  # of what is no bool, the server says that first
        assert answer.get("unformatted") or f"program instantiation failed: {program}" in refused
        return
    assert not refused
    costly = program.estimate.most > 10_000_000
    assert costly == ("costly" in answer or (answer.get("unformatted", False) and costly))
    if "oldSelf" in expression or answer.get("unformatted"):
        return
    outcome = program.evaluate({"self": SELF})
    try:
        given = str(outcome.error) if outcome.error else format_string("%s", [[outcome.value]])
    except EvaluationError as error:
        given = str(error)
    assert given == answer.get("error", answer.get("value"))


def test_the_corpus_is_whole() -> None:
    asked = [line for line in (DATA / "expressions.txt").read_text().splitlines() if line and not line.startswith("# ")]
    assert [answer["expression"] for answer in ANSWERS] == asked


def test_an_evaluation_that_fails_says_what_it_cost() -> None:
    outcome = ENVIRONMENT.compile("self.i / 0 == 1").evaluate({"self": SELF})
    assert isinstance(outcome.error, EvaluationError)
    assert outcome.cost > 0
