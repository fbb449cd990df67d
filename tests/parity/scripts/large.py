"""What is too large to be written as text, or is no text."""

from __future__ import annotations

from typing import Any

from tests.parity.playing import Script, Step
from tests.parity.scripts.making import PATHS

_DEEP = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"deep"},"x":' + "[" * 20000 + "]" * 20000 + "}"


def _alone(name: str, body: Any) -> Script:
    return Script(name, [Step("POST", PATHS["cms"], body)])


def _cm(data: str = "", annotation: str = "") -> dict[str, Any]:
    metadata = {"name": "big", "annotations": {"a": annotation}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": data}}


SCRIPTS = [
    _alone("nothing at all", ""),
    _alone("bytes that are no text", b'{"metadata":{"name":"\xff\xfe"}}'),
    _alone("a body that is too deep", _DEEP),
    _alone("annotations that are too long", _cm(annotation="x" * 300_000)),
    _alone("a body of three megabytes", _cm("x" * (3 * 1024 * 1024 + 10))),
    _alone("an object of a megabyte", _cm("x" * (1024 * 1024 + 10))),
]
