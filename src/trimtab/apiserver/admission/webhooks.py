"""Webhooks: asking others about a write, and doing as they say, within the limits that their configuration sets."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import msgspec

from trimtab.apiserver import reading, statuses
from trimtab.apiserver.access.rbac import Rbac
from trimtab.apiserver.admission.calling import CallFailed, Place, post
from trimtab.apiserver.admission.expressions import variables_of
from trimtab.apiserver.admission.hooks import MUTATING, VALIDATING, Compiled, Hook, read_hooks
from trimtab.apiserver.admission.places import place_of
from trimtab.apiserver.admission.requests import Write, request_body
from trimtab.apiserver.admission.rounds import Rounds
from trimtab.apiserver.admission.verdicts import Verdict, refused_by, verdict_of
from trimtab.apiserver.catalogue import Catalogue
from trimtab.apiserver.conforming import Mistyped, hold
from trimtab.apiserver.messages import JSON
from trimtab.apiserver.patching import json_patch
from trimtab.apiserver.statuses import Refused
from trimtab.apiserver.storage import Store
from trimtab.apiserver.surroundings import Surroundings

Json: TypeAlias = dict[str, Any]
Post: TypeAlias = Callable[[Place, bytes, float], Awaitable[tuple[int, bytes]]]


@dataclass(frozen=True, slots=True)
class _Called:
    """A webhook that is to be called, and in which version of the kind."""

    hook: Hook
    version: str


class Webhooks:
    """Calls them."""

    def __init__(
        self, store: Store, catalogue: Catalogue, rbac: Rbac, around: Surroundings, *, send: Post = post
    ) -> None:
        self._store = store
        self._catalogue = catalogue
        self._rbac = rbac
        self._around = around
        self._send = send
        self._mutating = Compiled(store, MUTATING, read_hooks)
        self._validating = Compiled(store, VALIDATING, read_hooks)

    @property
    def any_mutating(self) -> bool:
        """Whether any may change what is written."""
        return bool(self._mutating.all())

    @property
    def any_validating(self) -> bool:
        """Whether any may refuse it."""
        return bool(self._validating.all())

    async def mutate(self, write: Write, rounds: Rounds) -> None:
        """Let them change the object, one after the other."""
        rounds.begin(write.new)
        for number, hook in enumerate(self._mutating.all()):
            called = self._meant(hook, write)
            if called is None or rounds.skips(number):
                continue
            before = write.new
            await self._change(called, write)
            if write.new != before:
                rounds.changed()
            if hook.reinvoked:
                rounds.asked(number)
        rounds.end(write.new)

    async def validate(self, write: Write) -> None:
        """Ask all of them at once; the first, in their order, that refuses is heard."""
        meant = [called for hook in self._validating.all() if (called := self._meant(hook, write))]
        answers = await asyncio.gather(*(self._ask(called, write) for called in meant), return_exceptions=True)
        for called, answer in zip(meant, answers, strict=True):
            if isinstance(answer, BaseException):
                raise answer
            if answer is not None:
                self._note(called.hook, write, answer)
                if not answer.allowed:
                    raise refused_by(called.hook.name, answer)

    def _meant(self, hook: Hook, write: Write) -> _Called | None:
        """The call that is to be made, None where the webhook is not for this write."""
        version = hook.match.version(write, self._catalogue.versions_of(write.kind))
        if not version:
            return None
        if hook.conditions:
            holds, error = hook.conditions.hold(variables_of(write, self._rbac, version))
            if error and not hook.ignores_failure:
                raise statuses.forbidden(write.kind.plural, write.kind.group, write.name, error)
            if not holds:
                return None
        return _Called(hook, version)

    async def _change(self, called: _Called, write: Write) -> None:
        hook = called.hook
        verdict = await self._ask(called, write)
        if verdict is None:
            return
        self._note(hook, write, verdict)
        if not verdict.allowed:
            raise refused_by(hook.name, verdict)
        if not verdict.patch or write.new is None:
            return
        changed = _patched(hook, write.shown(write.new, called.version), verdict.patch)
        if not isinstance(changed, dict):
            raise statuses.internal(f'webhook "{hook.name}" made of the object what is none')
        if write.foreign:
            return
        try:
            write.new, _ = hold(write.kind, write.taken(cast("Json", changed), called.version))
        except Mistyped as error:
            raise statuses.internal(str(error)) from error
        write.new.setdefault("metadata", {})

    async def _ask(self, called: _Called, write: Write) -> Verdict | None:
        """What the webhook says; None where it says nothing and that does not matter."""
        hook = called.hook
        if hook.has_effects and write.call.options.dry_run:
            raise statuses.bad_request(f'admission webhook "{hook.name}" does not support dry run')
        try:
            return await self._answer(called, write)
        except CallFailed as error:
            if hook.ignores_failure:
                return None
            why = f'failed calling webhook "{hook.name}": {error.what}: {error}'
            raise statuses.internal(why) from error

    async def _answer(self, called: _Called, write: Write) -> Verdict:
        hook, uid = called.hook, self._around.uid()
        version = next((each for each in hook.versions if each in ("v1", "v1beta1")), "")
        if not version:
            raise CallFailed("webhook does not accept known AdmissionReview versions (v1, v1beta1)")
        review: Json = {
            "kind": "AdmissionReview",
            "apiVersion": f"admission.k8s.io/{version}",
            "request": request_body(write, uid, called.version),
        }
        place = place_of(hook, self._store)
        status, body = await self._send(place, msgspec.json.encode(review), hook.timeout)
        if status != 200:
            raise CallFailed('an error on the server ("unknown") has prevented the request from succeeding')
        return verdict_of(body, uid, version)

    def _note(self, hook: Hook, write: Write, verdict: Verdict) -> None:
        write.call.warnings += [text for text in verdict.warnings if text not in write.call.warnings]
        for key, value in verdict.annotations.items():
            write.annotations[f"{hook.name}/{key}"] = value


def _patched(hook: Hook, obj: Json | None, patch: bytes) -> Any:
    try:
        operations = reading.parse(patch, JSON)
    except reading.Unreadable as error:
        why = str(error).removeprefix("json parse error: ")
        said = f'failed calling webhook "{hook.name}": received undecodable patch in webhook response: {why}'
        raise statuses.internal(said) from error
    try:
        return json_patch(obj, operations)
    except Refused as refused:
        cause = refused.__cause__
        raise statuses.internal(refused.message if cause is None else str(cause)) from refused
