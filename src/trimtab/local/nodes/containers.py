"""One simulated container: from its status as it is to what becomes of it now, and when to look again.

Statuses are in the form of the API's JSON. Times have whole seconds there, and all that is remembered is in there, so
a cluster that is started anew goes on where it was.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, TypeAlias

from trimtab.kube.core.v1 import Container, Pod, Probe
from trimtab.kube.timestamps import format_time, parse_time
from trimtab.local.nodes.behaviour import Behaviour

Json: TypeAlias = dict[str, Any]

KILLED: Final = 137
STOPPED: Final = 143
_FIRST_BACKOFF: Final = 10.0
_LONGEST_BACKOFF: Final = 300.0
_WELL_AFTER: Final = 600.0  # who ran for so long begins anew with the first backoff
_FROM_NOTHING: Final = frozenset({"ContainerCreating", "PodInitializing"})
_NO_IMAGE: Final = "ErrImagePull"
_NO_IMAGE_STILL: Final = "ImagePullBackOff"


@dataclass(slots=True)
class Look:
    """One look at a Pod: what time it is, when to look again, and what to tell."""

    pod: Pod
    now: datetime
    wake: list[float] = field(default_factory=list[float])
    events: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])

    @property
    def stamp(self) -> str:
        """The time as it stands in a status."""
        return format_time(self.now)

    def tell(self, kind: str, reason: str, message: str) -> None:
        """Have an event told."""
        self.events.append((kind, reason, message))

    def due(self, since: str, seconds: float) -> bool:
        """Whether so many seconds have passed; if not, look again when they have."""
        left = (parse_time(since) + timedelta(seconds=seconds) - self.now).total_seconds()
        if left > 0:
            self.wake.append(left)
        return left <= 0


def waiting(spec: Container, reason: str) -> Json:
    """The status of a container that was not started yet."""
    return {
        "name": spec.name, "image": spec.image or "", "imageID": "", "restartCount": 0, "ready": False,
        "started": False, "state": {"waiting": {"reason": reason}},
    }  # fmt: skip


def advance(status: Json, spec: Container, does: Behaviour, look: Look, restarts: Callable[[int], bool]) -> None:
    """Let a container do its next step, if it is time for it; `restarts` says whether it does after an exit code."""
    state: Json = status["state"]
    if "running" in state:
        if does.ends_after is not None and look.due(state["running"]["startedAt"], does.ends_after):
            end(status, look, does.exit_code)
        return
    if "terminated" in state:
        ended: Json = state["terminated"]
        if not restarts(ended["exitCode"]):
            return
        status["lastState"] = state
        if pause := _backoff(status["restartCount"], ended):
            _wait_for_restart(status, look, pause)
            look.due(ended["finishedAt"], pause)
        else:
            _start(status, spec, look, again=True)
        return
    why: Json = state.get("waiting") or {}
    reason = why.get("reason", "")
    last: Json = status.get("lastState") or {}
    ended = last.get("terminated") or {}
    if not does.has_image and reason in {*_FROM_NOTHING, _NO_IMAGE}:
        _miss(status, spec, look, again=reason == _NO_IMAGE)
    elif not does.has_image or not ended:
        if does.has_image:
            _start(status, spec, look)
    elif look.due(ended["finishedAt"], _backoff(status["restartCount"], ended)):
        _start(status, spec, look, again=True)


def end(status: Json, look: Look, code: int) -> None:
    """Let it end now."""
    running: Json = status["state"].get("running") or {}
    ended = {
        "exitCode": code, "reason": "Error" if code else "Completed", "startedAt": running.get("startedAt"),
        "finishedAt": look.stamp, "containerID": status.get("containerID"),
    }  # fmt: skip
    status["state"] = {"terminated": {name: value for name, value in ended.items() if value is not None}}
    status["ready"] = status["started"] = False


def judge(status: Json, spec: Container, does: Behaviour, look: Look) -> None:
    """Say whether a container has started, and whether it is ready: its probes succeed once they may begin."""
    running = status["state"].get("running")
    if running is None:
        status["ready"] = status["started"] = False
        return
    since = running["startedAt"]
    status["started"] = started = look.due(since, _delay(spec.startup_probe))
    ready = started and look.due(since, _delay(spec.readiness_probe))
    if does.hangs_after is not None and look.due(since, does.hangs_after):
        ready = False
    status["ready"] = ready


def image_id(image: str) -> str:
    """What an image of this name would be known by."""
    return f"{image.partition('@')[0]}@sha256:{hashlib.sha256(image.encode()).hexdigest()}"


def _start(status: Json, spec: Container, look: Look, *, again: bool = False) -> None:
    status["restartCount"] += again
    meta = look.pod.metadata
    name = f"{meta.uid}/{spec.name}/{status['restartCount']}"
    status["state"] = {"running": {"startedAt": look.stamp}}
    status["imageID"] = image_id(spec.image or "")
    status["containerID"] = f"trimtab://{hashlib.sha256(name.encode()).hexdigest()}"
    look.tell("Normal", "Pulled", f'Container image "{spec.image}" already present on machine')
    look.tell("Normal", "Created", f"Created container: {spec.name}")
    look.tell("Normal", "Started", f"Started container {spec.name}")


def _wait_for_restart(status: Json, look: Look, pause: float) -> None:
    meta = look.pod.metadata
    which = f"{meta.name}_{meta.namespace}({meta.uid})"
    message = f"back-off {_go_duration(pause)} restarting failed container={status['name']} pod={which}"
    status["state"] = {"waiting": {"reason": "CrashLoopBackOff", "message": message}}
    look.tell("Warning", "BackOff", f"Back-off restarting failed container {status['name']} in pod {which}")


def _miss(status: Json, spec: Container, look: Look, *, again: bool) -> None:
    """The image is not there."""
    if again:
        message = f'Back-off pulling image "{spec.image}": ErrImagePull: it is not there'
        status["state"] = {"waiting": {"reason": _NO_IMAGE_STILL, "message": message}}
        look.tell("Normal", "BackOff", f'Back-off pulling image "{spec.image}"')
        look.tell("Warning", "Failed", f"Error: {_NO_IMAGE_STILL}")
    else:
        message = f'failed to pull and unpack image "{spec.image}": failed to resolve reference: not found'
        status["state"] = {"waiting": {"reason": _NO_IMAGE, "message": message}}
        look.tell("Normal", "Pulling", f'Pulling image "{spec.image}"')
        look.tell("Warning", "Failed", f'Failed to pull image "{spec.image}": not found')


def _backoff(restarts: int, ended: Json) -> float:
    """Seconds that a container waits before it is started again: none the first time."""
    if not restarts:
        return 0.0
    if "startedAt" in ended:
        ran = parse_time(ended["finishedAt"]) - parse_time(ended["startedAt"])
        if ran.total_seconds() >= _WELL_AFTER:
            return 0.0
    return min(_FIRST_BACKOFF * 2.0 ** min(restarts - 1, 10), _LONGEST_BACKOFF)


def _delay(probe: Probe | None) -> float:
    return 0.0 if probe is None else float(probe.initial_delay_seconds or 0)


def _go_duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"
