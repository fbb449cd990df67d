"""Prints what was found: a table by area, the differences of a script, and which differences are the most frequent."""

from __future__ import annotations

import re
from collections import defaultdict

from tests.parity.comparing import Difference, masked
from tests.parity.running import Scripts, Verdict


def table(verdicts: list[Verdict], version: str) -> str:
    """Equal of total by area, as Markdown."""
    rows: dict[str, list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        rows[verdict.area].append(verdict)
    lines = [
        f"| area, against kube-apiserver {version} | scripts equal | of | answers equal | of |",
        "| --- | ---: | ---: | ---: | ---: |",
        *(_row(area, some) for area, some in sorted(rows.items())),
        _row("**all**", verdicts),
    ]
    places = sum(len(masked(v.expected)) for v in verdicts)
    equal = sum(v.equal for v in verdicts)
    share = f"{equal / max(1, len(verdicts)):.1%} of the scripts are equal"
    lines.append(f"\n{share}; {places:,} places differ between two runs of the real one and are masked.")
    return "\n".join(lines)


def show(scripts: Scripts, verdicts: list[Verdict]) -> None:
    """Print requests, and what differs in their answers."""
    for verdict in verdicts:
        print(f"\n== {verdict.key}: {'equal' if verdict.equal else 'differs'}")
        for number, step in enumerate(verdict.script.steps):
            found = [d for d in verdict.differences if d.step == number]
            body = "" if step.body is None else f" {str(step.body)[:150]}"
            print(f"  [{number}] {step.method} {step.path}{body}{'' if found else '  ok'}")
            for difference in found[:25]:
                print(f"      {difference.way}")
                print(f"        real: {difference.real!s:.600}\n        ours: {difference.ours!s:.600}")


def frequent(verdicts: list[Verdict], number: int) -> str:
    """The differences that most scripts have, with a script for each."""
    found: dict[str, list[str]] = defaultdict(list)
    for verdict in verdicts:
        for signature in {_signature(d) for d in verdict.differences}:
            found[signature].append(verdict.key)
    most = sorted(found.items(), key=lambda item: -len(item[1]))[:number]
    return "\n".join(f"- {len(keys)} scripts: {signature} — {keys[0]}" for signature, keys in most)


def hidden(verdicts: list[Verdict]) -> str:
    """The places that are masked."""
    return "\n".join(f"- {v.key}: {place}" for v in verdicts for place in masked(v.expected))


def _row(area: str, verdicts: list[Verdict]) -> str:
    equal, steps = sum(v.equal for v in verdicts), sum(v.equal_steps for v in verdicts)
    total = sum(len(v.script.steps) for v in verdicts)
    return f"| {area} | {equal} | {len(verdicts)} | {steps} | {total} |"


def _signature(difference: Difference) -> str:
    way = re.sub(r"\[\d+\]", "[]", difference.way)
    real, ours = (re.sub(r"p[0-9a-f]{8}", "$NS", str(value))[:140] for value in (difference.real, difference.ours))
    return f"{way}: {real} → {ours}"
