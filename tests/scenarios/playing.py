"""Plays one scenario in a namespace of its own: does what the steps say, and waits by what is watched."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

from tests.scenarios.observing import Observed, Observer, text_of
from tests.scenarios.reading import Scenario, Step
from tests.scenarios.templates import CLUSTER_WIDE, KINDS, made
from tests.scenarios.watching import Journal, Journals

from trimtab.client import ApiError, Client, JSONPatch, MergePatch, StrategicMergePatch
from trimtab.kube import dynamic
from trimtab.kube.dynamic import Dynamic
from trimtab.kube.meta.v1 import ObjectMeta

Json = dict[str, Any]
_MANAGER = "scenario"
_DRAINED_AGAIN = 0.5


@dataclass(frozen=True, slots=True)
class Pace:
    """How long is waited, in seconds."""

    quiet: float
    """Until nothing counts as happening any more."""
    patience: float
    """For what a step waits for."""


class InVain(Exception):
    """What was waited for did not come."""


async def nothing() -> None:
    """Nobody takes over."""


async def play(
    scenario: Scenario,
    namespace: str,
    client: Client,
    journals: Journals,
    pace: Pace,
    swap: Callable[[], Awaitable[None]] = nothing,
) -> Observed:
    """What was seen while a scenario was played; at `swap` others take over."""
    journal = journals.of(namespace)
    observer = Observer(journal, namespace, scenario.unseen)
    player = _Player(namespace, client, journal, pace, swap)
    await client.create(dynamic("v1", "Namespace", namespaced=False)({"metadata": {"name": namespace}}))
    await player.until(lambda: "default" in journal.there["sa"] and bool(journal.there["cm"]))
    for number, step in enumerate(scenario.steps, 1):
        try:
            answer = await player.do(step)
        except InVain as error:
            observer.say(number, "waited in vain", str(error))
            break
        if step.looks:
            await journal.settles(pace.quiet)
            observer.look(number)
        elif answer:
            observer.say(number, "answer", answer)
    else:
        await journal.settles(pace.quiet)
        observer.finish()
    return observer.seen


class _Player:
    def __init__(
        self, namespace: str, client: Client, journal: Journal, pace: Pace, swap: Callable[[], Awaitable[None]]
    ) -> None:
        self._namespace = namespace
        self._client = client
        self._journal = journal
        self._pace = pace
        self._swap = swap

    async def do(self, step: Step) -> str:
        """Do one step: what was answered."""
        words = [word.replace("$NS", self._namespace) for word in step.words]
        body = _put(step.body, self._namespace)
        action: Callable[..., Awaitable[str | None]] = getattr(self, f"_{step.verb}")
        try:
            return await action(*words, **({} if body is None else {"body": body})) or "done"
        except ApiError as error:
            return text_of(f"{error.code} {error.reason}: {error.message}", self._namespace)

    async def until(self, holds: Callable[[], bool], what: str = "the namespace") -> None:
        """Wait until something is seen."""
        try:
            async with asyncio.timeout(self._pace.patience):
                while not holds():
                    self._journal.changed.clear()
                    await self._journal.changed.wait()
        except TimeoutError:
            raise InVain(what) from None

    async def _create(self, word: str, name: str, body: Json | None = None) -> None:
        obj = made(word, name, body or {})
        await self._client.create(_kind(word)(obj), namespace=self._where(word), field_manager=_MANAGER)

    async def _apply(self, word: str, name: str, body: Json | None = None) -> None:
        obj = _kind(word)(made(word, name, body or {}))
        await self._client.apply(obj, namespace=self._where(word), force=True, field_manager=_MANAGER)

    async def _patch(self, word: str, name: str, body: Json, subresource: str = "") -> None:
        where = self._where(word)
        for each in self._pods(name) if word == "pod" else [name]:
            made = await self._client.patch(
                _kind(word), each, MergePatch(body), namespace=where, subresource=subresource
            )
            await self._saw(word, made.metadata)

    async def _status(self, word: str, name: str, body: Json) -> None:
        await self._patch(word, name, {"status": body}, "status")

    async def _image(self, word: str, name: str, image: str) -> None:
        change = {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": image}]}}}}
        made = await self._client.patch(_kind(word), name, StrategicMergePatch(change), namespace=self._namespace)
        await self._saw(word, made.metadata)

    async def _scale(self, word: str, name: str, replicas: str) -> None:
        made = await self._client.scale(_kind(word), name, int(replicas), namespace=self._namespace)
        await self._saw(word, made.metadata)

    async def _undo(self, word: str, name: str, revision: str) -> None:
        for found in self._journal.there["rs"].values():
            notes = found["metadata"].get("annotations", {})
            owners = [owner["name"] for owner in found["metadata"].get("ownerReferences", [])]
            if owners == [name] and notes.get("deployment.kubernetes.io/revision") == revision:
                template = found["spec"]["template"]
                labels = {k: v for k, v in template["metadata"]["labels"].items() if k != "pod-template-hash"}
                template = {**template, "metadata": {**template["metadata"], "labels": labels}}
                patch = JSONPatch([{"op": "replace", "path": "/spec/template", "value": template}])
                made = await self._client.patch(_kind(word), name, patch, namespace=self._namespace)
                await self._saw(word, made.metadata)
                return
        raise InVain(f"revision {revision} of {name}")

    async def _delete(self, word: str, name: str, *options: str) -> None:
        asked: Json = {}
        for option in options:
            if option.startswith("grace="):
                asked["grace_period_seconds"] = int(option.removeprefix("grace="))
            else:
                asked["propagation"] = option
        for each in self._pods(name) if word == "pod" else [name]:
            before = self._journal.there[word].get(each, {}).get("metadata", {}).get("uid")
            await self._client.delete(_kind(word), each, namespace=self._where(word), **asked)
            await self.until(partial(self._goes, word, each, before), f"{word} {each} to go")

    async def _annotate(self, pods: str, *pairs: str, field: str = "annotations") -> None:
        values = {name: value or None for name, _, value in (pair.partition("=") for pair in pairs)}
        for name in self._pods(pods):
            await self._patch("pod", name, {"metadata": {field: values}})

    async def _label(self, pods: str, *pairs: str) -> None:
        await self._annotate(pods, *pairs, field="labels")

    async def _evict(self, pods: str) -> None:
        for name in self._pods(pods):
            await self._client.evict(name, namespace=self._namespace)

    async def _drain(self, node: str) -> None:
        await self._patch("node", node, {"spec": {"unschedulable": True}})
        async with asyncio.timeout(self._pace.patience):
            while names := [name for name, pod in self._journal.there["pod"].items() if _is_on(pod, node)]:
                for name in names:
                    try:
                        await self._client.evict(name, namespace=self._namespace)
                    except ApiError as error:
                        if error.code not in (404, 429):
                            raise
                await asyncio.sleep(_DRAINED_AGAIN)  # as kubectl does, which waits longer

    async def _own(self, word: str, name: str, *owners: str) -> None:
        api_version, kind = KINDS[word]
        references = [
            {
                "apiVersion": api_version,
                "kind": kind,
                "name": owner,
                "uid": self._journal.there[word][owner]["metadata"]["uid"],
            }
            for owner in owners
        ]
        await self._create(word, name, {"metadata": {"ownerReferences": references}})

    async def _orphan(self, word: str, name: str) -> None:
        api_version, kind = KINDS[word]
        owner = {"apiVersion": api_version, "kind": kind, "name": "nobody", "uid": str(UUID(int=1))}
        await self._create(word, name, {"metadata": {"ownerReferences": [owner]}})

    async def _settle(self) -> None:
        pass

    async def _wait(self, word: str, name: str, *wanted: str) -> None:
        there = self._journal.there
        what = f"{word} {name} {' '.join(wanted)}"
        if word == "pods":
            await self.until(lambda: _are(self._selected(name), wanted), what)
        elif word == "event":
            await self.until(lambda: any(each["reason"] == name for each in there["event"].values()), what)
        elif wanted == ("gone",):
            await self.until(lambda: name not in there[word], what)
        else:
            await self.until(lambda: name in there[word] and _is(there[word][name], wanted), what)

    async def _saw(self, word: str, written: ObjectMeta) -> None:
        """Wait until what was written is seen: nothing is to be judged by how it was before."""
        there, version = self._journal.there[word], int(written.resource_version)

        def is_seen() -> bool:
            obj = there.get(written.name)
            return obj is None or int(obj["metadata"]["resourceVersion"]) >= version

        await self.until(is_seen, f"{word} {written.name} as it was written")

    def _goes(self, word: str, name: str, uid: str | None) -> bool:
        obj = self._journal.there[word].get(name)
        return obj is None or obj["metadata"]["uid"] != uid or "deletionTimestamp" in obj["metadata"]

    def _where(self, word: str) -> str | None:
        return None if word in CLUSTER_WIDE else self._namespace

    def _pods(self, which: str) -> list[str]:
        """Names of Pods."""
        selector, _, number = which.partition("#")
        if "=" not in selector:
            return [selector]
        found = self._selected(selector)
        if number:
            found = [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]
        names = sorted(pod["metadata"]["name"] for pod in found)
        return [names[int(number)]] if number else names

    def _selected(self, selector: str) -> list[Json]:
        name, _, value = selector.partition("=")
        pods = self._journal.there["pod"].values()
        return [pod for pod in pods if pod["metadata"].get("labels", {}).get(name) == value]


def _kind(word: str) -> type[Dynamic]:
    return dynamic(*KINDS[word], namespaced=word not in CLUSTER_WIDE)


def _put(value: Any, namespace: str) -> Any:
    if isinstance(value, str):
        return value.replace("$NS", namespace)
    if isinstance(value, Mapping):
        return {_put(name, namespace): _put(each, namespace) for name, each in value.items()}
    return [_put(each, namespace) for each in value] if isinstance(value, list) else value


def _is_on(pod: Json, node: str) -> bool:
    owners = [owner["kind"] for owner in pod["metadata"].get("ownerReferences", [])]
    return pod["spec"].get("nodeName") == node and "DaemonSet" not in owners


def _is(obj: Json, wanted: tuple[str, ...]) -> bool:
    status = obj.get("status", {})
    if status.get("observedGeneration", obj["metadata"].get("generation")) != obj["metadata"].get("generation"):
        return False
    conditions = {each["type"]: each for each in status.get("conditions", [])}
    for want in wanted:
        name, equals, value = want.partition("=")
        if name.lstrip("!")[:1].isupper():
            found = conditions.get(name.lstrip("!"), {})
            holds = found.get("reason") == value if equals else found.get("status") == "True"
            if holds == name.startswith("!"):
                return False
        elif name.endswith("!"):
            if _at(status, name[:-1]) == value:
                return False
        elif _at(obj if name.split(".")[0] in ("spec", "metadata", "subsets", "endpoints") else status, name) != value:
            return False
    return True


def _at(value: Any, path: str) -> str:
    for name in path.split("."):
        if isinstance(value, list):
            value = value[int(name)] if name.isdecimal() and int(name) < len(value) else len(value)
        else:
            value = value.get(name) if isinstance(value, dict) else None
    return str(len(value)) if isinstance(value, list) else str(0 if value is None else value)


def _are(pods: list[Json], wanted: tuple[str, ...]) -> bool:
    number, *phases = wanted
    ready = [
        pod
        for pod in pods
        if any(each["type"] == "Ready" and each["status"] == "True" for each in pod["status"].get("conditions", []))
    ]
    if len(pods) != int(number):
        return False
    for phase in phases:
        name, _, count = phase.partition("=")
        found = ready if name == "ready" else [pod for pod in pods if pod["status"].get("phase") == name]
        if len(found) != int(count):
            return False
    return True
