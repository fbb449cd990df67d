"""What kwok's Pods do, as the annotations trimtab.dev/complete, crash, hang and no-image ask of our own nodes' Pods.

No two of these stages match one Pod at one moment.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

Json = dict[str, Any]

_ALIVE = (".metadata.deletionTimestamp", "DoesNotExist")
_GOING = (".metadata.deletionTimestamp", "Exists")
_HELD = (".metadata.finalizers.[]", "Exists")
_FREE = (".metadata.finalizers.[]", "DoesNotExist")
_NEW = (".status.podIP", "DoesNotExist")
_RUNS = (".status.phase", "In", "Running")
_NOTE = '.metadata.annotations["trimtab.dev/{}"]'
_BEGINS = """
hostIP: {{ NodeIPWith .spec.nodeName | Quote }}
{{ $on_host := or .spec.hostNetwork false }}
podIP: {{ PodIPWith .spec.nodeName $on_host .metadata.uid .metadata.name .metadata.namespace | Quote }}
startTime: {{ $now | Quote }}
"""
_ENDED = (
    "state: {terminated: {exitCode: %s, reason: %s, startedAt: {{ $now | Quote }}, finishedAt: {{ $now | Quote }}}}"
)
_WAITS = "state: {waiting: {reason: %s}}"
_CODE = '{{ or (index (or $pod.metadata.annotations dict) "trimtab.dev/exit-code") "1" }}'


def write(path: Path) -> None:
    """Write kwok's configuration."""
    path.write_text("\n---\n".join(json.dumps(each) for each in _stages()))


def _stages() -> list[Json]:
    completed = _status("Succeeded", _ENDED % ("0", "Completed"))
    crashes, complete, hangs = _NOTE.format("crash"), _NOTE.format("complete"), _NOTE.format("hang")
    running = "state: {running: {startedAt: {{ $now | Quote }}}}"
    return [
        _stage(
            "pod-starts",
            [_ALIVE, _NEW, (_NOTE.format("no-image"), "DoesNotExist"), (hangs, "DoesNotExist")],
            _status("Running", running, ready=True) + _BEGINS,
        ),
        _stage("pod-starts-and-hangs", [_ALIVE, _NEW, (hangs, "Exists")], _status("Running", running) + _BEGINS),
        _stage(
            "pod-has-no-image",
            [_ALIVE, _NEW, (_NOTE.format("no-image"), "Exists")],
            _status("Pending", _WAITS % "ImagePullBackOff") + _BEGINS,
        ),
        _stage(
            "pod-of-a-job-completes",
            [
                _ALIVE,
                _RUNS,
                (".metadata.ownerReferences.[].kind", "In", "Job"),
                *((note, "DoesNotExist") for note in (complete, crashes, hangs)),
            ],
            completed,
        ),
        _stage(
            "pod-completes",
            [_ALIVE, _RUNS, (complete, "Exists"), (complete, "NotIn", "never"), (crashes, "DoesNotExist")],
            completed,
        ),
        _stage(
            "pod-crashes-for-good",
            [_ALIVE, _RUNS, (crashes, "Exists"), (".spec.restartPolicy", "In", "Never")],
            _status("Failed", _ENDED % (_CODE, "Error")),
        ),
        _stage(
            "pod-crashes-and-waits",
            [
                _ALIVE,
                _RUNS,
                (crashes, "Exists"),
                (".spec.restartPolicy", "NotIn", "Never"),
                ('.status.conditions.[] | select( .type == "Ready" ) | .status', "In", "True"),
            ],
            _status("Running", _WAITS % "CrashLoopBackOff", restarts=1),
        ),
        # A Pod that a finalizer holds ends first, as it would at a kubelet, and then waits for the finalizer.
        _stage(
            "pod-stops",
            [_GOING, _HELD, (".status.phase", "In", "Pending", "Running")],
            _status("Failed", _ENDED % ("143", "Error")),
        ),
        _stage("pod-goes", [_GOING, _FREE]),
    ]


def _stage(name: str, matches: list[tuple[str, ...]], status: str = "") -> Json:
    expressions = [
        {"key": key, "operator": operator, **({"values": values} if values else {})}
        for key, operator, *values in matches
    ]
    return {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "Stage",
        "metadata": {"name": name},
        "spec": {
            "resourceRef": {"apiGroup": "v1", "kind": "Pod"},
            "selector": {"matchExpressions": expressions},
            "next": {"statusTemplate": status} if status else {"delete": True},
        },
    }


def _status(phase: str, state: str, *, ready: bool = False, restarts: int = 0) -> str:
    is_ready = str(ready).lower()
    return f"""{{{{ $now := Now }}}}{{{{ $pod := . }}}}
phase: {phase}
conditions:
- {{type: Initialized, status: "True", lastTransitionTime: {{{{ $now | Quote }}}}}}
- {{type: ContainersReady, status: "{ready}", lastTransitionTime: {{{{ $now | Quote }}}}}}
- {{type: Ready, status: "{ready}", lastTransitionTime: {{{{ $now | Quote }}}}}}
containerStatuses:
{{{{ range .spec.containers }}}}
- name: {{{{ .name | Quote }}}}
  image: {{{{ .image | Quote }}}}
  ready: {is_ready}
  started: {is_ready}
  restartCount: {restarts}
  {state}
{{{{ end }}}}
"""
