"""One version of what is under a key."""

from __future__ import annotations

from trimtab.errors import TrimtabError
from trimtab.packing import Codec


class Record:
    """What was under a key as of a revision. `previous` is what was there before, as long as it is remembered.

    Of something that is `gone` the data is what is said of it last.
    """

    __slots__ = ("_codec", "_packed", "gone", "key", "previous", "revision")

    def __init__(
        self, key: str, revision: int, packed: bytes, codec: Codec, previous: Record | None, *, gone: bool
    ) -> None:
        self.key = key
        self.revision = revision
        self.gone = gone
        self.previous = previous
        self._packed = packed
        self._codec = codec

    @property
    def data(self) -> bytes:
        """The bytes."""
        return self._codec.unpack(self._packed)

    @property
    def before(self) -> Record | None:
        """What was there before, unless there was nothing."""
        previous = self.previous
        return None if previous is None or previous.gone else previous

    def as_of(self, revision: int) -> Record | None:
        """What was there as of a revision; None where there was nothing."""
        record: Record | None = self
        while record is not None and record.revision > revision:
            record = record.previous
        return None if record is None or record.gone else record

    def __repr__(self) -> str:
        return f"<Record {self.key} {self.revision}{' gone' if self.gone else ''}>"


class Occupied(TrimtabError):
    """Under the key is not what the writer believed; `current` is what there is."""

    def __init__(self, key: str, current: Record | None) -> None:
        self.current = current
        super().__init__(f"{key} is at revision {current.revision if current else 'none'}: read it and try again")


class Compacted(TrimtabError):
    """The revision is no longer remembered."""

    def __init__(self, revision: int, oldest: int) -> None:
        self.revision = revision
        self.oldest = oldest
        super().__init__(f"revision {revision} is forgotten, the oldest is {oldest}: read anew")


class Future(TrimtabError):
    """There is no such revision yet."""

    def __init__(self, revision: int, current: int) -> None:
        self.revision = revision
        self.current = current
        super().__init__(f"revision {revision} is not there yet, the newest is {current}")
