"""One request on its way through the server, and the places where others may have a say in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from trimtab.apiserver.messages import User
from trimtab.apiserver.options import DeleteOptions, WriteOptions
from trimtab.apiserver.routing import Target

Json: TypeAlias = dict[str, Any]


@dataclass(slots=True)
class Call:
    """A request of which it is known what it is about, and who asks."""

    target: Target
    user: User
    options: WriteOptions = field(default_factory=WriteOptions)
    manager: str = ""  # under whose name fields are written that say of no other
    warnings: list[str] = field(default_factory=list[str])
    applies: bool = False  # what is written has its managedFields already
    known: dict[tuple[str, bytes], Json] = field(default_factory=dict[tuple[str, bytes], Json])
    """By API version and object (as JSON), what a webhook made of it that converts."""
    deletion: DeleteOptions | None = None  # how to delete
    collective: bool = False  # a collection is deleted, and this is one of it


class Questions(Protocol):
    """What is created only to be answered, and stored nowhere."""

    def has(self, target: Target) -> bool:
        """Whether it is such a question."""
        ...

    def answer(self, call: Call, target: Target, obj: Json) -> Json:
        """The question with its answer."""
        ...


class Admission(Protocol):
    """May change or refuse what is about to be written. It may be asked more than once for one request."""

    async def mutate(self, call: Call, operation: str, new: Json | None, old: Json | None) -> Json | None:
        """What is to be written instead."""
        ...

    async def validate(self, call: Call, operation: str, new: Json | None, old: Json | None) -> None:
        """Raise Refused unless it may be written."""
        ...
