"""What Pods of one ReplicaSet have in common, and what each has for itself. Pure, and the same at every run."""

import random
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from uuid import UUID

_TEAMS = ("checkout", "search", "ledger", "media", "fraud", "identity", "delivery", "pricing")
_WORDS = ("api", "worker", "cache", "relay", "index", "gate", "mirror", "batch", "stream", "audit", "sync", "edge")
_ZONES = ("eu-central-1a", "eu-central-1b", "us-east-1c", "us-east-1d")
_LETTERS = "bcdfghjklmnpqrstvwxz2456789"  # of which Kubernetes makes names: no vowels, no words
_CONTAINERS = {"main": 5, "proxy": 2}  # and how many environment variables each has
_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"


@dataclass(frozen=True)
class Template:
    """A ReplicaSet, as far as its Pods show it."""

    app: str
    digest: str
    uid: str
    labels: dict[str, str]
    annotations: dict[str, str]
    spec: dict[str, Any]

    @property
    def name(self) -> str:
        """The ReplicaSet's name."""
        return f"{self.app}-{self.digest}"


@lru_cache(maxsize=4096)
def template(number: int) -> Template:
    """Make the n-th."""
    rng = random.Random(f"template {number}")  # noqa: S311
    team = rng.choice(_TEAMS)
    app = f"{team}-{rng.choice(_WORDS)}"
    digest = _letters(rng, 10)
    version = _version(rng)
    return Template(
        app=app,
        digest=digest,
        uid=uid(rng),
        labels={
            "app.kubernetes.io/name": app,
            "app.kubernetes.io/instance": f"{app}-{number}",
            "app.kubernetes.io/part-of": team,
            "app.kubernetes.io/version": version,
            "pod-template-hash": digest,
        },
        annotations={
            "checksum/config": f"{rng.getrandbits(256):064x}",
            "prometheus.io/port": str(rng.randint(8000, 9999)),
            "prometheus.io/scrape": "true",
            "rollout.example.com/reason": " ".join(rng.choices(_WORDS, k=6)),
        },
        spec={
            "serviceAccountName": app,
            "terminationGracePeriodSeconds": rng.randint(10, 120),
            "containers": [_container(rng, app, version, name) for name in _CONTAINERS],
            "volumes": [
                {"name": "config", "configMap": {"name": f"{app}-config", "optional": True}},
                {"name": "scratch", "emptyDir": {"sizeLimit": f"{rng.randint(1, 9)}Gi"}},
            ],
            "tolerations": [{"key": "dedicated", "operator": "Equal", "value": team, "effect": "NoSchedule"}],
        },
    )


