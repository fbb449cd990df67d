"""Running Kubernetes' program of tests, and reading what it reports."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.conformance.suites import Suite


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one test ended."""

    name: str
    passed: bool
    seconds: float
    message: str


def run(program: Path, kubeconfig: Path, suite: Suite, folder: Path, *flags: str) -> list[Outcome]:
    """Play the tests, one after the other; what they say is in `tests.log`."""
    report, log = folder / "report.json", folder / "tests.log"
    command = [
        str(program),
        f"--kubeconfig={kubeconfig}",
        "--provider=skeleton",
        f"--ginkgo.focus={suite.focus}",
        f"--ginkgo.skip={suite.skip}",
        f"--ginkgo.json-report={report}",
        "--ginkgo.no-color",
        "--ginkgo.v",
        "--ginkgo.timeout=1h",
        *flags,
    ]
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "KUBECONFIG": str(kubeconfig)}
    with log.open("wb") as output:
        subprocess.run(command, cwd=folder, env=environment, stdout=output, stderr=subprocess.STDOUT, check=False)
    if not report.exists():
        raise RuntimeError(f"{program.name} ended without a report: {log.read_text()[-2000:]}")
    return read(report)


def read(report: Path) -> list[Outcome]:
    """Read ginkgo's report: the tests that were played."""
    specs = [spec for each in json.loads(report.read_bytes()) for spec in each["SpecReports"] or []]
    return [
        Outcome(
            " ".join([*(spec["ContainerHierarchyTexts"] or []), spec["LeafNodeText"]]),
            spec["State"] == "passed",
            spec["RunTime"] / 1e9,
            spec.get("Failure", {}).get("Message", ""),
        )
        for spec in specs
        if spec["State"] not in {"skipped", "pending"} and (spec["LeafNodeType"] == "It" or spec["State"] != "passed")
    ]
