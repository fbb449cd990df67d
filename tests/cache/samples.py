"""Objects and refusals as an API server writes them, and `virtual`, which runs a test in virtual time."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable
from copy import deepcopy
from typing import Any

import msgspec
from tests.client.conftest import JumpingLoop

Obj = dict[str, Any]


def virtual(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Run a coroutine function as a test in virtual time."""

    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        with asyncio.Runner(loop_factory=JumpingLoop) as runner:
            runner.run(test(*args, **kwargs))  # type: ignore[arg-type]

    return run


def pod(name: str, namespace: str = "default", *, image: str = "nginx", **metadata: Any) -> Obj:
    meta = {"name": name, "namespace": namespace, **metadata}
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": meta,
        "spec": {"containers": [{"name": "c", "image": image}]},
    }


def config_map(name: str, namespace: str = "default", data: Any = None, **metadata: Any) -> Obj:
    meta = {"name": name, "namespace": namespace, **metadata}
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": meta, "data": data or {}}


def status(code: int, reason: str, *, cause: str = "", message: str = "no") -> tuple[int, bytes]:
    """An answer that refuses."""
    details = {"causes": [{"reason": cause}]} if cause else {}
    body = {
        "kind": "Status",
        "apiVersion": "v1",
        "code": code,
        "reason": reason,
        "message": message,
        "details": details,
    }
    return code, msgspec.json.encode(body)


EXPIRED = status(410, "Expired", message="too old resource version")
TOO_LARGE = status(504, "Timeout", cause="ResourceVersionTooLarge", message="Too large resource version")
REFUSES_TO_STREAM = status(422, "Invalid", message="sendInitialEvents is forbidden")
FORBIDDEN = status(403, "Forbidden", message="pods is forbidden")
BUSY = status(429, "TooManyRequests")
UNSERVED = (404, b"404 page not found\n")


def key_of(obj: Obj) -> str:
    meta = obj["metadata"]
    return f"{meta['namespace']}/{meta['name']}" if meta.get("namespace") else meta["name"]


def version_of(obj: Obj) -> int:
    return int(obj["metadata"]["resourceVersion"])


def merged(old: Any, patch: Any) -> Any:
    """A JSON merge patch."""
    if not isinstance(patch, dict) or not isinstance(old, dict):
        return deepcopy(patch)
    result = deepcopy(old)
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(old[name], value) if name in old else deepcopy(value)
    return result
