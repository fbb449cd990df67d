"""Requests that make sense, those of the parity corpus, and how they are changed so that they make less."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, TypeAlias

import msgspec
from tests.apiserver.fuzzing.words import KEYS, SCALARS, TEXTS
from tests.parity import scripts
from tests.parity.playing import Step

from trimtab.apiserver.messages import Request, User

_REFERENCE = re.compile(r"\$(\d+)((?:\.[\w-]+)+)")
Way: TypeAlias = tuple[Any, ...]
"""The keys and indexes down to a value."""
_LONG = "9" * 5000  # digits are more than Python reads
ODD: list[Any] = [
    _LONG,
    f"{_LONG}%",
    f"1e{_LONG}",
    f"v{_LONG}",
    f"1.1.1.1/{_LONG}",
    f"{_LONG}s",
    f"[{_LONG}:]",
    f"0.{_LONG}",
]
ODD += [7 * 10**18, -1, 1.5, True, "é", "\x00", "", [], {}, [None], [[]], {"a": None}]
_PLACES = {"$HOOK": "https://127.0.0.1:9", "$CABUNDLE": "Cg=="}


class Corpus:
    """The steps of all scripts that are requests."""

    def __init__(self) -> None:
        areas = scripts.areas("1.36")
        scripts_ = [script.steps for area in areas.values() for script in area]
        asked = [[step for step in steps if step.method not in ("KUBECTL", "HOOKS")] for steps in scripts_]
        self.scripts = [steps for steps in asked if steps]

    def play(self, dice: random.Random, user: User, *, often: float = 0.5) -> list[Request]:
        """The requests of a script, in their order, some of them changed."""
        namespace = dice.choice(["default", "other"])
        steps = dice.choice(self.scripts)
        return [_request(dice, step, namespace, user, changed=dice.random() < often) for step in steps]

    def places(self) -> list[tuple[Step, Way, Any]]:
        """All places in all bodies, once for a path, with each of what does not belong there."""
        found: dict[tuple[str, str, Way], tuple[Step, Way]] = {}
        for step in (step for steps in self.scripts for step in steps if isinstance(step.body, dict | list)):
            for way in _ways(step.body):
                like = tuple("" if isinstance(part, int) else part for part in way)
                found.setdefault((step.method, step.path.partition("?")[0], like), (step, way))
        return [(step, way, odd) for step, way in found.values() for odd in ODD]

    def odd(self, dice: random.Random, step: Step, way: Way, odd: Any, user: User) -> Request:
        """The request of a step with something else in one place."""
        changed = replace(step, body=_put(step.body, way, odd))
        return _request(dice, changed, "default", user, changed=False)


def _ways(value: Any, way: Way = ()) -> Iterator[Way]:
    yield way
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _ways(item, (*way, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _ways(item, (*way, index))


def _put(value: Any, way: Way, odd: Any) -> Any:
    if not way:
        return odd
    if isinstance(value, dict):
        return {**value, way[0]: _put(value[way[0]], way[1:], odd)}
    return [*value[: way[0]], _put(value[way[0]], way[1:], odd), *value[way[0] + 1 :]]


def _request(dice: random.Random, step: Step, namespace: str, user: User, *, changed: bool) -> Request:
    def fill(text: str) -> str:
        text = _REFERENCE.sub(lambda _: dice.choice(["1", "5", "10", "a", "absent"]), text)
        for word, place in _PLACES.items():
            text = text.replace(word, place)
        return text.replace("$NS", namespace)

    headers = {name.lower(): fill(value) for name, value in step.headers.items()}
    headers.pop("authorization", None)
    if isinstance(step.body, bytes):
        body = step.body
    elif step.body is None:
        body = b""
    else:
        body = fill(step.body if isinstance(step.body, str) else msgspec.json.encode(step.body).decode()).encode()
    path, _, query = fill(step.path).partition("?")
    if changed:
        body = changed_body(dice, body)
        if dice.random() < 0.1:
            path = changed_text(dice, path)
        if dice.random() < 0.1:
            query = changed_text(dice, query)
        if dice.random() < 0.1 and headers:
            name = dice.choice(list(headers))
            headers[name] = changed_text(dice, headers[name])
    return Request(step.method, path, query, headers, body, user)


def changed_text(dice: random.Random, text: str) -> str:
    """A text of which a part is another."""
    place = dice.randrange(len(text) + 1)
    odd = dice.choice([*TEXTS, "%", "%00", "/", "..", "&", "=", ";", ","]).encode("utf-8", "replace").decode("latin-1")
    return text[:place] + odd + text[place + dice.randrange(3) :]


def changed_body(dice: random.Random, body: bytes) -> bytes:
    """A body in which one thing to three are otherwise."""
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return changed_bytes(dice, body)
    if dice.random() < 0.1:
        return changed_bytes(dice, body)
    for _ in range(dice.randrange(1, 4)):
        value = changed_value(dice, value)
    return msgspec.json.encode(value)


def changed_bytes(dice: random.Random, body: bytes) -> bytes:
    """Bytes of which some are others, gone, or there twice."""
    made = bytearray(body or b"{}")
    for _ in range(dice.randrange(1, 4)):
        place = dice.randrange(len(made) + 1)
        kind = dice.randrange(4)
        if kind == 0:
            made[place : place + 1] = bytes([dice.randrange(256)])
        elif kind == 1:
            del made[place : place + dice.randrange(20)]
        elif kind == 2:
            made[place:place] = made[place : place + dice.randrange(20)]
        else:
            made[place:place] = dice.choice([b"\xff", b"\x00", b"\\ud800", b"{", b"[", b'"', b"1e999", b"\xef\xbb\xbf"])
    return bytes(made)


def changed_value(dice: random.Random, value: Any) -> Any:
    """A value in which something is something else, is gone, or is there twice."""
    if isinstance(value, dict) and value:
        key = dice.choice(list(value))
        kind = dice.random()
        if kind < 0.8:
            return {**value, key: changed_value(dice, value[key])}
        if kind < 0.9:
            return {other: each for other, each in value.items() if other != key}
        return {**value, dice.choice(KEYS): value[key]}
    if isinstance(value, list) and value:
        place = dice.randrange(len(value))
        kind = dice.random()
        if kind < 0.8:
            return [*value[:place], changed_value(dice, value[place]), *value[place + 1 :]]
        return [*value, value[place]] if kind < 0.9 else value[:place] + value[place + 1 :]
    kind = dice.random()
    if kind < 0.15:
        return [value]
    if kind < 0.3:
        return {dice.choice(KEYS): value}
    if isinstance(value, str) and kind < 0.5:
        return value + dice.choice(["\x00", "é", " ", "\n", "-", ".", "/", "a" * 300, "$(x)", "%"])
    if isinstance(value, int) and kind < 0.5:
        return dice.choice(
            [-value, value + 2**31, value * 2**40 if abs(value) < 2**20 else 0, float(value), str(value)]
        )
    return dice.choice([*SCALARS, [], {}])