def pod_of(given: Template, number: int, rng: random.Random) -> dict[str, Any]:
    """Make one of its Pods, as it is once a scheduler has found it a node."""
    token = f"kube-api-access-{_letters(rng, 5)}"
    main, *others = given.spec["containers"]
    main = {**main, "env": [*main["env"], {"name": "INSTANCE_ID", "value": uid(rng)}]}
    return {
        "metadata": {
            "name": f"{given.name}-{_suffix(number)}",
            "generateName": f"{given.name}-",
            "labels": {**given.labels, "topology.kubernetes.io/zone": rng.choice(_ZONES)},
            "annotations": {
                **given.annotations,
                "cni.projectcalico.org/containerID": f"{rng.getrandbits(256):064x}",
                "cni.projectcalico.org/podIP": f"{_address(rng)}/32",
            },
            "ownerReferences": [
                {
                    "apiVersion": "apps/v1",
                    "kind": "ReplicaSet",
                    "name": given.name,
                    "uid": given.uid,
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": {
            **given.spec,
            "nodeName": f"node-{rng.randrange(200):03d}",
            "containers": [_with_token(container, token) for container in (main, *others)],
            "volumes": [*given.spec["volumes"], _token_volume(token)],
        },
    }


def status_of(given: Template, rng: random.Random) -> dict[str, Any]:
    """Make the status that a kubelet would report for such a Pod."""
    address = _address(rng)
    day, minute = f"2026-0{rng.randint(1, 9)}-1{rng.randint(0, 9)}T{rng.randint(10, 23)}", rng.randint(10, 58)
    since = f"{day}:{minute}:{rng.randint(10, 29)}Z"
    ready = f"{day}:{minute}:{rng.randint(30, 59)}Z"
    return {
        "phase": "Running",
        "hostIP": f"192.168.{rng.randint(0, 255)}.{rng.randint(1, 254)}",
        "podIP": address,
        "podIPs": [{"ip": address}],
        "startTime": since,
        "qosClass": "Burstable",
        "conditions": [
            {"type": name, "status": "True", "lastProbeTime": None, "lastTransitionTime": when}
            for name, when in (
                ("PodReadyToStartContainers", ready),
                ("Initialized", since),
                ("Ready", ready),
                ("ContainersReady", ready),
                ("PodScheduled", since),
            )
        ],
        "containerStatuses": [_container_status(rng, container, ready) for container in given.spec["containers"]],
    }


def uid(rng: random.Random) -> str:
    """Make a uid."""
    return str(UUID(int=rng.getrandbits(128), version=4))


def _container(rng: random.Random, app: str, version: str, name: str) -> dict[str, Any]:
    port = rng.randint(1024, 65000)
    probe = {"httpGet": {"path": f"/{rng.choice(_WORDS)}/healthz", "port": port}, "periodSeconds": rng.randint(5, 60)}
    return {
        "name": name,
        "image": f"registry.example.com/{app}/{name}:{version}",
        "args": [f"--{rng.choice(_WORDS)}={rng.randint(0, 9999)}" for _ in range(4)],
        "env": [
            {"name": f"{rng.choice(_WORDS)}_{rng.choice(_WORDS)}_{n}".upper(), "value": f"{rng.getrandbits(64):016x}"}
            for n in range(_CONTAINERS[name])
        ]
        + [{"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
        "ports": [{"name": "http", "containerPort": port}],
        "resources": {
            "requests": {"cpu": f"{rng.randint(50, 900)}m", "memory": f"{rng.randint(64, 2048)}Mi"},
            "limits": {"memory": f"{rng.randint(2049, 8192)}Mi"},
        },
        "readinessProbe": probe,
        "securityContext": {"allowPrivilegeEscalation": False},
        "volumeMounts": [
            {"name": "config", "mountPath": "/etc/config", "readOnly": True},
            {"name": "scratch", "mountPath": f"/var/{rng.choice(_WORDS)}"},
        ],
    }


def _with_token(container: dict[str, Any], volume: str) -> dict[str, Any]:
    mount = {"name": volume, "mountPath": _ACCOUNT, "readOnly": True}
    return {**container, "volumeMounts": [*container["volumeMounts"], mount]}


def _token_volume(name: str) -> dict[str, Any]:
    """Make the volume that every Pod has, under a name of its own."""
    authority = {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}
    return {
        "name": name,
        "projected": {
            "sources": [
                {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                {"configMap": authority},
            ],
        },
    }


def _container_status(rng: random.Random, container: dict[str, Any], since: str) -> dict[str, Any]:
    image = container["image"]
    digest = random.Random(image).getrandbits(256)  # noqa: S311 (the same image has the same digest on every node)
    return {
        "name": container["name"],
        "image": image,
        "imageID": f"{image.partition(':')[0]}@sha256:{digest:064x}",
        "containerID": f"containerd://{rng.getrandbits(256):064x}",
        "ready": True,
        "started": True,
        "restartCount": rng.choice((0, 0, 0, 0, 1, 2, 5)),
        "state": {"running": {"startedAt": since}},
    }


def _suffix(number: int) -> str:
    """Make five letters that no other number has, as a server would see to; they look as if made at random."""
    left, letters = number * 7_654_321 % len(_LETTERS) ** 5, ""
    for _ in range(5):
        left, digit = divmod(left, len(_LETTERS))
        letters += _LETTERS[digit]
    return letters


def _letters(rng: random.Random, count: int) -> str:
    return "".join(rng.choices(_LETTERS, k=count))


def _address(rng: random.Random) -> str:
    return f"10.{rng.randint(0, 255)}.{rng.randint(0, 255)}.{rng.randint(1, 254)}"


def _version(rng: random.Random) -> str:
    return f"v{rng.randint(0, 9)}.{rng.randint(0, 40)}.{rng.randint(0, 99)}"
