"""Probes, in the form that kubelet and people know from Kubernetes' own servers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs

import pytest

from trimtab.cache.informers import WatchHealth
from trimtab.manager.health import Health, caches_synced, watches_alive


def ask(health: Health, url: str) -> tuple[int, str] | None:
    path, _, query = url.partition("?")
    return health.answer(path, parse_qs(query, keep_blank_values=True))


@pytest.fixture
def health() -> Health:
    health = Health()
    health.live["watches"] = lambda: ""
    health.ready["caches"] = lambda: "pods was not read yet"
    health.ready["mine"] = lambda: ""
    return health


def test_what_is_well_says_so_briefly_and_in_full_where_asked(health: Health) -> None:
    assert ask(health, "/healthz") == ask(health, "/livez") == ask(health, "/livez/") == (200, "ok")
    assert ask(health, "/livez?verbose") == (200, "[+]ping ok\n[+]watches ok\nlivez check passed\n")
    assert ask(health, "/healthz?verbose") == (200, "[+]ping ok\n[+]watches ok\nhealthz check passed\n")


def test_what_failed_is_named_with_its_reason(health: Health) -> None:
    text = "[+]ping ok\n[-]caches failed: pods was not read yet\n[+]mine ok\nreadyz check failed\n"
    assert ask(health, "/readyz") == (500, text)


def test_one_check_alone_and_all_but_one(health: Health) -> None:
    assert ask(health, "/readyz/mine") == (200, "ok")
    assert ask(health, "/readyz/caches") == (500, "caches failed: pods was not read yet\n")
    assert ask(health, "/readyz/other") == (404, "there is no check other\n")
    assert ask(health, "/readyz?exclude=caches") == (200, "ok")
    assert ask(health, "/readyz?verbose&exclude=caches&exclude=typo") == (
        200,
        (
            "[+]ping ok\n[+]caches excluded: ok\n[+]mine ok\n"
            "warn: there is no check typo to exclude\nreadyz check passed\n"
        ),
    )
    assert ask(health, "/metrics") is None


def test_a_check_that_raises_is_a_failure_and_not_a_broken_server(health: Health) -> None:
    def broken() -> str:
        raise ZeroDivisionError("oh")

    health.live["mine"] = broken
    answer = ask(health, "/livez")
    assert answer is not None
    assert answer[0] == 500
    assert "[-]mine failed: the check itself failed: ZeroDivisionError: oh" in answer[1]


def of_watches(*healths: tuple[bool, float | None, str]) -> Any:
    known = [WatchHealth("pods", *each) for each in healths]  # type: ignore[arg-type]
    return lambda: SimpleNamespace(health=lambda: known)


def test_liveness_means_that_every_watch_heard_from_the_server_lately() -> None:
    assert watches_alive(lambda: None)() == ""
    assert watches_alive(of_watches((True, 179.0, ""), (False, None, "refused")))() == ""
    assert watches_alive(of_watches((True, 1.0, ""), (True, 181.0, "")))() == (
        "pods heard nothing for 181 s (and does not know why)"
    )


def test_readiness_means_that_what_is_watched_was_read() -> None:
    assert caches_synced(lambda: None)() == "not started yet"
    assert caches_synced(of_watches((True, 1.0, "")))() == ""
    assert caches_synced(of_watches((True, 1.0, ""), (False, 2.0, "cannot list pods: Forbidden")))() == (
        "pods was not read yet (cannot list pods: Forbidden)"
    )
