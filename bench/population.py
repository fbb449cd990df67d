"""The objects that the bench works on: small ConfigMaps, and Pods of about 10 KB that differ as those of a cluster do.

Pure, and the same at every run: the n-th Pod is always the n-th Pod.
"""

import random
from typing import Any

FIELD_MANAGER = "bench"  # of all contestants, so that none of them leaves longer objects to the next

_TEAMS = ("checkout", "search", "ledger", "media", "fraud", "identity", "delivery", "pricing")
_WORDS = ("api", "worker", "cache", "relay", "index", "gate", "mirror", "batch", "stream", "audit", "sync", "edge")
_ZONES = ("eu-central-1a", "eu-central-1b", "us-east-1c", "us-east-1d")
_GATED = [{"name": "trimtab.dev/bench"}]  # no scheduler may touch these Pods: they are there to be read


def config_map_name(number: int) -> str:
    """Name a ConfigMap, as all contestants do."""
    return f"settings-{number:03d}"


def config_map(number: int) -> dict[str, Any]:
    """Make a ConfigMap whose one key is there to be patched."""
    return {
        "metadata": {"name": config_map_name(number), "labels": {"app": "bench"}},
        "data": {"mode": "steady", "revision": "0"},
    }


def pod(number: int) -> dict[str, Any]:
    """Make a Pod as a ReplicaSet of some team would have it, three containers with much to configure."""
    rng = random.Random(number)  # noqa: S311
    team = rng.choice(_TEAMS)
    app = f"{team}-{rng.choice(_WORDS)}"
    digest = f"{rng.getrandbits(40):010x}"
    return {
        "metadata": {
            "name": f"{app}-{digest[:9]}-{number:05d}",
            "labels": {
                "app.kubernetes.io/name": app,
                "app.kubernetes.io/part-of": team,
                "app.kubernetes.io/version": _version(rng),
                "pod-template-hash": digest[:9],
                "topology.kubernetes.io/zone": rng.choice(_ZONES),
            },
            "annotations": {
                "checksum/config": f"{rng.getrandbits(256):064x}",
                "prometheus.io/port": str(rng.randint(8000, 9999)),
                "prometheus.io/scrape": "true",
                "rollout.example.com/reason": " ".join(rng.choices(_WORDS, k=12)),
            },
        },
        "spec": {
            "schedulingGates": _GATED,
            "serviceAccountName": "default",
            "automountServiceAccountToken": False,
            "terminationGracePeriodSeconds": rng.randint(10, 120),
            "containers": [_container(rng, app, index) for index in range(3)],
            "volumes": [
                {"name": "config", "configMap": {"name": f"{app}-config", "optional": True}},
                {"name": "scratch", "emptyDir": {"sizeLimit": f"{rng.randint(1, 9)}Gi"}},
            ],
            "tolerations": [{"key": "dedicated", "operator": "Equal", "value": team, "effect": "NoSchedule"}],
        },
    }


def pod_status(number: int) -> dict[str, Any]:
    """Make the status that a kubelet would report for that Pod."""
    rng = random.Random(-1 - number)  # noqa: S311
    since = f"2026-0{rng.randint(1, 9)}-1{rng.randint(0, 9)}T{rng.randint(10, 23)}:{rng.randint(10, 59)}:00Z"
    address = ".".join(str(part) for part in (10, rng.randint(0, 255), rng.randint(0, 255), rng.randint(1, 254)))
    return {
        "phase": "Running",
        "hostIP": f"192.168.{rng.randint(0, 255)}.{rng.randint(1, 254)}",
        "podIP": address,
        "podIPs": [{"ip": address}],
        "startTime": since,
        "qosClass": "Burstable",
        "conditions": [
            {"type": name, "status": "True", "lastProbeTime": None, "lastTransitionTime": since}
            for name in ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady")
        ],
        "containerStatuses": [_container_status(rng, index, since) for index in range(3)],
    }


def _container(rng: random.Random, app: str, index: int) -> dict[str, Any]:
    port = rng.randint(1024, 65000)
    probe = {"httpGet": {"path": f"/{rng.choice(_WORDS)}/healthz", "port": port}, "periodSeconds": rng.randint(5, 60)}
    return {
        "name": _container_name(index),
        "image": f"registry.example.com/{app}/{_container_name(index)}:{_version(rng)}",
        "args": [f"--{rng.choice(_WORDS)}={rng.randint(0, 9999)}" for _ in range(4)],
        "env": [
            {"name": f"{rng.choice(_WORDS)}_{rng.choice(_WORDS)}_{n}".upper(), "value": f"{rng.getrandbits(64):016x}"}
            for n in range(12)
        ]
        + [{"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
        "ports": [{"name": "http", "containerPort": port}],
        "resources": {
            "requests": {"cpu": f"{rng.randint(50, 900)}m", "memory": f"{rng.randint(64, 2048)}Mi"},
            "limits": {"memory": f"{rng.randint(2049, 8192)}Mi"},
        },
        "livenessProbe": probe,
        "readinessProbe": probe,
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        "volumeMounts": [
            {"name": "config", "mountPath": "/etc/config", "readOnly": True},
            {"name": "scratch", "mountPath": f"/var/{rng.choice(_WORDS)}"},
        ],
    }


def _container_status(rng: random.Random, index: int, since: str) -> dict[str, Any]:
    image = f"registry.example.com/{rng.choice(_WORDS)}/{_container_name(index)}"
    return {
        "name": _container_name(index),
        "image": f"{image}:{_version(rng)}",
        "imageID": f"{image}@sha256:{rng.getrandbits(256):064x}",
        "containerID": f"containerd://{rng.getrandbits(256):064x}",
        "ready": True,
        "started": True,
        "restartCount": rng.randint(0, 9),
        "state": {"running": {"startedAt": since}},
    }


def _container_name(index: int) -> str:
    return ("main", "proxy", "telemetry")[index]


def _version(rng: random.Random) -> str:
    return f"v{rng.randint(0, 9)}.{rng.randint(0, 40)}.{rng.randint(0, 99)}"
