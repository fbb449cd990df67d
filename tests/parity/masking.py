"""What differs between two runs of the same server, made the same: uids, times, revisions, the namespace's name."""

from __future__ import annotations

import re
from typing import Any

from tests.parity.playing import Answer

_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
_CURRENT = re.compile(r"(current: |in record \()\d+")


class Mask:
    """Of one run: revisions become their ranks, so that what is told by them stays."""

    def __init__(self, namespace: str, answers: list[Answer]) -> None:
        self._namespace = namespace
        self._uids: dict[str, str] = {}
        found: set[int] = set()
        for answer in answers:
            _collect(answer.body, found)
        self._ranks = {str(version): f"<revision {rank}>" for rank, version in enumerate(sorted(found))}

    def of(self, answer: Answer) -> dict[str, Any]:
        """An answer, to be compared."""
        headers = {name: value for name, value in answer.headers.items() if name != "cache-control"}
        return {"status": answer.status, "headers": self._mask(headers), "body": self._mask(answer.body)}

    def _mask(self, value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            described = {"priority", "format"} <= value.keys()  # a table's column: what it is for is no fact we keep
            return {k: self._mask(v, k) for k, v in value.items() if not (described and k == "description")}
        if isinstance(value, list):
            return [self._mask(item) for item in value]
        if not isinstance(value, str):
            return value
        if key == "resourceVersion":
            return self._ranks.get(value, value)
        if key == "continue":
            return "<token>"
        text = value.replace(self._namespace, "<namespace>")
        text = _UID.sub(lambda m: self._uids.setdefault(m[0], f"<uid {len(self._uids)}>"), text)
        return _CURRENT.sub(r"\1<revision>", _TIME.sub("<time>", text))


def _collect(value: Any, found: set[int]) -> None:
    if isinstance(value, dict):
        for key, item in value.items():
            if key == "resourceVersion" and isinstance(item, str) and item.isdigit():
                found.add(int(item))
            else:
                _collect(item, found)
    elif isinstance(value, list):
        for item in value:
            _collect(item, found)
