"""Regular expressions as Go has them: RE2, whose time is linear in the text whatever the expression.

Patterns and texts come from strangers; Python's own engine can be kept busy for ages by either.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import re2  # pyright: ignore[reportMissingTypeStubs] - it has no types

from trimtab.apiserver.cel.errors import CelError

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST_MEMORY: Final = 8 << 20
_GO_WORDS: Final = (
    ("missing ): ", "missing closing ): "),
    ("missing ]: ", "missing closing ]: "),
    ("no argument for repetition operator: ", "missing argument to repetition operator: "),
    ("bad repetition operator: ", "invalid nested repetition operator: "),
    ("invalid repetition size: ", "invalid repeat count: "),
    ("invalid perl operator: ", "invalid or unsupported Perl syntax: "),
    ("invalid named capture group: ", "invalid named capture: "),
    ("trailing \\", "trailing backslash at end of expression: ``"),
)


class PatternError(CelError):
    """A pattern is no regular expression."""


def _options() -> Any:
    engine: Any = re2
    options = engine.Options()
    options.log_errors = False
    options.max_mem = _MOST_MEMORY
    return options


@lru_cache(maxsize=1024)
def compile_pattern(pattern: str) -> Pattern:
    """Compile a pattern, or raise PatternError with Go's words for what is wrong."""
    engine: Any = re2
    try:
        return Pattern(engine.compile(pattern, _options()))
    except engine.error as error:
        raise PatternError(_in_go_words(error.args[0], pattern)) from None
    except UnicodeEncodeError:
        raise PatternError("error parsing regexp: invalid UTF-8") from None


class Pattern:
    """A compiled regular expression."""

    __slots__ = ("_compiled",)

    def __init__(self, compiled: Any) -> None:
        self._compiled = compiled

    def matches(self, text: str) -> bool:
        """Whether it is found anywhere in the text."""
        return self._compiled.search(text) is not None

    def first(self, text: str) -> str:
        """The leftmost match, or nothing."""
        found = self._compiled.search(text)
        return str(found.group(0)) if found is not None else ""

    def every(self, text: str, most: int = -1) -> list[str]:
        """All matches that do not overlap, at most so many; a negative number is no limit."""
        matches: list[str] = []
        for found in self._separate(text):
            if 0 <= most <= len(matches):
                break
            matches.append(found)
        return matches

    def _separate(self, text: str) -> Iterator[str]:
        """Go leaves out an empty match right after another match."""
        last = -1
        for found in self._compiled.finditer(text):
            start, end = found.span()
            if start == end == last:
                continue
            last = end
            yield str(found.group(0))


def _in_go_words(message: Any, pattern: str) -> str:
    text = message.decode("utf-8", "replace") if isinstance(message, bytes) else str(message)
    if text.startswith("pattern too large"):
        return "error parsing regexp: expression too large"
    if text.startswith("missing ): "):
        return f"error parsing regexp: missing closing ): `{pattern}`"
    if text.startswith("unexpected ): "):
        return f"error parsing regexp: unexpected ): `{pattern}`"
    for ours, theirs in _GO_WORDS:
        if text.startswith(ours):
            return f"error parsing regexp: {theirs}" + (f"`{text[len(ours) :]}`" if not theirs.endswith("`") else "")
    what, colon, rest = text.partition(": ")
    return f"error parsing regexp: {what}" + (f": `{rest}`" if colon else "")
