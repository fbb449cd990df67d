"""curl-me-that: a ConfigMap gets what a URL returns.

```
kubectl annotate configmap demo x-kv8s.io/curl-me-that=mydata=data.example.com
```

The annotation wants a key `mydata` with what `http://data.example.com` returns (`pairs.py` has the whole syntax). A URL
is fetched when it is new, when its interval has passed, or when its value was changed by hand; never because an event
came (`plan.py`). What was fetched is written down beside the value, in the same request (`record.py`). The fetching
itself, which must not reach what users may not reach, is in `fetch.py`.

The keys are owned by server-side apply: one that is no longer wanted goes by not being applied any more, and one that
somebody else owns is left to them (`ownership.py`). Whatever goes wrong leaves the data alone, and becomes an event.
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from random import Random
from typing import Final

from trimtab.controller import App, Context, Options, Requeue, annotated, requeue
from trimtab.controllers.curl_me_that.addresses import network
from trimtab.controllers.curl_me_that.fetch import Busy, Fetcher, FetchError
from trimtab.controllers.curl_me_that.memory import Memory
from trimtab.controllers.curl_me_that.ownership import others, owned_by, owners
from trimtab.controllers.curl_me_that.pairs import ANNOTATIONS, Pair, Problem, read_pairs
from trimtab.controllers.curl_me_that.plan import Plan, decide
from trimtab.controllers.curl_me_that.record import RECORD, Fetched, digest_of, read_record, values_of
from trimtab.controllers.curl_me_that.writing import write
from trimtab.kube.core.v1 import ConfigMap

__all__ = ["app", "fetcher", "memory"]

ROOM: Final = 1 << 20
"""Bytes that all values of a ConfigMap may have together."""


def positive(word: str) -> float:
    """A number of seconds, or of requests."""
    number = float(word)
    if not 0 < number < 1e9:
        raise ValueError("it has to be more than zero")
    return number


app = App("curl-me-that")
ALLOW_CIDR = app.option(
    "allow-cidr", "A network that may be fetched from though it is not public.", parse=network, many=True
)
TIMEOUT = app.option("fetch-timeout", "Seconds that a fetch may take.", default=10.0, parse=positive)
RATE = app.option("fetch-rate", "Requests a second to one host.", default=10.0, parse=positive)


def fetcher(options: Options) -> Fetcher:
    """The one who fetches, in a run."""
    return Fetcher(allowed=options[ALLOW_CIDR], timeout=options[TIMEOUT], rate=options[RATE])


def memory(_: Options) -> Memory:
    """What a run remembers."""
    return Memory(now=lambda: datetime.now(UTC), random=Random().random)  # noqa: S311  # spreads load


async def forget(key: str, ctx: Context) -> None:
    """The ConfigMap is gone, or asks for nothing."""
    ctx.once(memory).forget(key)


@app.controller(
    ConfigMap,
    where=annotated(ANNOTATIONS[0]) | annotated(ANNOTATIONS[1]) | annotated(RECORD),
    workers=32,
    gone=forget,
)
async def curl_me_that(config_map: ConfigMap, ctx: Context) -> Requeue | None:
    """Make the data of a ConfigMap what its annotation asks for."""
    if config_map.metadata.deletion_timestamp:
        return None
    remembered = ctx.once(memory)
    look = _Look(config_map, ctx, remembered)
    try:
        plan = look.plan()
        await look.ask_whose(plan)
        if config_map.immutable and (plan.fetch or plan.drop):
            look.problems.append(Problem("Immutable", "the ConfigMap is immutable: nothing can be written to it"))
        else:
            await look.fetch(plan)
            await look.write(plan)
        return look.tell()
    finally:
        remembered.keep(ctx.key, look.notes)


class _Look:
    """One look at one ConfigMap."""

    def __init__(self, config_map: ConfigMap, ctx: Context, remembered: Memory) -> None:
        self.ctx = ctx
        self.remembered = remembered
        self.notes = remembered.of(ctx.key, config_map.metadata.uid)
        self.busy: list[float] = []  # seconds until a host may be asked
        self.see(config_map)
        self.problems = [*self.wanted.problems]
        self.notes.keep_only(self.wanted.pairs)

    def see(self, config_map: ConfigMap) -> None:
        self.config_map = config_map
        annotations = config_map.metadata.annotations
        self.wanted = read_pairs(annotations)
        self.record = read_record(annotations.get(RECORD, ""))
        self.values = values_of(config_map)

    def plan(self) -> Plan:
        return decide(self.wanted, self.record, self.values, self.notes.troubles, self.remembered.now())

    async def ask_whose(self, plan: Plan) -> None:
        """Keys that are there and not written down are ours if we applied them, and somebody spoilt the record."""
        if not plan.doubtful:
            return
        live = await self.ctx.client.get(ConfigMap, self.ctx.name, namespace=self.ctx.namespace)
        us = self.ctx.client.field_manager
        for pair in plan.doubtful:
            if owned_by(live, pair.key, us):
                plan.fetch.append(pair)
            else:
                self.taken(pair, others(owners(live, pair.key), us))

    async def fetch(self, plan: Plan) -> None:
        """Fetch; the answers are kept until they are written. What fails waits, and the data stays as it is."""
        await asyncio.gather(*(self.fetch_one(pair) for pair in plan.fetch if pair.key not in self.notes.unwritten))

    async def fetch_one(self, pair: Pair) -> None:
        room = ROOM - sum(len(value) for key, value in self.values.items() if key != pair.key)
        try:
            body = await self.ctx.once(fetcher).fetch(pair.url, largest=max(room, 0))
        except Busy as busy:
            self.busy.append(busy.after)
        except FetchError as error:
            self.trouble(pair, error)
        else:
            self.notes.troubles.pop(pair.key, None)
            self.notes.unwritten[pair.key] = (pair, body)

    async def write(self, plan: Plan) -> None:
        """Write what was fetched, and let go of what is not wanted any more."""
        answers = self.notes.unwritten
        if not answers and not plan.drop:
            return
        fresh = self.ctx.find(ConfigMap, self.ctx.name)  # much may have changed while we fetched
        if fresh is None or fresh.metadata.uid != self.config_map.metadata.uid:
            answers.clear()
            return
        self.see(fresh)
        record = {key: fetched for key, fetched in self.record.items() if key in self.wanted.named}
        bodies = {key: self.values[key] for key in record if key in self.values}
        written: list[str] = []
        for key, (pair, body) in [*answers.items()]:
            if self.wanted.pairs.get(key) != pair:
                continue
            if self.size(bodies, but=key) + len(body) > ROOM:
                text = f"a ConfigMap holds {ROOM} bytes, and there is no room for {len(body)} more"
                self.trouble(pair, FetchError("TooLarge", text))
                continue
            record[key] = Fetched(pair.url, digest_of(body), self.remembered.now())
            bodies[key] = body
            written.append(key)
        dropped = sorted(self.record.keys() - record.keys())
        claimed = await write(self.ctx, fresh, record, bodies, self.record) if written or dropped else {}
        for key in claimed.keys() & self.wanted.pairs.keys():
            self.taken(self.wanted.pairs[key], claimed[key])
        for key in written:
            if key not in claimed:
                self.say("Fetched", f"{answers[key][0]}: {len(bodies[key])} bytes")
        for key in dropped:
            self.say("Removed", f"{key} goes, for nothing asks for it any more")
        answers.clear()

    def size(self, bodies: dict[str, bytes], but: str) -> int:
        return sum(len(value) for key, value in (self.values | bodies).items() if key != but)

    def taken(self, pair: Pair, by: list[str]) -> None:
        text = f"the key is there already, and is set by {', '.join(by) or 'somebody else'}"
        self.trouble(pair, FetchError("KeyTaken", text, for_good=True), value=self.values.get(pair.key))

    def trouble(self, pair: Pair, error: FetchError, value: bytes | None = None) -> None:
        """Remember that it failed, and when to try again."""
        problem = Problem(error.reason, f"{pair}: {error}")
        trouble = self.remembered.trouble(
            self.notes,
            pair,
            problem,
            for_good=error.for_good,
            at_least=error.retry_after,
            while_it_is=digest_of(value) if value is not None else "",
        )
        self.notes.troubles[pair.key] = trouble
        self.notes.told.pop(problem, None)  # it happened once more, so it is told once more
        self.ctx.log.warning("not fetched", pair=str(pair), reason=error.reason, error=str(error), tries=trouble.tries)

    def say(self, reason: str, text: str) -> None:
        self.ctx.event("Normal", reason, text, action="Fetch")
        self.ctx.log.info(reason.lower(), what=text)

    def tell(self) -> Requeue | None:
        """Tell of what is wrong, and say when to look again."""
        self.problems += [trouble.problem for trouble in self.notes.troubles.values()]
        now = self.remembered.now()
        for problem in self.notes.to_tell(self.problems, now):
            self.ctx.event("Warning", problem.reason, problem.text, action="Fetch")
        if (fresh := self.ctx.find(ConfigMap, self.ctx.name)) is not None:
            self.see(fresh)
        times = [at for at in (self.plan().next, self.notes.next_reminder()) if at is not None]
        pauses = [*self.busy, *((at - now).total_seconds() for at in times)]
        return requeue(after=max(min(pauses), 0.1)) if pauses else None
