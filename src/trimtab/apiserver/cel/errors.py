"""What can go wrong with an expression, said as kube-apiserver says it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from trimtab.errors import TrimtabError

_LONGEST_SNIPPET: Final = 16384


class CelError(TrimtabError):
    """An expression cannot be compiled, or its evaluation failed."""


class CompileError(CelError):
    """The expression is not valid: its text lists where and why, one paragraph for each issue."""


class ProgramError(CelError):
    """The expression compiles, and a constant part of it fails whenever it is evaluated."""


class EvaluationError(CelError):
    """The evaluation ended in an error: division by zero, a key that is not there."""


class CostExceededError(EvaluationError):
    """The evaluation cost more than it was allowed to."""

    def __init__(self) -> None:
        super().__init__("operation cancelled: actual cost limit exceeded")


@dataclass(frozen=True, slots=True)
class Issue:
    """One reason why an expression does not compile; `offset` counts characters, None is nowhere in particular."""

    offset: int | None
    message: str


def compile_error(source: str, issues: list[Issue]) -> CompileError:
    """Lay the issues out with the lines that they point into."""
    lines = source.split("\n")
    placed = [(*_position(source, issue.offset), issue.message) for issue in dict.fromkeys(issues)]
    placed.sort(key=lambda found: found[:2])
    return CompileError("\n".join(_display(lines, line, column, message) for line, column, message in placed))


def _position(source: str, offset: int | None) -> tuple[int, int]:
    if offset is None:
        return -1, -1
    before = source[:offset]
    line = before.count("\n")
    return line + 1, offset - (before.rfind("\n") + 1)


def _display(lines: list[str], line: int, column: int, message: str) -> str:
    text = f"ERROR: <input>:{line}:{column + 1}: {message}"
    if line < 1 or len(lines[line - 1].encode()) > _LONGEST_SNIPPET:
        return text
    snippet = lines[line - 1].replace("\t", " ")
    before = "".join("．" if ord(c) > 127 else "." for c in snippet[:column])  # noqa: RUF001 - wide like what it stands under
    mark = "＾" if snippet[column : column + 1] > "\x7f" else "^"  # noqa: RUF001 - so is this
    return f"{text}\n | {snippet}\n | {before}{mark}"
