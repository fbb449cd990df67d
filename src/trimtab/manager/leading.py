"""`LeaderElector`: does what `election.py` says, with a Lease of an API server."""

from __future__ import annotations

import asyncio
import logging
import socket
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from random import Random
from typing import Any, Final, cast

from trimtab.client import AlreadyExists, ApiError, Client, Conflict, NotFound, TransportError
from trimtab.client.apierrors import UNREADABLE
from trimtab.controller.sink import EventSink, NoEvents
from trimtab.errors import TrimtabError, one_line
from trimtab.kube.coordination.v1 import Lease, LeaseSpec
from trimtab.kube.dynamic import Dynamic, dynamic
from trimtab.kube.wire import from_wire, to_wire
from trimtab.manager.clocks import lease_clock
from trimtab.manager.election import Election, Ended, Read, Record, Role, Timing, Wait, Write

_log = logging.getLogger("trimtab.manager.election")
_LEASE: Final = dynamic("coordination.k8s.io/v1", "Lease", plural="leases", namespaced=True)
"""A Lease is written whole, so it is read whole: fields that others put there stay."""


class LeadershipLost(TrimtabError):
    """This process led, and does no longer: it has to end at once."""


def own_identity() -> str:
    """`<hostname>_<uuid>`: whose Pod it is can be seen, and no other process has it, nor this one at its next start."""
    return f"{socket.gethostname()}_{uuid.uuid4()}"


