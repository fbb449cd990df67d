"""Answers in a form in which two servers can be compared: what is made up by a server is told by its relations.

A resource version becomes its rank among those of the script, a uid its number, a time `<time>`. The descriptions of a
table's columns are left out, because the facts of the server inside are made without such texts; so is the bookmark
that comes half a second after the initial events, or not at all. The rules of a review are sorted, since Go gives them
in the order of its maps: any. All else stays.
"""

from __future__ import annotations

import base64
import bisect
import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.parity.playing import Answer

_UUID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
_TIME = re.compile(r"\b(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?(Z|[+-]\d\d:\d\d)")
_LONG_TIME = re.compile(r"\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}")
_ADDRESS = re.compile(r"(https?://)?127\.0\.0\.1:\d+(/(real|again|ours)(?=/))?")
_CURRENT = re.compile(r"(current: |in record \(|resourceVersion\"?: \"?)\d+")
_HASH = re.compile(r"hash=[0-9A-F]{16,}")
_AGE = re.compile(r"\b\d+(s|m|m\d+s|h|h\d+m)(?= ago\b|\b)")
_SPACES = re.compile(r" {3,}")
_JWT = re.compile(r"\beyJ[\w-]+\.([\w-]+)\.[\w-]+")
_CERTIFICATE = re.compile(r"LS0tLS1CRUdJTi[\w+/=]+")
_MADE = re.compile(r"[bcdfghjklmnpqrstvwxz2456789]{5}\Z")
_LINE_OF_SOURCE = re.compile(r"(\.go:)\d+")
_YAML_DESCRIPTION = re.compile(r"^(- description: ).*(\n {4}.*|\n(?=\n))*", re.MULTILINE)
_UNSORTED = ("resourceRules", "nonResourceRules")
_ENDS_INITIAL = "k8s.io/initial-events-end"
_COLUMN = {"name", "type", "format", "priority"}  # a table's: what the server inside knows of kinds has no descriptions
_LIST_KINDS = ("List", "Table")


def renewed(recorded: Any) -> Any:
    """Recorded answers in today's form, where it was made to say less."""
    if isinstance(recorded, dict):
        return {key: renewed(item) for key, item in recorded.items()}
    if isinstance(recorded, list):
        return [renewed(item) for item in recorded]
    return _CERTIFICATE.sub("<certificate>", recorded) if isinstance(recorded, str) else recorded


