"""The words of an expression."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from trimtab.apiserver.cel.errors import Issue

_ESCAPE: Final = (
    r"\\(?:[abfnrtv\"'\\?`]|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[xX][0-9a-fA-F]{2}|[0-3][0-7]{2})"  # as in Go and C
)
_QUOTED: Final = (
    rf"\"\"\"(?:{_ESCAPE}|[^\\])*?\"\"\"|'''(?:{_ESCAPE}|[^\\])*?'''"
    rf"|\"(?:{_ESCAPE}|[^\\\"\n\r])*\"|'(?:{_ESCAPE}|[^\\'\n\r])*'"
)
_RAW: Final = r"[rR](?:\"\"\".*?\"\"\"|'''.*?'''|\"[^\"\n\r]*\"|'[^'\n\r]*')"
_TOKEN: Final = re.compile(
    rf"""(?P<space>[\t \r\n\f]+|//[^\n]*)
    |(?P<BYTES>[bB](?:{_QUOTED}|{_RAW}))
    |(?P<STRING>{_QUOTED}|{_RAW})
    |(?P<NUM_FLOAT>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?)
    |(?P<NUM_UINT>(?:0x[0-9a-fA-F]+|[0-9]+)[uU])
    |(?P<NUM_INT>0x[0-9a-fA-F]+|[0-9]+)
    |(?P<IDENTIFIER>[_a-zA-Z][_a-zA-Z0-9]*)
    |(?P<ESC_IDENTIFIER>`[-a-zA-Z0-9_./ ]+`)
    |(?P<op>==|!=|<=|>=|&&|\|\||[\[\]{{}}().,\-!?:+*/%<>])""".replace("\n    ", ""),
    re.DOTALL,
)
_UNFINISHED: Final = re.compile(
    rf"[rRbB]{{0,2}}(?:'(?:{_ESCAPE}|[^\\'\n\r])*(?:\\.?)?|\"(?:{_ESCAPE}|[^\\\"\n\r])*(?:\\.?)?)|[=&|].?", re.DOTALL
)
_KEYWORDS: Final = frozenset({"in", "true", "false", "null"})

EOF: Final = "<EOF>"


@dataclass(frozen=True, slots=True)
class Token:
    """A word: `kind` is its own text for operators and keywords."""

    kind: str
    text: str
    offset: int


def tokenize(source: str, issues: list[Issue]) -> list[Token]:
    """Split the source; what is no word becomes an issue and is skipped."""
    tokens: list[Token] = []
    at = 0
    while at < len(source):
        found = _TOKEN.match(source, at)
        if found is None:
            unfinished = _UNFINISHED.match(source, at)
            text = unfinished.group() if unfinished else source[at]
            issues.append(Issue(at, f"Syntax error: token recognition error at: '{text}'"))
            at += len(text)
            continue
        kind = found.lastgroup
        text = found.group()
        if kind == "op" or (kind == "IDENTIFIER" and text in _KEYWORDS):
            tokens.append(Token(text, text, at))
        elif kind != "space":
            tokens.append(Token(str(kind), text, at))
        at = found.end()
    tokens.append(Token(EOF, EOF, len(source)))
    return tokens
