"""What was fetched, written down beside it: an annotation that `kubectl describe` shows. Pure.

```
trimtab.dev/curl-me-that-fetched: |
  mydata 2026-11-19T20:36:00Z sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae http://data.example.com
```

Trimtab keeps no state in users' annotations, and this is the exception, for two reasons. People want to see what was
fetched and when. And it is the only place that says, whatever became of the controller, that a URL whose answer is
different each time has been fetched already: it is written together with the value, in one request, so that there is
neither without the other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from trimtab.kube.core.v1 import ConfigMap
from trimtab.kube.invalid import InvalidValueError
from trimtab.kube.timestamps import format_time, parse_time

RECORD: Final = "trimtab.dev/curl-me-that-fetched"


@dataclass(frozen=True, slots=True)
class Fetched:
    """What the value of a key was made of."""

    url: str
    digest: str
    at: datetime


def read_record(text: str) -> dict[str, Fetched]:
    """What is written down. A line that somebody spoilt says nothing."""
    record: dict[str, Fetched] = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) == 4:
            key, at, digest, url = words
            try:
                record[key] = Fetched(url, digest, parse_time(at))
            except InvalidValueError:
                continue
    return record


def write_record(record: Mapping[str, Fetched]) -> str:
    """The text to write down."""
    return "\n".join(
        f"{key} {format_time(fetched.at)} {fetched.digest} {fetched.url}" for key, fetched in sorted(record.items())
    )


def digest_of(body: bytes) -> str:
    """Tells one value from another."""
    return f"sha256:{hashlib.sha256(body).hexdigest()}"


def values_of(config_map: ConfigMap) -> dict[str, bytes]:
    """The values of a ConfigMap, text or not."""
    return {key: text.encode() for key, text in config_map.data.items()} | dict(config_map.binary_data)