class LeaderElector:
    """Competes for a Lease: `run` while the process lives, `elected` is set once we lead, `release` lets go.

    `client` must be able to get, create and update the Lease, and must not be fenced by it. `events` is told on the
    Lease who became leader and who stopped leading. `clock` has to go on while the machine sleeps.
    """

    def __init__(
        self,
        client: Client,
        name: str,
        *,
        namespace: str | None = None,
        identity: str | None = None,
        timing: Timing | None = None,
        events: EventSink | None = None,
        clock: Callable[[], float] = lease_clock,
        random: Callable[[], float] | None = None,
    ) -> None:
        self.name = name
        self.namespace = namespace or client.namespace
        self.identity = identity or own_identity()
        self.timing = timing or Timing()
        self.clock = clock
        self.elected = asyncio.Event()
        self.holder = ""
        """Who leads, as far as we saw; empty where nobody does."""
        self._client = client
        self._events = events or NoEvents()
        self._election = Election(
            self.identity,
            self.timing,
            clock=clock,
            wall=lambda: datetime.now(UTC),
            random=random or Random().random,  # noqa: S311  # spreads load, keeps no secret
        )
        self._lease: Dynamic | None = None
        self._wake = asyncio.Event()
        self._ended = asyncio.Event()
        self._told = ""

    def __str__(self) -> str:
        return f"lease {self.namespace}/{self.name}"

    @property
    def leads(self) -> bool:
        """Whether we may write now."""
        deadline = self.deadline
        return deadline is not None and self.clock() < deadline

    @property
    def deadline(self) -> float | None:
        """By `clock`, until when we may write; None where we do not lead."""
        return self._election.deadline

    @property
    def problem(self) -> str:
        """What is in the way of renewing or acquiring; empty where nothing is."""
        return self._election.problem

    def refused(self) -> str:
        """A write came when we do not lead: say why not, and see to it."""
        self._wake.set()
        deadline = self.deadline
        if deadline is None:
            if self._election.role is Role.LOST:
                return f"this process leads no longer: {self} is lost"
            return f"this process does not lead: {self} is {self._whose()}"
        late = self.clock() - deadline
        return (
            f"this process leads no longer: it may not write since {late:.1f} s, because it did not renew {self} in "
            f"time (was it paused?)"
        )

    async def run(self) -> None:
        """Compete, then renew, until `release`. LeadershipLost where the lease was lost."""
        _log.info("competing for %s as %s", self, self.identity)
        try:
            while True:
                step = self._election.step()
                if isinstance(step, Ended):
                    break
                await self._do(step)
                self._tell()
        finally:
            self._ended.set()
        if self.elected.is_set():
            self._event("stopped leading")
        if self._election.role is Role.STOPPED:
            _log.info("%s is released", self)
        if step.lost:
            raise LeadershipLost(f"{self} is lost: {step.lost}")

    async def release(self, seconds: float) -> None:
        """Let go, so that the next can take over at once; what needs the lease must be over. `run` ends.

        Where the server does not answer in time, the lease runs out by itself.
        """
        self._election.stop()
        self._wake.set()
        try:
            async with asyncio.timeout(seconds):
                await self._ended.wait()
        except TimeoutError:
            _log.warning("%s was not released within %g s: others wait until it has run out", self, seconds)

    # Inner parts

    async def _do(self, step: Wait | Read | Write) -> None:
        if isinstance(step, Wait):
            self._wake.clear()
            try:
                async with asyncio.timeout(step.seconds):
                    await self._wake.wait()
            except TimeoutError:
                pass  # it was only to be waited for
            return
        try:
            async with asyncio.timeout(step.timeout):
                await (self._read() if isinstance(step, Read) else self._write(step))
        except TimeoutError:
            self._election.failed(f"cannot reach {self}: no answer within {step.timeout:.1f} s")
        except (ApiError, TransportError) as error:
            self._election.failed(str(error))
        except UNREADABLE as error:
            self._election.failed(f"cannot understand {self}: {one_line(str(error))}")

    async def _read(self) -> None:
        try:
            self._lease = await self._client.get(_LEASE, self.name, namespace=self.namespace)
        except NotFound:
            self._lease = None
            self._election.read(None)
        else:
            self._election.read(_record(self._lease), self._lease.metadata.resource_version)

    async def _write(self, step: Write) -> None:
        if not step.version:
            lease = _LEASE({"metadata": {"name": self.name, "namespace": self.namespace}})
        else:
            assert self._lease is not None
            lease = _LEASE({**self._lease.raw})
        lease["spec"] = {**cast("dict[str, Any]", lease.get("spec", default={})), **_spec(step.record)}
        try:
            if step.version:
                self._lease = await self._client.replace(lease, namespace=self.namespace)
            else:
                self._lease = await self._client.create(lease, namespace=self.namespace)
        except (AlreadyExists, Conflict, NotFound):
            self._election.refused()
        else:
            self._election.wrote(self._lease.metadata.resource_version)

    def _tell(self) -> None:
        """Say what changed."""
        election = self._election
        if election.holder != self.holder:
            self.holder = election.holder
            if self.holder and self.holder != self.identity:
                _log.info("%s is held by %s", self, self.holder)
        if election.deadline is not None and not self.elected.is_set():
            _log.info("leading: %s is ours", self)
            self._event("became leader")
            self.elected.set()
        if election.problem and election.problem != self._told:
            _log.warning("%s", election.problem)
        self._told = election.problem

    def _event(self, what: str) -> None:
        """In client-go's words, for `kubectl describe lease`."""
        lease = self._lease or _LEASE({"metadata": {"name": self.name, "namespace": self.namespace}})
        note = f"{self.identity} {what}"
        self._events.event(lease, "Normal", "LeaderElection", note, action="Elect", controller=self.name)

    def _whose(self) -> str:
        return f"held by {self.holder}" if self.holder else "not held by anybody it knows of"


def _record(lease: Dynamic) -> Record:
    spec = from_wire(LeaseSpec, lease.get("spec", default={}))
    return Record(
        spec.holder_identity or "",
        spec.lease_duration_seconds or 0,
        spec.acquire_time,
        spec.renew_time,
        spec.lease_transitions or 0,
    )


def _spec(record: Record) -> dict[str, Any]:
    spec = LeaseSpec(
        holder_identity=record.holder,
        lease_duration_seconds=record.seconds,
        acquire_time=record.acquired,
        renew_time=record.renewed,
        lease_transitions=record.transitions,
    )
    return to_wire(Lease(spec=spec))["spec"]
