"""The annotation: which keys are wanted from which URLs. Pure.

One pair a line, and after the URL, if it is to be fetched again and again, how often:

```
mydata=data.example.com
rates=https://rates.example.com/latest every 1h
```
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final
from urllib.parse import urlsplit

from trimtab.errors import one_line
from trimtab.kube.duration import parse_duration
from trimtab.kube.invalid import InvalidValueError

ANNOTATIONS: Final = ("x-kv8s.io/curl-me-that", "x-k8s.io/curl-me-that")
"""Either will do, and both may be there."""
MOST_PAIRS: Final = 50
SHORTEST_INTERVAL: Final = timedelta(seconds=10)

_LONGEST_URL: Final = 2048
_LONGEST_KEY: Final = 253
_KEY: Final = re.compile(r"[-._a-zA-Z0-9]+")
_SCHEME: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://")
_HOST: Final = re.compile(r"[^\s/?#@\\%\x00-\x20\x7f]+")
_SECRET: Final = re.compile(r"[^\s=/]*@")
_QUERY: Final = re.compile(r"\?\S+")


@dataclass(frozen=True, slots=True)
class Pair:
    """A key, the URL that its value comes from, and how often that is to be fetched (None: once)."""

    key: str
    url: str
    every: timedelta | None = None

    def __str__(self) -> str:
        return f"{self.key}={shown(self.url)}"


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a pair is not as it should be: `reason` is one word, `text` names the pair."""

    reason: str
    text: str


@dataclass(frozen=True, slots=True)
class Wanted:
    """What an annotation says: the pairs that can be fetched, what is wrong with the others, and all keys named."""

    pairs: dict[str, Pair] = field(default_factory=dict[str, Pair])
    problems: list[Problem] = field(default_factory=list[Problem])
    named: set[str] = field(default_factory=set[str])
    """Also keys whose pairs are wrong: what is wrong leaves the data alone."""


class BadURL(ValueError):
    """No URL that can be fetched; the text says why, and shows nothing secret."""


def read_pairs(annotations: Mapping[str, str]) -> Wanted:
    """What the annotations want."""
    wanted = Wanted()
    lines = [line.strip() for name in ANNOTATIONS for line in annotations.get(name, "").splitlines()]
    for line in filter(None, lines):
        _read_line(line, wanted)
    return wanted


def shown(url: str) -> str:
    """A URL for logs and events: without what may be secret in it."""
    return one_line(_QUERY.sub("?…", _SECRET.sub("…@", url)), limit=200)


def checked(url: str) -> str:
    """The URL, with a scheme, if it is one that can be fetched; else BadURL."""
    if _SCHEME.match(url) is None:
        url = f"http://{url}"
    if len(url) > _LONGEST_URL:
        raise BadURL(f"a URL has at most {_LONGEST_URL} characters")
    if re.search(r"[\s\x00-\x1f\x7f\\]", url):
        raise BadURL("a URL has no spaces")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise BadURL(f"that is no URL: {one_line(str(error))}") from None
    if parts.scheme not in ("http", "https"):
        raise BadURL(f"{parts.scheme} is not fetched, only http and https are")
    if "@" in parts.netloc:
        raise BadURL("a URL with a user or password in it is not fetched: everybody could read it")
    if not parts.hostname or port == 0 or not _HOST.fullmatch(parts.hostname):
        raise BadURL("that is no URL: it names no host")
    return parts._replace(fragment="").geturl()


def _read_line(line: str, wanted: Wanted) -> None:
    key, equals, rest = (part.strip() for part in line.partition("="))
    if not equals or not rest:
        text = f"{shown(line)!r} is no pair: write key=url, such as mydata=data.example.com"
        wanted.problems.append(Problem("BadPair", text))
        if not equals:
            return
    if not _KEY.fullmatch(key) or key.startswith("..") or key == "." or len(key) > _LONGEST_KEY:
        text = (
            f"{shown(line)!r}: a key has only letters, digits, dots, dashes and underscores, and does not begin with .."
        )
        wanted.problems.append(Problem("BadKey", text))
        return
    if key in wanted.named:
        wanted.pairs.pop(key, None)
        wanted.problems.append(Problem("BadPair", f"{shown(line)!r}: {key} is named twice"))
        return
    wanted.named.add(key)
    if not rest:
        return
    if len(wanted.named) > MOST_PAIRS:
        text = f"{shown(line)!r} is not fetched: an object may have {MOST_PAIRS} pairs"
        wanted.problems.append(Problem("BadPair", text))
        return
    url, _, interval = (part.strip() for part in rest.partition(" every "))
    try:
        wanted.pairs[key] = Pair(key, checked(url), _interval(interval) if interval else None)
    except BadURL as error:
        wanted.problems.append(Problem("BadURL", f"{shown(line)!r}: {error}"))
    except InvalidValueError as error:
        wanted.problems.append(Problem("BadPair", f"{shown(line)!r}: {error}"))


def _interval(text: str) -> timedelta:
    every = parse_duration(text)
    if every < SHORTEST_INTERVAL:
        raise InvalidValueError(f"every {text} is too often: every 10s is what is allowed")
    return every
