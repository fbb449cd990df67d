"""The differ: random writes to a real API server, each compared with what the functions here make of the same.

    python -m tests.apiserver.patching.differ [--seed N] [--objects N] [--steps N] [--save FILE]

Each step begins with the object as the real server stores it, so one difference does not lead to others. What is saved
are the steps, for `test_cases.py`; those that differ are printed.
"""

from __future__ import annotations

import argparse
import json
import re
import ssl
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.client import HTTPSConnection
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote, urlsplit

from tests.apiserver.patching.cases import TOY_SCHEMA, differences
from tests.apiserver.patching.scenarios import SCENARIOS, Move
from tests.apiserver.patching.universe import KINDS, Kind

from trimtab.testing.components import MASTERS
from trimtab.testing.control_plane import ControlPlane

Json = dict[str, Any]

# What admission adds comes after the bookkeeping, and cannot be told from what was sent.
FLAGS = {"kube-apiserver": ["--disable-admission-plugins=DefaultTolerationSeconds,ServiceAccount,Priority"]}
MANAGERS = ("alice", "bob", "carol", "kubectl")
PATCHES = {
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
}


class Server:
    """The real one."""

    def __init__(self, connection: HTTPSConnection) -> None:
        self._connection = connection

    def send(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> tuple[int, Any]:
        data = None if body is None else json.dumps(body)
        self._connection.request(method, path, data, {"Content-Type": kind, "Accept": "application/json"})
        response = self._connection.getresponse()
        answer = response.read()
        return response.status, json.loads(answer) if answer[:1] == b"{" else {"message": answer.decode()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--objects", type=int, default=40)
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--kinds", default="")
    parser.add_argument("--save", type=Path)
    options = parser.parse_args()
    random = Random(options.seed)
    kinds = [kind for kind in KINDS if not options.kinds or kind.kind in options.kinds.split(",")]
    counts: Counter[str] = Counter()
    lives: list[Json] = []
    with server() as api:
        for number in range(options.objects):
            kind = kinds[number % len(kinds)]
            lives.append({"name": f"seed {options.seed}, object {number}", "steps": []})
            for step in life(api, kind, f"o{number}", random, options.steps):
                report(step, lives[-1], counts)
        for name, scenario in SCENARIOS.items():
            lives.append({"name": name, "steps": []})
            for step in played(api, scenario, re.sub("[^a-z0-9]+", "-", name.lower())):
                report(step, lives[-1], counts)
    for what, count in sorted(counts.items()):
        print(f"{count:6} {what}")
    if options.save:
        options.save.write_text("".join(json.dumps(saved(life), separators=(",", ":")) + "\n" for life in lives))
    return 0


def report(step: Json, life: Json, counts: Counter[str]) -> None:
    """Compare a step, and say so where it differs."""
    found = differences(step)
    counts[f"{step['verb']} {'differs' if found else 'equal'}"] += 1
    counts[f"{step['status']}"] += 1
    life["steps"].append(step)
    if found:
        print(life["name"], len(life["steps"]), json.dumps(step))
        print("\n".join(f"    {line}" for line in found))


def saved(life: Json) -> Json:
    """A life without what follows from the step before."""
    steps = [{key: value for key, value in step.items() if key != "live" and value != ""} for step in life["steps"]]
    return {"name": life["name"], "steps": steps}


def played(api: Server, scenario: list[Move], name: str) -> Iterator[Json]:
    """The steps of a scenario."""
    live: Json | None = None
    for move in scenario:
        kind = next(kind for kind in KINDS if kind.kind == move.kind)
        if live:
            live = {**live, "apiVersion": kind.api_version(move.version)}
        sent = move.sent(live) if callable(move.sent) else move.sent
        if isinstance(sent, dict) and move.verb in {"apply", "create"}:
            version = "autoscaling/v1" if move.subresource == "scale" else kind.api_version(move.version)
            what = "Scale" if move.subresource == "scale" else kind.kind
            sent = {"apiVersion": version, "kind": what, **sent}
            sent["metadata"] = {"name": name, **(sent.get("metadata") or {})}
        step = stepped(
            kind, move.verb, live, sent, move.manager, move.subresource, force=move.force, version=move.version
        )
        answered(api, kind, name, step)
        yield step
        live = step["answer"] if step["status"] < 300 else live


@contextmanager
def server() -> Iterator[Server]:
    with ControlPlane("1.36.3", flags=FLAGS, announce=print) as plane, TemporaryDirectory() as folder:
        tls = ssl.create_default_context(cadata=plane.authority.certificate.decode())
        tls.load_cert_chain(*plane.authority.issue_client("admin", [MASTERS]).write(Path(folder), "admin"))
        api = Server(HTTPSConnection(urlsplit(plane.url).netloc, context=tls))
        made, answer = api.send("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition())
        assert made == 201, answer
        for _ in range(200):
            status, _ = api.send("GET", "/apis/toys.example.com/v1/namespaces/default/toys")
            path = "/openapi/v3/apis/toys.example.com/v1"
            if status == 200 and api.send("GET", path)[0] == 200:
                break
            time.sleep(0.05)
        api.send("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "default"}})
        yield api


def definition() -> Json:
    """The custom resource definition of the toys."""
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": TOY_SCHEMA},
        "subresources": {
            "status": {},
            "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"},
        },
    }
    return {
        "metadata": {"name": "toys.toys.example.com"},
        "spec": {
            "group": "toys.example.com",
            "scope": "Namespaced",
            "names": {"plural": "toys", "singular": "toy", "kind": "Toy", "listKind": "ToyList"},
            "versions": [version, {**version, "name": "v2", "storage": False}],
        },
    }


def life(api: Server, kind: Kind, name: str, random: Random, steps: int) -> Iterator[Json]:
    """The steps of one object, from nothing on."""
    live: Json | None = None
    for _ in range(steps):
        verb = random.choice(kind.verbs if live else ["apply", "create"])
        subresource = "status" if live and kind.has_status and random.random() < 0.2 else ""
        version = random.choice(kind.versions)
        if live:
            live = {**live, "apiVersion": kind.api_version(version)}
        sent = kind.sent(random, name, live, verb, subresource, version)
        force = random.random() < 0.3
        step = stepped(kind, verb, live, sent, random.choice(MANAGERS), subresource, force=force, version=version)
        answered(api, kind, name, step)
        yield step
        live = step["answer"] if step["status"] < 300 else live


def stepped(
    kind: Kind, verb: str, live: Json | None, sent: Any, manager: str, subresource: str, *, force: bool, version: str
) -> Json:
    """A step that nobody has answered yet."""
    return {
        "group": kind.group,
        "version": version or kind.version,
        "kind": kind.kind,
        "verb": verb,
        "live": live,
        "manager": manager,
        "subresource": subresource,
        "force": force,
        "sent": sent,
    }


def answered(api: Server, kind: Kind, name: str, step: Json) -> None:
    """Send it."""
    began = stamp(0)
    step["status"], step["answer"] = do(api, kind, name, step)
    if step["status"] < 300 and step["subresource"] == "scale":
        _, step["answer"] = api.send("GET", f"{kind.path}/{name}")  # what came of it stands in the object
    step["now"] = list(dict.fromkeys([began, stamp(0)]))


def stamp(seconds: int) -> str:
    return datetime.fromtimestamp(time.time() + seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def do(api: Server, kind: Kind, name: str, step: Json) -> tuple[int, Any]:
    collection = kind.path.replace(f"/{kind.version}/", f"/{step['version']}/", 1)
    path = collection + (f"/{name}/{step['subresource']}" if step["subresource"] else f"/{name}")
    query = f"?fieldManager={quote(step['manager'])}"
    match step["verb"]:
        case "create":
            return api.send("POST", collection + query, step["sent"])
        case "update":
            return api.send("PUT", path + query, step["sent"])
        case "apply":
            query += f"&force={str(step['force']).lower()}"
            return api.send("PATCH", path + query, step["sent"], "application/apply-patch+yaml")
        case patch:
            return api.send("PATCH", path + query, step["sent"], PATCHES[patch])


if __name__ == "__main__":
    raise SystemExit(main())
