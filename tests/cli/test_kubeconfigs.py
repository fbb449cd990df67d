"""A kubeconfig goes where it takes nothing from anybody."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from trimtab.cli.kubeconfigs import USUAL, forget, place
from trimtab.errors import TrimtabError
from trimtab.pki.authority import Issued
from trimtab.pki.kubeconfig import kubeconfig, write_kubeconfig

MINE, DEAD = "https://127.0.0.1:6443", "https://127.0.0.1:1"
FOREIGN = """
apiVersion: v1
kind: Config
clusters: [{name: prod, cluster: {server: "https://10.1.2.3"}}]
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def living() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"https://127.0.0.1:{listener.getsockname()[1]}"


def written(url: str) -> None:
    write_kubeconfig(USUAL, kubeconfig(url, b"", Issued(b"", b"")))


def test_one_of_ours_that_leads_nowhere_is_written_over() -> None:
    assert place(None, MINE) == USUAL
    USUAL.touch()
    assert place(None, MINE) == USUAL
    for url in (MINE, DEAD):
        written(url)
        assert place(None, MINE) == place(USUAL, MINE) == USUAL


def test_one_of_a_cluster_that_runs_stays(living: str) -> None:
    written(living)
    assert place(None, living) == USUAL
    assert place(None, MINE) == Path("trimtab-6443.kubeconfig")
    with pytest.raises(TrimtabError, match="a cluster that runs"):
        place(USUAL, MINE)
    forget(USUAL, MINE)
    assert USUAL.exists()
    forget(USUAL, living)
    assert not USUAL.exists()


def test_what_kubectl_has_written_is_ours_still() -> None:
    written(DEAD)
    USUAL.write_text(yaml.safe_dump(json.loads(USUAL.read_text())))
    assert place(None, MINE) == USUAL
    forget(USUAL, DEAD)
    assert not USUAL.exists()


@pytest.mark.parametrize("text", [FOREIGN, "[", "hello", "clusters: []", "clusters: [{name: test}]"])
def test_what_is_of_others_is_never_touched(text: str) -> None:
    USUAL.write_text(text)
    for wanted in (None, USUAL):
        with pytest.raises(TrimtabError, match="not written over"):
            place(wanted, MINE)
    forget(USUAL, MINE)
    assert USUAL.read_text() == text
