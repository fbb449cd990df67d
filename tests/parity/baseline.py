"""The scripts that are known not to be equal yet, each with its reason. Anything else that differs is a regression."""

from __future__ import annotations

from pathlib import Path

from tests.parity.running import Verdict

_FOLDER = Path(__file__).parent / "baseline"
_HEAD = (
    "# Scripts whose answers are not equal yet, and why. make parity ARGS=--accept writes it; reasons by hand stay.\n"
)


def read(minor: str) -> dict[str, str]:
    """Script → reason."""
    path = _FOLDER / f"{minor}.txt"
    listed: dict[str, str] = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        if line and not line.startswith("#"):
            key, _, reason = line.partition(" => ")
            listed[key] = reason
    return listed


def write(minor: str, verdicts: list[Verdict], listed: dict[str, str], *, whole: bool) -> None:
    """Write down what is not equal now; where no reason was given, the first difference is it."""
    kept = {} if whole else {k: r for k, r in listed.items() if k not in {v.key for v in verdicts}}
    for verdict in verdicts:
        if not verdict.equal:
            given = listed.get(verdict.key, "")
            automatic = not given or given.startswith("[")
            kept[verdict.key] = _reason(verdict) if automatic else given
    lines = [f"{key} => {reason}\n" for key, reason in sorted(kept.items())]
    _FOLDER.mkdir(exist_ok=True)
    (_FOLDER / f"{minor}.txt").write_text(_HEAD + "".join(lines))


def complaints(verdicts: list[Verdict], listed: dict[str, str], *, whole: bool) -> list[str]:
    """A line for each script that is not as it is listed."""
    lines: list[str] = []
    for verdict in verdicts:
        if not verdict.equal and verdict.key not in listed:
            lines.append(f"REGRESSION: {verdict.key} was equal and differs now: {_reason(verdict)}")
        elif verdict.equal and verdict.key in listed:
            lines.append(f"BETTER: {verdict.key} is equal now: take it out of the baseline (make parity ARGS=--accept)")
    if whole:
        gone = listed.keys() - {v.key for v in verdicts}
        lines += [f"GONE: {key} is in the baseline, and there is no such script" for key in sorted(gone)]
    return lines


def _reason(verdict: Verdict) -> str:
    more = len(verdict.differences) - 1
    words = " ".join(verdict.differences[0].line().split())[:260]
    line = "".join(each if each.isprintable() else "?" for each in words)
    return f"{line} (and {more} more)" if more else line
