"""Is this process alive, and is it ready? In the words and at the addresses that Kubernetes' own servers have.

Alive means: every watch heard from the server lately. Ready means: what is watched was read. A standby is both. Nothing
here does I/O: `answer` is what to say to whoever asks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from trimtab.cache import Informers

LATELY: Final = 180.0
"""Seconds within which a watch must have heard from the server. A silent one is cut and resumed after 75 s."""

Check: TypeAlias = Callable[[], str]
"""Says what is wrong; nothing where nothing is."""

_OK: Final = 200
_NOT_FOUND: Final = 404
_FAILED: Final = 500
_PROBES: Final = {"healthz": "live", "livez": "live", "readyz": "ready"}


class Health:
    """The checks of a process. `/healthz` and `/livez` ask those of `live`, `/readyz` those of `ready`."""

    def __init__(self) -> None:
        self.live: dict[str, Check] = {"ping": _fine}
        self.ready: dict[str, Check] = {"ping": _fine}

    def answer(self, path: str, query: Mapping[str, Sequence[str]]) -> tuple[int, str] | None:
        """The answer to a probe, such as `/readyz?verbose&exclude=caches` or `/readyz/caches`. None for other paths."""
        probe, _, only = path.strip("/").partition("/")
        if probe not in _PROBES:
            return None
        checks = self.live if _PROBES[probe] == "live" else self.ready
        if only:
            return _single(only, checks[only]) if only in checks else (_NOT_FOUND, f"there is no check {only}\n")
        excluded = query.get("exclude", ())
        lines: list[str] = []
        failed = False
        for name, check in checks.items():
            if name in excluded:
                lines.append(f"[+]{name} excluded: ok")
                continue
            wrong = _ask(check)
            failed |= bool(wrong)
            lines.append(f"[-]{name} failed: {wrong}" if wrong else f"[+]{name} ok")
        unknown = [name for name in excluded if name not in checks]
        if unknown:
            lines.append(f"warn: there is no check {', '.join(unknown)} to exclude")
        lines.append(f"{probe} check {'failed' if failed else 'passed'}")
        if not failed and "verbose" not in query:
            return _OK, "ok"
        return _FAILED if failed else _OK, "\n".join(lines) + "\n"


def watches_alive(informers: Callable[[], Informers | None]) -> Check:
    """A check of the watches for liveness."""

    def check() -> str:
        known = informers()
        silent = [h for h in known.health() if h.heard is not None and h.heard > LATELY] if known else []
        return "; ".join(
            f"{health.scope} heard nothing for {health.heard:.0f} s ({health.problem or 'and does not know why'})"
            for health in silent
        )

    return check


def caches_synced(informers: Callable[[], Informers | None]) -> Check:
    """A check of the watches for readiness."""

    def check() -> str:
        known = informers()
        if known is None:
            return "not started yet"
        missing = [health for health in known.health() if not health.synced]
        return "; ".join(f"{h.scope} was not read yet ({h.problem or 'it is being read'})" for h in missing)

    return check


def _single(name: str, check: Check) -> tuple[int, str]:
    wrong = _ask(check)
    return (_FAILED, f"{name} failed: {wrong}\n") if wrong else (_OK, "ok")


def _ask(check: Check) -> str:
    try:
        return check()
    except Exception as error:  # noqa: BLE001  # somebody's check: a mistake in it is no reason to say nothing
        return f"the check itself failed: {type(error).__name__}: {error}"


def _fine() -> str:
    return ""
