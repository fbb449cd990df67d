"""What is to be done about a ConfigMap now, and when to look again. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from trimtab.controllers.curl_me_that.memory import Trouble
from trimtab.controllers.curl_me_that.pairs import Pair, Wanted
from trimtab.controllers.curl_me_that.record import Fetched, digest_of

BETWEEN: Final = timedelta(seconds=5)
"""The least time between two fetches of a URL for one key: somebody may change the value again and again."""


@dataclass(slots=True)
class Plan:
    """What to fetch, whose owner to find out, what to let go of, what is as it should be, and when to look again."""

    fetch: list[Pair] = field(default_factory=list[Pair])
    doubtful: list[Pair] = field(default_factory=list[Pair])
    drop: list[str] = field(default_factory=list[str])
    settled: set[str] = field(default_factory=set[str])
    next: datetime | None = None


def decide(
    wanted: Wanted,
    record: Mapping[str, Fetched],
    values: Mapping[str, bytes],
    troubles: Mapping[str, Trouble],
    now: datetime,
) -> Plan:
    """A URL is fetched when it is new, when its interval has passed, or when its value was changed by hand.

    That an event came is no reason, nor is a failure: what failed waits until its time has come.
    """
    plan = Plan(drop=[key for key in record if key not in wanted.named])
    for pair in wanted.pairs.values():
        due = _due(pair, record.get(pair.key), values.get(pair.key))
        if due is None:
            plan.settled.add(pair.key)
            continue
        if (trouble := troubles.get(pair.key)) is not None and _holds(trouble, pair, values.get(pair.key)):
            due = max(due, trouble.until)
        if due > now:
            plan.next = due if plan.next is None else min(plan.next, due)
        elif pair.key in values and pair.key not in record:
            plan.doubtful.append(pair)
        else:
            plan.fetch.append(pair)
    return plan


def _holds(trouble: Trouble, pair: Pair, value: bytes | None) -> bool:
    """Whether it is still what failed."""
    if trouble.url != pair.url:
        return False
    return not trouble.while_it_is or (value is not None and trouble.while_it_is == digest_of(value))


def _due(pair: Pair, fetched: Fetched | None, value: bytes | None) -> datetime | None:
    """When it is to be fetched; None for never."""
    if fetched is None or fetched.url != pair.url:
        return _AT_ONCE
    if value is None or digest_of(value) != fetched.digest:
        return fetched.at + BETWEEN
    return fetched.at + pair.every if pair.every is not None else None


_AT_ONCE: Final = datetime.fromisoformat("1970-01-01T00:00:00+00:00")
