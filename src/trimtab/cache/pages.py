"""The station where a list is cut into its items while it arrives, so that it is never held whole."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import msgspec

from trimtab.kube.base import Struct
from trimtab.kube.meta.v1 import ListMeta

_ITEMS: Final = re.compile(rb'"items":\s*(?P<list>\[\s*)?')
_FIRST_KEY: Final = re.compile(rb'\{"[^"\\]*":')
_LONGEST_KEY: Final = 1 << 10


class PageCutter:
    """Cuts the body of a list into items: `feed` it what arrives, then ask for the `end`.

    Items are told apart as Go writes them: without spaces, all with the same first key. Where that stands in the middle
    of an item too (a list of templates), what is cut there is no JSON, and is tried again with what follows. Whatever
    is written in another way is kept until the end and then decoded as a whole: more memory, the same result.
    """

    def __init__(self) -> None:
        self._head = b""  # all up to the first item
        self._between: bytes | None = None  # where an item may end and the next begin; b"" where nobody can tell
        self._body = b""  # what is not cut yet
        self._looked = 0  # up to where that was looked at
        self._rest: list[bytes] = []  # what follows it, where nothing can be cut

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Take what came, and give the items that it completes."""
        if self._between == b"":
            self._rest.append(chunk)
            return
        self._body += chunk
        if self._between is None and not self._begin():
            return
        start, at, body = 0, self._looked, self._body
        while self._between and (comma := body.find(self._between, at)) >= 0:
            at = comma + 1
            if _is_json(item := body[start:comma]):
                yield item
                start = at
        self._body = body[start:]
        self._looked = max(at - start, len(self._body) - len(self._between or b""), 0)

    def end(self) -> tuple[list[bytes], ListMeta]:
        """The last items, and what the list says of itself. Raises msgspec.DecodeError for what is no list."""
        body = b"".join((self._body, *self._rest))
        # The last bracket closes the list, unless what follows the list has one, which Go's has not.
        close = body.rfind(b"]")
        if self._between and _is_json(item := body[:close].rstrip()):
            return [item], _decode_page(self._head + body[close:]).metadata
        page = _decode_page(self._head + body)
        return [bytes(item) for item in page.items or ()], page.metadata

    def _begin(self) -> bool:
        """Look for the first item. True where it was found, or where there is none that could be found."""
        items = _ITEMS.search(self._body)
        if items is None or len(self._body) < items.end() + 1:
            return False
        first = _FIRST_KEY.match(self._body, items.end()) if items["list"] else None
        if first is None and items["list"] and len(self._body) < items.end() + _LONGEST_KEY:
            return False
        self._between = b"," + first[0] if first else b""
        self._head, self._body = self._body[: items.end()], self._body[items.end() :]
        return True


class _Page(Struct):
    metadata: ListMeta = msgspec.field(default_factory=ListMeta)
    items: list[msgspec.Raw] | None  # required: what lacks it is no list, and must not pass for an empty one


_decode_page = msgspec.json.Decoder(_Page).decode
_skip = msgspec.json.Decoder(msgspec.Raw).decode


def _is_json(data: bytes) -> bool:
    try:
        _skip(data)
    except msgspec.DecodeError:
        return False
    except RecursionError:  # nested deeper than Python goes: whoever reads it will say so
        return True
    return True