class Canonical:
    """The canonical form of one script's answers from one server."""

    def __init__(self, answers: list[Answer], now: datetime | None = None) -> None:
        self._now = now or datetime.now(UTC)
        self._uids: dict[str, str] = {}
        self._versions: list[int] = []
        self._names: dict[str, str] = {}
        for answer in answers:
            self._collect(answer.body)
        self._versions = sorted(set(self._versions))
        self.answers = [
            {"status": a.status, "headers": self._value(a.headers, ()), "body": self._body(a.body)} for a in answers
        ]

    def _collect(self, value: Any) -> None:
        if isinstance(value, list):
            for item in value:
                self._collect(item)
        elif isinstance(value, dict):
            metadata = value.get("metadata")
            if isinstance(metadata, dict):
                version = metadata.get("resourceVersion")
                if isinstance(version, str) and version.isdigit() and not _of_list(value):
                    self._versions.append(int(version))
                name, prefix = metadata.get("name"), metadata.get("generateName")
                if name and prefix and str(name).startswith(prefix) and _MADE.match(name[len(prefix) :]):
                    self._names[name] = f"{prefix}<made>"
            if value.get("type") != "BOOKMARK":
                for item in value.values():
                    self._collect(item)

    def _body(self, body: Any) -> Any:
        if isinstance(body, dict) and body.keys() == {"stdout", "stderr"}:
            return {name: [self._printed(line) for line in lines] for name, lines in body.items()}
        if isinstance(body, str) and "\nkind: Table\n" in body:
            body = _YAML_DESCRIPTION.sub(r"\1<text>", body)
        if isinstance(body, list):
            body = _told(body)
        return self._value(body, ())

    def _printed(self, line: str) -> str:
        return _SPACES.sub("   ", _AGE.sub("<age>", self._text(line))).rstrip()

    def _value(self, value: Any, way: tuple[str, ...]) -> Any:
        if isinstance(value, list):
            return [self._value(item, way) for item in value]
        if isinstance(value, str):
            return self._text(value)
        if not isinstance(value, dict):
            return value
        loose = _of_list(value) or value.get("type") == "BOOKMARK"
        made: dict[str, Any] = {}
        for key, item in sorted(value.items()):
            if key == "metadata" and isinstance(item, dict):
                made[key] = self._metadata(item, loose=_of_list(value) or way == ("BOOKMARK",))
            elif key == "description" and value.keys() >= _COLUMN:
                continue
            elif key == "cells" and isinstance(item, list):
                made[key] = [_AGE.sub("<age>", c) if isinstance(c, str) else c for c in self._value(item, ())]
            elif key in _UNSORTED and isinstance(item, list):
                made[key] = sorted(self._value(item, ()), key=json.dumps)
            else:
                made[key] = self._value(item, ("BOOKMARK",) if loose and key == "object" else ())
        return made

    def _metadata(self, metadata: dict[str, Any], *, loose: bool) -> Any:
        made = self._value({k: v for k, v in metadata.items() if k not in ("resourceVersion", "continue")}, ())
        version = metadata.get("resourceVersion")
        if version is not None:
            made["resourceVersion"] = self._version(version, loose=loose)
        if "continue" in metadata:
            made["continue"] = self._token(metadata["continue"])
        return made

    def _version(self, version: Any, *, loose: bool) -> str:
        text = str(version)
        if not text.isdigit() or text == "0":
            return text
        rank = bisect.bisect_right(self._versions, int(text))
        return f"since #{rank}" if loose else f"#{rank}"

    def _token(self, token: str) -> Any:
        """What a continue token says, where it is one of those that name a key."""
        try:
            said = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
            return {**said, "rv": self._version(said["rv"], loose=True)}
        except (ValueError, KeyError, TypeError):
            return token

    def _text(self, text: str) -> str:
        for name, made in self._names.items():
            text = text.replace(name, made)
        text = _JWT.sub(lambda m: f"<token {self._claims(m[1])}>", text)
        text = _UUID.sub(lambda m: self._uids.setdefault(m[0], f"<uid {len(self._uids) + 1}>"), text)
        text = _TIME.sub(self._time, text)
        text = _LONG_TIME.sub("<long time>", text)
        text = _LINE_OF_SOURCE.sub(r"\1<line>", text)
        text = _ADDRESS.sub("<address>", text)
        text = _CURRENT.sub(r"\1<version>", text)
        text = _CERTIFICATE.sub("<certificate>", text)
        text = text.replace("kubernetes-admin", "admin")  # each server's administrator has a name of their own
        return _HASH.sub("hash=<hash>", text)

    def _time(self, match: re.Match[str]) -> str:
        try:
            said = datetime.fromisoformat(match[1]).replace(tzinfo=UTC)
        except ValueError:
            return match[0]
        if abs(said - self._now) > timedelta(days=2):
            return match[0]  # a time that the script gave
        return f"<time.{len(match[2]) - 1}>" if match[2] else "<time>"

    def _claims(self, part: str) -> str:
        said = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
        for name in ("iat", "nbf"):
            said[name] = "<issued>" if name in said else None
        lasting = {k: v for k, v in said.items() if k != "exp"}
        return self._text(json.dumps(lasting, sort_keys=True))


def _of_list(value: dict[str, Any]) -> bool:
    kind = value.get("kind")
    return "items" in value or "rows" in value or (isinstance(kind, str) and kind.endswith(_LIST_KINDS))


def _told(events: list[Any]) -> Any:
    """Without the bookmark that comes after the one that ends the initial events, if there is time."""
    kept = [event for before, event in zip([None, *events], events, strict=False) if not _comes_after(before, event)]
    return kept[0] if len(kept) == 1 < len(events) else kept  # a body of one line is read as that alone


def _comes_after(before: Any, event: Any) -> bool:
    bookmarks = [isinstance(each, dict) and each.get("type") == "BOOKMARK" for each in (before, event)]
    return all(bookmarks) and _ENDS_INITIAL in json.dumps(before) and _ENDS_INITIAL not in json.dumps(event)
