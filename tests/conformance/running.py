"""Running Kubernetes' program of tests, and reading what it reports."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.conformance.suites import Suite

_PUNCTUATION = re.compile(r"[][\\.+*?()|^${}]")


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one test ended."""

    name: str
    passed: bool
    seconds: float
    message: str


@dataclass(frozen=True, slots=True)
class Program:
    """Kubernetes' tests, as they are run on one cluster."""

    path: Path
    kubeconfig: Path
    folder: Path
    flags: Sequence[str] = ()
    """More of them, as a user gave them."""

    def names(self, suite: Suite) -> list[str]:
        """The tests of a suite; none of them is run."""
        chosen = (f"--ginkgo.focus={suite.focus}", f"--ginkgo.skip={suite.skip}")
        return sorted(each.name for each in self._run("names", *chosen, "--ginkgo.dry-run"))

    def play(self, names: Sequence[str], at_once: int) -> list[Outcome]:
        """Run these tests, so many at once: each of the processes has its share. What they say is in `tests-N.log`."""
        shares = [share for share in (names[first::at_once] for first in range(at_once)) if share]
        with ThreadPoolExecutor(len(shares)) as pool:
            played = list(pool.map(lambda share: self._run(f"tests-{share[0]}", _only(share[1])), enumerate(shares, 1)))
        return sorted((outcome for share in played for outcome in share), key=lambda outcome: outcome.name)

    def _run(self, label: str, *flags: str) -> list[Outcome]:
        report, log = self.folder / f"{label}.json", self.folder / f"{label}.log"
        command = [
            str(self.path),
            f"--kubeconfig={self.kubeconfig}",
            "--provider=skeleton",
            f"--ginkgo.json-report={report}",
            "--ginkgo.no-color",
            "--ginkgo.v",
            "--ginkgo.timeout=1h",
            *flags,
            *self.flags,
        ]
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "KUBECONFIG": str(self.kubeconfig)}
        with log.open("wb") as output:
            subprocess.run(
                command, cwd=self.folder, env=environment, stdout=output, stderr=subprocess.STDOUT, check=False
            )
        if not report.exists():
            raise RuntimeError(f"{self.path.name} ended without a report: {log.read_text()[-2000:]}")
        return read(report)


def _only(names: Sequence[str]) -> str:
    """The flag that chooses just these; Go's expressions let nothing but punctuation be escaped."""
    return "--ginkgo.focus=" + "|".join(_PUNCTUATION.sub(r"\\\g<0>", name) for name in names)


def read(report: Path) -> list[Outcome]:
    """Read ginkgo's report: the tests that were played, and what went wrong before or after them."""
    specs = [spec for each in json.loads(report.read_bytes()) for spec in each["SpecReports"] or []]
    return [
        Outcome(
            " ".join([*(spec["ContainerHierarchyTexts"] or [spec["LeafNodeType"]]), spec["LeafNodeText"]]),
            spec["State"] == "passed",
            spec["RunTime"] / 1e9,
            spec.get("Failure", {}).get("Message", ""),
        )
        for spec in specs
        if spec["State"] not in {"skipped", "pending"} and (spec["LeafNodeType"] == "It" or spec["State"] != "passed")
    ]
