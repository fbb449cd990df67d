"""One look at one ConfigMap, step by step: whose its keys are, fetching, writing, telling."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from trimtab.controller import Context, Requeue, requeue
from trimtab.controllers.curl_me_that.fetch import Busy, Fetcher, FetchError
from trimtab.controllers.curl_me_that.memory import Memory
from trimtab.controllers.curl_me_that.ownership import others, owned_by, owners
from trimtab.controllers.curl_me_that.pairs import Pair, Problem, read_pairs
from trimtab.controllers.curl_me_that.plan import Plan, decide
from trimtab.controllers.curl_me_that.record import RECORD, Fetched, digest_of, read_record, values_of
from trimtab.controllers.curl_me_that.writing import write
from trimtab.kube.core.v1 import ConfigMap

ROOM: Final = 1 << 20
"""Bytes that all values of a ConfigMap may have together."""


class Look:
    """One look at one ConfigMap."""

    def __init__(self, config_map: ConfigMap, ctx: Context, fetcher: Fetcher, remembered: Memory) -> None:
        self.ctx = ctx
        self.fetcher = fetcher
        self.remembered = remembered
        self.notes = remembered.of(ctx.key, config_map.metadata.uid)
        self.busy: list[float] = []  # seconds until a host may be asked
        self.see(config_map)
        self.problems = [*self.wanted.problems]

    @contextmanager
    def remembering(self) -> Generator[None]:
        """Whatever comes of it, what was learnt is kept for the next look."""
        try:
            yield
        finally:
            self.remembered.keep(self.ctx.key, self.notes)

    def see(self, config_map: ConfigMap) -> None:
        """Take the ConfigMap for what there is."""
        self.config_map = config_map
        annotations = config_map.metadata.annotations
        self.wanted = read_pairs(annotations)
        self.record = read_record(annotations.get(RECORD, ""))
        self.values = values_of(config_map)

    def plan(self) -> Plan:
        """What is to be done, and what of what is remembered still counts."""
        plan = decide(self.wanted, self.record, self.values, self.notes.troubles, self.remembered.now())
        pairs = self.wanted.pairs
        self.notes.keep_only({key: pairs[key] for key in pairs.keys() - plan.settled})
        return plan

    async def ask_whose_keys(self, plan: Plan) -> None:
        """Keys that are there and not written down are ours if we applied them, and somebody spoilt the record."""
        if not plan.doubtful:
            return
        live = await self.ctx.client.get(ConfigMap, self.ctx.name, namespace=self.ctx.namespace)
        us = self.ctx.client.field_manager
        for pair in plan.doubtful:
            if owned_by(live, pair.key, us):
                plan.fetch.append(pair)
            else:
                self._taken(pair, others(owners(live, pair.key), us))

    async def fetch(self, plan: Plan) -> None:
        """Fetch; the answers are kept until they are written. What fails waits, and the data stays as it is."""
        await asyncio.gather(*(self._fetch_one(pair) for pair in plan.fetch if pair.key not in self.notes.unwritten))

    async def _fetch_one(self, pair: Pair) -> None:
        room = ROOM - sum(len(value) for key, value in self.values.items() if key != pair.key)
        try:
            body = await self.fetcher.fetch(pair.url, largest=max(room, 0))
        except Busy as busy:
            self.busy.append(busy.after)
        except FetchError as error:
            self._trouble(pair, error)
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
            if self._size(bodies, but=key) + len(body) > ROOM:
                text = f"a ConfigMap holds {ROOM} bytes, and there is no room for {len(body)} more"
                self._trouble(pair, FetchError("TooLarge", text))
                continue
            record[key] = Fetched(pair.url, digest_of(body), self.remembered.now())
            bodies[key] = body
            written.append(key)
        dropped = sorted(self.record.keys() - record.keys())
        claimed = await write(self.ctx, fresh, record, bodies, self.record) if written or dropped else {}
        for key in claimed.keys() & self.wanted.pairs.keys():
            self._taken(self.wanted.pairs[key], claimed[key])
        for key in written:
            if key not in claimed:
                self._say("Fetched", f"{answers[key][0]}: {len(bodies[key])} bytes")
        for key in dropped:
            self._say("Removed", f"{key} goes, for nothing asks for it any more")
        answers.clear()

    def _size(self, bodies: dict[str, bytes], but: str) -> int:
        return sum(len(value) for key, value in (self.values | bodies).items() if key != but)

    def _taken(self, pair: Pair, by: list[str]) -> None:
        text = f"the key is there already, and is set by {', '.join(by) or 'somebody else'}"
        self._trouble(pair, FetchError("KeyTaken", text, for_good=True), value=self.values.get(pair.key))

    def _trouble(self, pair: Pair, error: FetchError, value: bytes | None = None) -> None:
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

    def _say(self, reason: str, text: str) -> None:
        self.ctx.event("Normal", reason, text, action="Fetch")
        self.ctx.log.info(reason.lower(), what=text)

    def complain(self, reason: str, text: str) -> None:
        """Something is not as it should be."""
        self.problems.append(Problem(reason, text))

    def tell(self) -> Requeue | None:
        """Tell of what is wrong, and say when to look again."""
        troubles = [trouble.problem for trouble in self.notes.troubles.values()]
        logged = {*self.notes.told, *troubles}  # a fetch that fails is logged when it does; nor are reminders
        self.problems += troubles
        now = self.remembered.now()
        for problem in self.notes.to_tell(self.problems, now):
            self.ctx.event("Warning", problem.reason, problem.text, action="Fetch")
            if problem not in logged:
                self.ctx.log.warning("not fetched", reason=problem.reason, error=problem.text)
        if (fresh := self.ctx.find(ConfigMap, self.ctx.name)) is not None:
            self.see(fresh)
        times = [at for at in (self.plan().next, self.notes.next_reminder()) if at is not None]
        pauses = [*self.busy, *((at - now).total_seconds() for at in times)]
        return requeue(after=max(min(pauses), 0.1)) if pauses else None
