"""All scripts against a server, several at once, and what comes of the comparison."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeAlias

from tests.parity.canonical import Canonical
from tests.parity.comparing import Difference, differences, expected, masked_too
from tests.parity.playing import Answer, Script, Server, namespace_of, play
from tests.parity.recording import Recording

Scripts: TypeAlias = dict[str, list[Script]]
Played: TypeAlias = dict[str, list[dict[str, Any]]]
"""Area and name of a script → its answers in canonical form."""


@dataclass(frozen=True)
class Verdict:
    """What was found about one script."""

    area: str
    script: Script
    expected: list[Any]
    differences: list[Difference]

    @property
    def key(self) -> str:
        """The name that the baseline uses."""
        return f"{self.area}/{self.script.name}"

    @property
    def equal(self) -> bool:
        """Whether nothing differs."""
        return not self.differences

    @property
    def equal_steps(self) -> int:
        """How many of the steps have equal answers."""
        return len(self.script.steps) - len({d.step for d in self.differences})


def run(scripts: Scripts, server: Server, workers: int) -> Played:
    """Play everything; what wants to be alone goes first, when nobody else has left anything behind."""
    every = [(area, script) for area, some in scripts.items() for script in some]
    played: Played = {}

    def one(pair: tuple[str, Script]) -> None:
        area, script = pair
        try:
            answers = play(script, server, namespace_of(area, script))
        except (OSError, ValueError, KeyError, IndexError) as error:
            answers = [Answer(-1, {}, f"{type(error).__name__}: {error}") for _ in script.steps]
        played[f"{area}/{script.name}"] = Canonical(answers).answers

    for pair in every:
        if pair[1].alone:
            one(pair)
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(one, [pair for pair in every if not pair[1].alone]))
    return played


def judge(scripts: Scripts, real: Played, again: Played, ours: Played, recording: Recording) -> list[Verdict]:
    """Compare what was played."""
    verdicts: list[Verdict] = []
    for area, some in scripts.items():
        for script in some:
            key = f"{area}/{script.name}"
            wanted = masked_too(expected(real[key], again[key]), recording.answers(key, script))
            verdicts.append(Verdict(area, script, wanted, compared(wanted, ours[key])))
    return verdicts


def judge_by_record(scripts: Scripts, ours: Played, recording: Recording) -> list[Verdict]:
    """Compare with what is recorded."""
    verdicts: list[Verdict] = []
    for area, some in scripts.items():
        for script in some:
            key = f"{area}/{script.name}"
            wanted = recording.answers(key, script)
            if wanted is not None:
                verdicts.append(Verdict(area, script, wanted, compared(wanted, ours[key])))
    return verdicts


def compared(wanted: list[Any], ours: list[Any]) -> list[Difference]:
    """The differences of all steps."""
    found: list[Difference] = []
    for number, (one, other) in enumerate(zip(wanted, ours, strict=True)):
        found += differences(number, one, other)
    return found


def doubts(verdicts: list[Verdict]) -> list[str]:
    """A line for each script that does not work with the real server: what it waits for never comes, or no answer."""
    lines: list[str] = []
    for verdict in verdicts:
        for number, (step, answer) in enumerate(zip(verdict.script.steps, verdict.expected, strict=True)):
            said = f"{answer['status']} {json.dumps(answer['body'])}"
            if step.until and step.until not in said:
                lines.append(f"SCRIPT: {verdict.key} [{number}] waits in vain for {step.until!r}: {said[:300]}")
            elif answer["status"] == -1 or (answer["status"] == 0 and step.method not in ("KUBECTL", "HOOKS")):
                lines.append(f"SCRIPT: {verdict.key} [{number}] has no answer: {said[:300]}")
    return lines
