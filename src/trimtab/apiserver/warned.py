"""Warnings as headers of an answer: each once, and all together not longer than clients can take."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

_MOST: Final = 4096  # characters of all of them; where there are more, each is cut short
_SHORT: Final = 256


def headers(texts: Iterable[str]) -> list[tuple[str, str]]:
    """The headers. A text with control characters cannot be one, and is left out."""
    told = [text for text in dict.fromkeys(texts) if text and text.isprintable()]
    if sum(map(len, told)) > _MOST:
        kept, length = list[str](), 0
        for text in told:
            if length >= _MOST:
                break
            kept.append(text[:_SHORT])
            length += len(kept[-1])
        told = kept
    return [("Warning", f"299 - {_quoted(text)}") for text in told]


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
