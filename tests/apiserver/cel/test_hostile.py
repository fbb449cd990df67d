"""Whatever arrives ends in an error or an answer, in bounded time and memory."""

import string
import time
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.apiserver.cel import types as t
from trimtab.apiserver.cel.errors import CelError, CostExceededError
from trimtab.apiserver.cel.program import Environment, Variable
from trimtab.apiserver.cel.regexes import PatternError, compile_pattern

ENVIRONMENT = Environment({"self": Variable(t.DYN)})
WORDS = [
    *"()[]{}.,?:+-*/%<>!=&|'\"`\\ \n\x00é☃",
    *(
        " && ",
        " || ",
        " == ",
        " in ",
        "self",
        "self.a",
        "[1, 2]",
        "{'a': 1}",
        "'x'",
        "b'x'",
        "1u",
        "1.5",
        "null",
        "true",
    ),
    *(".map(x, ", ".all(x, ", ".filter(x, ", ".exists(i, x, ", "optional.of(", ".optMap(v, ", ".format([", "has("),
    *("'''", '"""', "r'", "0x", "1e", "\\u", ".size()", ".matches('", "duration('1s')", "timestamp('", "quantity('1')"),
]
SELF: dict[str, Any] = {"a": [1, "x", {"b": None}], "b": "text", "c": 2.5, "d": True, "e": {}}


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=25).map("".join) | st.text(string.printable, max_size=60))
def test_any_text_is_an_expression_or_an_error(source: str) -> None:
    try:
        program = ENVIRONMENT.compile(source)
    except CelError:
        return
    outcome = program.evaluate({"self": SELF})
    assert (outcome.error is None) or str(outcome.error)


@pytest.mark.parametrize(
    "source",
    [
        "(" * 5000 + "1" + ")" * 5000,
        "[" * 5000,
        "-" * 99_999,
        "!" * 50_001 + "true",
        "1" + "+1" * 20_000,
        "self" + ".a" * 20_000,
        "true ? " * 3000 + "1" + " : 1" * 3000,
        "{'a': " * 3000 + "1" + "}" * 3000,
        "self" + ".map(x, x)" * 3000,
        "optional.of(1)" + ".optMap(x, x)" * 500,
        "x" * 200_000,
        "'" + "\\u0041" * 15_000,
        "9" * 90_000,
        "1e" + "9" * 5000,
    ],
    ids=range(14),
)
def test_depth_and_length_are_bounded(source: str) -> None:
    began = time.process_time()
    with suppress(CelError):
        ENVIRONMENT.compile(source).evaluate({"self": SELF})
    assert time.process_time() - began < 10


def test_a_long_chain_of_ands_is_no_deep_tree() -> None:
    outcome = ENVIRONMENT.compile(" && ".join(["true"] * 5000)).evaluate({"self": SELF})
    assert outcome.value is True


@pytest.mark.parametrize(
    "source",
    [
        "lists.range(1000).all(a, lists.range(1000).all(b, lists.range(1000).all(c, a + b + c >= 0)))",
        "lists.range(2000000000).size() > 0",
        "lists.range(1000).map(a, lists.range(1000).map(b, lists.range(1000))).size() > 0",
        "[1].map(a, ('%s'.format([lists.range(200000)])).replace('', '%s'.format([lists.range(200000)]))).size() > 0",
        "'%s'.format([lists.range(99999)]).split('').join('%s'.format([lists.range(99999)])).size() > 0",
    ],
)
def test_what_costs_too_much_is_stopped(source: str) -> None:
    began = time.process_time()
    outcome = ENVIRONMENT.compile(source).evaluate({"self": SELF})
    assert isinstance(outcome.error, CostExceededError)
    assert time.process_time() - began < 20


def test_chains_of_optionals_are_evaluated_within_the_limit() -> None:
    outcome = ENVIRONMENT.compile("optional.of(1)" + ".optMap(x, x + 1)" * 40 + ".hasValue()").evaluate({})
    assert isinstance(outcome.error, CostExceededError)


@pytest.mark.parametrize("pattern", ["(a*)*b", "(a|a)*b", "(a+)+b", "(.*)(.*)(.*)(.*)(.*)x", "((a{0,30}){0,30})b"])
def test_regular_expressions_are_linear(pattern: str) -> None:
    began = time.process_time()
    assert not compile_pattern(pattern).matches("a" * 50_000)
    assert time.process_time() - began < 5


@pytest.mark.parametrize("pattern", ["(", "[", "a{1001}", "(?=x)", "\\1", "a**", "((a{100}){100}){100}"])
def test_patterns_that_go_refuses_are_refused(pattern: str) -> None:
    with pytest.raises(PatternError, match="error parsing regexp"):
        compile_pattern(pattern)


@given(st.text(), st.text(max_size=5))
def test_texts_of_any_characters_can_be_searched(text: str, part: str) -> None:
    program = ENVIRONMENT.compile("self.find('.*').size() >= 0 && self.split(self).size() >= 1")
    assert program.evaluate({"self": text}).error is None
    assert ENVIRONMENT.compile("self[0].replace(self[1], '').contains(self[1])").evaluate({"self": [text, part]}).cost
