"""The control loops of the local cluster: those of Kubernetes' controller manager, each an ordinary app in one file.

What belongs here decides what a cluster does by itself, under the names that Kubernetes' controllers have. What stands
in for machines is in `nodes/`, what chooses among them in `scheduling/`.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import Any, Final

from trimtab.controller import App
from trimtab.errors import TrimtabError

LOOPS: Final = {
    "deployment-controller": "trimtab.local.loops.deployment",
    "namespace-controller": "trimtab.local.loops.namespaces",
    "node-lifecycle-controller": "trimtab.local.loops.node_lifecycle",
    "replicaset-controller": "trimtab.controllers.replicaset",
    "root-ca-certificate-publisher-controller": "trimtab.local.loops.root_ca",
    "serviceaccount-controller": "trimtab.local.loops.service_accounts",
    "statefulset-controller": "trimtab.local.loops.statefulset",
}
"""Where each loop is: a module with an `app`. It is imported when a cluster runs it."""


def load_loops(names: Iterable[str] | None = None) -> list[App]:
    """The apps of these loops; without names, of all."""
    return [_load(name) for name in (LOOPS if names is None else dict.fromkeys(names))]


def _load(name: str) -> App:
    module = LOOPS.get(name)
    if module is None:
        raise TrimtabError(f"there is no loop {name!r}: there are {', '.join(LOOPS)}")
    found: Any = importlib.import_module(module)
    app: App = found.app
    return app
