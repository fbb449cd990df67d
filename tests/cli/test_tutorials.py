"""The tutorials of the bundled controllers, followed to the letter by kubectl in the local cluster that they name."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import yaml
from tests.cli.test_dev import dev
from tests.real.tutorials import FOLDER, Tutorial


@pytest.mark.parametrize("name", ["curl-me-that", "pod-restarter", "pod-locator", "replicaset"])
def test_it_works_as_it_is_written(name: str, tmp_path: Path) -> None:
    own, first = ((FOLDER / f"{each}.md").read_text() for each in (name, "curl-me-that"))
    said = re.search(r"`trimtab dev (.*?)`", own) or re.search(r"`trimtab dev (.*?)`", first)
    assert said is not None
    with dev(tmp_path, *shlex.split(said[1])) as running:
        running.wait_for("Ctrl-C ends it")
        kubeconfig = yaml.safe_load((tmp_path / "trimtab.kubeconfig").read_bytes())
        Tutorial(name, tmp_path, kubeconfig, "default").run()
        assert running.stop() == 0
