"""What comes in and what goes out, as plain values: no I/O, and no HTTP library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Protocol, TypeAlias

JSON: Final = "application/json"
YAML: Final = "application/yaml"
PROTOBUF: Final = "application/vnd.kubernetes.protobuf"
TEXT: Final = "text/plain; charset=utf-8"

Headers: TypeAlias = Sequence[tuple[str, str]]


CREDENTIAL: Final = "authentication.kubernetes.io/credential-id"
"""Under which a user says by which certificate or token they are known."""


@dataclass(frozen=True, slots=True)
class User:
    """Who is asking."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])


@dataclass(frozen=True, slots=True)
class Request:
    """One request, as it came: the path is still encoded."""

    method: str
    path: str
    query: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])  # their names in lower case
    body: bytes = field(default=b"", repr=False)  # it may be a Secret
    user: User | None = None  # whom the way in knows already: by a client certificate, or because it is in the process

    as_of: int = 0  # the revision of which reads are shown the state, as by a server that lags behind; 0 is now

    def header(self, name: str) -> str:
        """A header by its name in lower case, or ""."""
        return self.headers.get(name, "")


@dataclass(frozen=True, slots=True)
class Response:
    """A whole answer."""

    status: int
    body: bytes = field(default=b"", repr=False)
    content_type: str = JSON
    headers: Headers = ()


class Source(Protocol):
    """The body of an answer that goes on arriving."""

    async def read(self) -> bytes:
        """What comes next, b"" at its end. Raises Torn where the connection is to break."""
        ...

    def close(self) -> None:
        """Nobody reads on."""
        ...


class Torn(Exception):
    """The connection is to break here, in the middle of what is said."""


@dataclass(frozen=True, slots=True)
class Streaming:
    """An answer that goes on arriving."""

    status: int
    source: Source
    content_type: str = JSON
    headers: Headers = ()


Answer: TypeAlias = Response | Streaming


def with_warning(answer: Answer, text: str) -> Answer:
    """The answer with a warning for who asked, before the others."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return replace(answer, headers=[("Warning", f'299 - "{escaped}"'), *answer.headers])
