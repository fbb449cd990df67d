"""What a simulated container does, as annotations of its Pod ask.

| annotation | what happens |
| --- | --- |
| `trimtab.dev/complete: 5s` | the containers end well after so long; `now` is at once, `never` keeps those of a Job |
| `trimtab.dev/crash: 5s` | they end with an error, and do so again each time they are started |
| `trimtab.dev/exit-code: "3"` | of a crash; 1, unless given |
| `trimtab.dev/hang: now` | they run, are not ready from then on, and have to be killed when their grace is over |
| `trimtab.dev/no-image: now` | their image cannot be pulled |

`web=5s, log=now` is for some of the containers by name, and only so for init containers. Without an annotation, init
containers, the Pods of Jobs, and what does nothing but `echo` complete at once, and all others run for ever.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from trimtab.errors import TrimtabError
from trimtab.kube.duration import parse_duration

PREFIX: Final = "trimtab.dev/"
COMPLETE: Final = f"{PREFIX}complete"
CRASH: Final = f"{PREFIX}crash"
EXIT_CODE: Final = f"{PREFIX}exit-code"
HANG: Final = f"{PREFIX}hang"
NO_IMAGE: Final = f"{PREFIX}no-image"
LOG: Final = f"{PREFIX}log"

_NEVER: Final = -1.0
_SHELLS: Final = frozenset({"sh", "bash", "ash"})
_NOT_ONE_COMMAND: Final = frozenset("$`;&|<>()")
_LARGEST_CODE: Final = 255


class BadAnnotation(TrimtabError):
    """An annotation asks for something that cannot be understood."""


def words_of(command: Sequence[str]) -> str | None:
    """What a container says whose command is no more than an `echo`, also one in a shell; None for any other."""
    words = list(command)
    if len(words) == 3 and words[0].rpartition("/")[2] in _SHELLS and words[1] == "-c":
        try:
            words = shlex.split(words[2])
        except ValueError:
            return None
    if not words or words[0].rpartition("/")[2] != "echo" or _NOT_ONE_COMMAND & set("".join(words[1:])):
        return None
    return " ".join(words[1:])


@dataclass(frozen=True, slots=True)
class Behaviour:
    """What one container does. Times are seconds since it was started."""

    ends_after: float | None = None
    exit_code: int = 0
    hangs_after: float | None = None
    has_image: bool = True


RUNS: Final = Behaviour()
ENDS: Final = Behaviour(ends_after=0.0)


def behaviour_of(annotations: Mapping[str, str], container: str, *, ends: bool, init: bool = False) -> Behaviour:
    """What a container does; `ends` says whether it completes at once, where no annotation says otherwise."""
    usual = ENDS if ends else RUNS
    if not any(name.startswith(PREFIX) for name in annotations):
        return usual
    completes = _seconds(annotations, COMPLETE, container, init)
    crashes = _seconds(annotations, CRASH, container, init)
    hangs = _seconds(annotations, HANG, container, init)
    made = usual
    if completes is not None:
        made = replace(made, ends_after=None if completes == _NEVER else completes)
    if hangs is not None and hangs != _NEVER:
        made = replace(made, hangs_after=hangs, ends_after=None)
    if crashes is not None and crashes != _NEVER:
        made = replace(made, ends_after=crashes, exit_code=_code(annotations))
    no_image = _seconds(annotations, NO_IMAGE, container, init)
    return replace(made, has_image=False) if no_image not in (None, _NEVER) else made


def _seconds(annotations: Mapping[str, str], name: str, container: str, init: bool) -> float | None:
    text = annotations.get(name)
    if text is None:
        return None
    found = _parsed(name, text)
    return found.get(container, None if init else found.get(""))


@lru_cache(maxsize=1000)
def _parsed(name: str, text: str) -> Mapping[str, float]:
    """Seconds by the container's name; under "" for all others."""
    found: dict[str, float] = {}
    for word in text.split(","):
        container, _, when = word.strip().rpartition("=")
        found[container.strip()] = _when(name, when.strip())
    return found


def _when(name: str, text: str) -> float:
    if text in ("", "now", "true", "yes"):
        return 0.0
    if text in ("never", "false", "no"):
        return _NEVER
    try:
        seconds = parse_duration(text).total_seconds()
    except ValueError:
        seconds = _NEVER
    if seconds < 0:
        raise BadAnnotation(f"{name}: {text!r} is no time: say now, never, or such as 5s")
    return seconds


def _code(annotations: Mapping[str, str]) -> int:
    text = annotations.get(EXIT_CODE, "1")
    if not (text.isascii() and text.isdecimal() and 0 < int(text) <= _LARGEST_CODE):
        raise BadAnnotation(f"{EXIT_CODE}: {text!r} is no exit code of a failure: give a number from 1 to 255")
    return int(text)
