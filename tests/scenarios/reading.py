"""Reads scenarios written as text: one step a line.

    == a new image rolls out
    create deploy web {spec: {replicas: 3}}
    wait deploy web availableReplicas=3
    image deploy web nginx:2
    wait deploy web updatedReplicas=3 replicas=3 Progressing=NewReplicaSetAvailable

| step | does |
| --- | --- |
| `create WORD NAME {over}` | makes an object of templates.py, with something laid over it |
| `apply WORD NAME {over}` | the same by server-side apply |
| `patch WORD NAME {merge patch}`, `status WORD NAME {...}` | changes it, or its status |
| `image WORD NAME IMAGE`, `scale WORD NAME N` | the image of its container, its replicas |
| `undo deploy NAME REVISION` | what kubectl rollout undo does |
| `delete WORD NAME [Background, Foreground or Orphan] [grace=N]` | deletes it |
| `annotate PODS name=value`, `label PODS ...` | by name, by a label `app=web`, or `app=web#0`: the first of them |
| `evict PODS`, `drain NODE` | by the eviction API; a drain cordons first, and tries until all are gone |
| `own WORD NAME OWNER...`, `orphan WORD NAME` | makes one with owners of its kind, or with one that is not there |
| `wait WORD NAME field=value Condition !Condition Condition=Reason` | fields of the status, or from the root |
| `wait WORD NAME gone`, `wait pods LABELS N Phase=N ready=N`, `wait event REASON` | |
| `swap` | others take over the work, in a test that says who |
| `settle` | waits until nothing happens any more, as each wait does in the end |

`Condition=Reason` is for any status of it. A line that begins with spaces goes on with the one before; `$NS` is the
namespace, `#` begins a remark. `with V: one | two` after the title makes a scenario for each, in which %V stands for
the value. `unseen TEXT` leaves out what has that in its place, where it is a matter of who is faster. After each wait,
and at the end, everything is looked at (observing.py).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

SCRIPTS = Path(__file__).parent / "scripts"
_VERBS = (
    "create", "apply", "patch", "status", "image", "scale", "undo", "delete", "annotate", "label", "evict", "drain",
    "own", "orphan", "swap", "wait", "settle",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Step:
    """One line."""

    verb: str
    words: tuple[str, ...]
    body: Any = None

    @property
    def looks(self) -> bool:
        """Whether everything is looked at after it."""
        return self.verb in ("wait", "settle")


@dataclass(frozen=True, slots=True)
class Scenario:
    """Steps in a namespace of their own."""

    area: str
    name: str
    steps: tuple[Step, ...]
    unseen: tuple[str, ...] = ()
    """What is not compared: places with this in them."""

    @property
    def key(self) -> str:
        """How it is called in tables and recordings."""
        return f"{self.area}/{self.name}"


def corpus() -> list[Scenario]:
    """All scenarios."""
    return [each for path in sorted(SCRIPTS.glob("*.txt")) for each in read(path)]


def read(path: Path) -> list[Scenario]:
    """All scenarios of a file."""
    return scenarios(path.stem, path.read_text())


def scenarios(area: str, script: str) -> list[Scenario]:
    """All scenarios of a text."""
    found: list[Scenario] = []
    for block in re.split(r"^== *", script, flags=re.MULTILINE)[1:]:
        title, _, rest = block.partition("\n")
        lines = _lines(rest)
        name, values = "", [""]
        if lines and lines[0].startswith("with "):
            name, _, row = lines.pop(0).removeprefix("with ").partition(":")
            values = [value.strip() for value in row.split("|")]
        for value in values:
            texts = [line.replace(f"%{name}", value) if name else line for line in (title.strip(), *lines)]
            unseen = tuple(text.removeprefix("unseen ") for text in texts[1:] if text.startswith("unseen "))
            steps = tuple(_step(text) for text in texts[1:] if not text.startswith("unseen "))
            found.append(Scenario(area, texts[0], steps, unseen))
    return found


def _lines(text: str) -> list[str]:
    lines: list[str] = []
    for line in text.splitlines():
        if line.startswith(" ") and lines:
            lines[-1] += " " + line.strip()
        elif line.strip() and not line.startswith("#"):
            lines.append(line.strip())
    return lines


def _step(line: str) -> Step:
    head, brace, rest = line.partition("{")
    verb, *words = head.split()
    if verb not in _VERBS:
        raise ValueError(f"{line!r} begins with no step: there are {', '.join(_VERBS)}")
    return Step(verb, tuple(words), yaml.safe_load(brace + rest) if brace else None)
