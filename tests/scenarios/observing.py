"""What is seen of a scenario, in words that do not depend on how fast things go, nor on names that are made up.

| seen | how |
| --- | --- |
| after each wait, once nothing happens any more | each object: metadata, status, replicas; in the end its spec too |
| on the way, of each object | the conditions that it had, one after the other, with their reasons |
| on the way, of Pods | the most there were, the least that were ready between two waits, how many were made |
| of Pods of an ordered StatefulSet | in which order they came, got ready, and went |
| of each controller | its events, one for each thing that they are about |
| answers | code, reason and message of a step that was refused |

Objects whose names differ in what was made up alone, such as the Pods of a ReplicaSet, are seen as one: of each field
all values, with how often.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from tests.scenarios.templates import KINDS
from tests.scenarios.watching import Journal

Json = dict[str, Any]
Observed = dict[str, str]

_WORDS = (
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "UID"),
    (re.compile(r"\d{4}-\d\d-\d\dT[0-9:.]+(Z|\+00:00)|\d{4}-\d\d-\d\d [0-9:.]+ \+0000 UTC"), "TIME"),
    (re.compile(r"kube-api-access-\w{5}"), "kube-api-access"),
    (re.compile(r"(?<=-)\d{8}\b"), "MINUTE"),
    (re.compile(r"(?<=-)[bcdfghjklmnpqrstvwxz2456789]{8,10}(?![\w.])"), "HASH"),
    (re.compile(r"\A[bcdfghjklmnpqrstvwxz2456789]{8,10}\Z"), "HASH"),
    (re.compile(r"(?<=-)[bcdfghjklmnpqrstvwxz2456789]{5}(?![\w.])"), "SUFFIX"),
    (re.compile(r"\b\d{1,3}(\.\d{1,3}){3}\b"), "IP"),
    (re.compile(r"\bnode-\d\b"), "NODE"),
)
_UNSEEN = ("managedFields", "resourceVersion", "uid", "creationTimestamp", "selfLink", "generation")
_OF_NODES = {"kubelet", "node-controller", "kwok", "kwok-controller", "taint-eviction-controller"}
_CERTIFICATE = "ca.crt"
_COMBINED = "(combined from similar events)"
_FLICKERS = ("Available", "DisruptionAllowed")  # for as long as a Pod is replaced, which may be no time
_BETWEEN = "True ReplicaSetUpdated"  # not to be seen where all Pods are ready at once


def text_of(value: Any, namespace: str) -> str:
    """A value with words in place of what is made up."""
    text = str(value).replace(namespace, "$NS")
    for pattern, word in _WORDS:
        text = pattern.sub(word, text)
    return text


class Observer:
    """Looks at what a journal has."""

    def __init__(self, journal: Journal, namespace: str, unseen: Sequence[str]) -> None:
        self.seen: Observed = {}
        self._unseen = unseen
        self._journal = journal
        self._namespace = namespace
        self._read = 0
        self._ready: set[str] = set()

    def say(self, number: int, what: str, text: str) -> None:
        """Remember what a step said."""
        self.seen[f"{number} {what}"] = text

    def look(self, number: int) -> None:
        """Look at what there is after a step."""
        self._look(str(number), whole=False)
        self.seen[f"{number} fewest ready since"] = str(self._fewest_ready())

    def finish(self) -> None:
        """Look at what there is in the end, and back at how it came to be."""
        self._look("end", whole=True)
        self._conditions()
        self._pods()
        self._order()
        self._events()
        for place in [place for place in self.seen if any(text in place for text in self._unseen)]:
            del self.seen[place]

    def _look(self, when: str, *, whole: bool) -> None:
        found: dict[str, Counter[str]] = defaultdict(Counter)
        for word, (_, kind) in KINDS.items():
            for name, obj in self._journal.there[word].items():
                for path, value in _leaves(_shown(word, obj, whole=whole)):
                    place = f"{when} {kind} {self._text(name)} {path}"
                    found[self._text(place)][self._text(value)] += 1
        for place, values in found.items():
            self.seen[place] = _counted(values)

    def _fewest_ready(self) -> int:
        """The least Pods that were ready at any moment since the last look, beginning with how it was then."""
        ready = self._ready
        fewest = len(ready)
        for change, word, obj in self._journal.log[self._read :]:
            if word == "pod":
                name = obj["metadata"]["name"]
                if change != "DELETED" and _is_ready(obj):
                    ready.add(name)
                else:
                    ready.discard(name)
                fewest = min(fewest, len(ready))
        self._read = len(self._journal.log)
        return fewest

    def _conditions(self) -> None:
        found: dict[tuple[str, str], list[str]] = defaultdict(list)
        for _, word, obj in self._journal.log:
            if word in ("pod", "ns", "node", "pv", "pvc") or "deletionTimestamp" in obj["metadata"]:
                continue
            kind, name = KINDS[word][1], self._text(obj["metadata"]["name"])
            uid = obj["metadata"]["uid"]
            for condition in obj.get("status", {}).get("conditions", []):
                state = f"{condition['status']} {condition.get('reason', '')}"
                states = found[f"way {kind} {name} {condition['type']}", uid]
                if state == _BETWEEN and condition["type"] == "Progressing":
                    continue
                if not states or (state not in states if condition["type"] in _FLICKERS else states[-1] != state):
                    states.append(state)
        ways: dict[str, Counter[str]] = defaultdict(Counter)
        for (place, _), states in found.items():
            ways[place][" → ".join(states)] += 1
        self.seen |= {place: _counted(each) for place, each in ways.items()}

    def _pods(self) -> None:
        made: set[str] = set()
        alive: set[str] = set()
        most = 0
        for change, word, obj in self._journal.log:
            if word == "pod":
                uid = obj["metadata"]["uid"]
                made.add(uid)
                if change == "DELETED" or not _is_alive(obj):
                    alive.discard(uid)
                else:
                    alive.add(uid)
                most = max(most, len(alive))
        if not any(word == "deploy" for _, word, _ in self._journal.log):  # its ReplicaSets do not wait for each other
            self.seen["way Pods most at once"] = str(most)
        self.seen["way Pods made"] = str(len(made))

    def _order(self) -> None:
        ordered = {name for name, obj in self._sets().items() if obj["spec"].get("podManagementPolicy") != "Parallel"}
        told: dict[str, list[str]] = defaultdict(list)
        stages: dict[str, str] = {}
        for change, word, obj in self._journal.log:
            owner = next(iter(obj["metadata"].get("ownerReferences", [])), {})
            if word != "pod" or owner.get("name") not in ordered:
                continue
            uid, name = obj["metadata"]["uid"], obj["metadata"]["name"]
            going = "deletionTimestamp" in obj["metadata"]
            stage = "gone" if change == "DELETED" else "goes" if going else "ready" if _is_ready(obj) else "came"
            if stages.get(uid) != stage and not (stage == "came" and uid in stages):
                stages[uid] = stage
                if stage != "goes":
                    told[owner["name"]].append(f"{name} {stage}")
        for name, each in told.items():
            self.seen[f"way StatefulSet {name} order"] = ", ".join(each)

    def _sets(self) -> dict[str, Json]:
        return {obj["metadata"]["name"]: obj for _, word, obj in self._journal.log if word == "sts"}

    def _events(self) -> None:
        last = {obj["metadata"]["uid"]: obj for _, word, obj in self._journal.log if word == "event"}
        found: dict[str, Counter[str]] = defaultdict(Counter)
        for event in last.values():
            by = event.get("source", {}).get("component") or event.get("reportingComponent", "")
            if by in _OF_NODES:
                continue
            about = event["involvedObject"]
            place = f"way {about['kind']} {about['name']} event {event['type']} {event['reason']} by {by}"
            # The scheduler names nodes, and tells as often as it tries; how often a thing was told depends on speed.
            message = "" if by == "default-scheduler" else self._text(event["message"])
            found[self._text(place)][message] += 1
        for place, messages in found.items():
            many = any(message.startswith(_COMBINED) for message in messages)
            self.seen[place] = "many" if many else _counted(messages) if any(messages) else "told"

    def _text(self, value: Any) -> str:
        return text_of(value, self._namespace)


def _shown(word: str, obj: Json, *, whole: bool) -> Json:
    """What of an object is compared."""
    meta = {name: value for name, value in obj["metadata"].items() if name not in _UNSEEN}
    meta["ownerReferences"] = [{**owner, "uid": ""} for owner in meta.get("ownerReferences", [])]
    status, spec = obj.get("status", {}), obj.get("spec", {})
    match word:
        case "event":
            return {}
        case "pod":
            kept = [each for each in status.get("conditions", []) if each["type"] in ("Ready", "DisruptionTarget")]
            conditions = [
                {name: each[name] for name in ("type", "status")}
                if each["type"] == "Ready"
                else {name: each.get(name) for name in ("type", "status", "reason", "message")}
                for each in kept
            ]
            status = {"phase": status.get("phase"), "conditions": _by_type(conditions)}
            spec = {name: value for name, value in spec.items() if name != "nodeName"}
            meta.pop("deletionGracePeriodSeconds", None)  # kwok does not count it down, as kubelets do
        case "node":
            taints = [f"{taint['key']}:{taint['effect']}" for taint in spec.get("taints", [])]
            return {"unschedulable": spec.get("unschedulable"), "taints": sorted(taints)}
        case "ns" | "sa" | "cm":
            data = {name: "" if name == _CERTIFICATE else value for name, value in obj.get("data", {}).items()}
            return {"metadata": meta, "data": data, "status": status}
        case "endpoints" | "slice":
            return {"metadata": meta, **{name: obj.get(name) for name in ("subsets", "endpoints", "ports")}}
        case "revision":
            return {"metadata": meta, "revision": obj["revision"], **({"data": obj["data"]} if whole else {})}
        case _:
            if "conditions" in status:
                status = {**status, "conditions": _by_type(status["conditions"])}
    status = {name: value for name, value in status.items() if name != "observedGeneration"}
    shown = {"metadata": meta, "status": status, "replicas": spec.get("replicas")}
    return {**shown, "spec": spec} if whole else shown


def _by_type(conditions: list[Json]) -> Json:
    return {each["type"]: {name: value for name, value in each.items() if name != "type"} for each in conditions}


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for name, each in value.items():
            yield from _leaves(each, f"{path}.{name}" if path else name)
    elif isinstance(value, list) and value:
        for number, each in enumerate(value):
            yield from _leaves(each, f"{path}[{number}]")
    elif value not in (None, {}, []) and not path.endswith("resourceVersion"):
        yield path, value


def _is_ready(pod: Json) -> bool:
    conditions = pod.get("status", {}).get("conditions", [])
    return _is_alive(pod) and any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def _is_alive(pod: Json) -> bool:
    ended = pod.get("status", {}).get("phase") in ("Succeeded", "Failed")
    return not ended and "deletionTimestamp" not in pod["metadata"]


def _counted(values: Counter[str]) -> str:
    return " | ".join(text if times == 1 else f"{text} x{times}" for text, times in sorted(values.items()))
