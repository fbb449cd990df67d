"""Objects of each built-in kind as they may and may not be: a script for each case of the .yaml files beside this.

A new object is sent as a dry run, so that all can be in one namespace and have one name. A change is sent as a dry run
too, to an object that is there: in a namespace of the script's own, or, where the kind is the cluster's, alone and
taken away again. What cannot be taken away at once has `$NS` in its name instead.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import yaml
from tests.parity.playing import Changed, Script, Step, changed

Json: TypeAlias = dict[str, Any]

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_ASKED = "?dryRun=All&fieldValidation=Warn"


def scripts() -> Iterator[Script]:
    """All of them."""
    for path in sorted(Path(__file__).parent.glob("*.yaml")):
        for name, kind in yaml.load(path.read_text(), _LOADER).items():
            for change in (*kind.get("creates", ()), *kind.get("more", ())):
                yield _new(name, kind, change)
            for part, suffix in (("updates", ""), ("statuses", "/status")):
                for change in kind.get(part, ()):
                    yield _changed(name, kind, suffix, change)


def _new(name: str, kind: Json, change: Json) -> Script:
    step = Step("POST", kind["path"] + _ASKED, changed(kind["base"], change))
    return Script(f"{name} new: {json.dumps(change)}", [step], since=kind.get("since", ""), homeless=True)


def _changed(name: str, kind: Json, suffix: str, change: Json) -> Script:
    base, path = kind["base"], kind["path"].replace("/namespaces/default/", "/namespaces/$NS/")
    if path != kind["path"]:  # what names its namespace, such as what an Event is about, is in the other one too
        base = json.loads(json.dumps(base).replace('"namespace": "default"', '"namespace": "$NS"'))
    called = f"{path}/{base['metadata']['name']}"
    steps = [Step("POST", path, base)]
    if "settled" in kind:  # what writes the status of such objects has written it
        steps.append(Step("GET", called, until=kind["settled"]))
    steps.append(Step("PUT", called + suffix + _ASKED, Changed(len(steps) - 1, change)))
    alone = "$NS" not in called
    if alone:
        steps.append(Step("DELETE", called))
    title = f"{name}{suffix}: {json.dumps(change)}"
    return Script(title, steps, alone=alone, since=kind.get("since", ""), homeless="/$NS/" not in path)
