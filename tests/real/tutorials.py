"""Runs a tutorial: the shell blocks of its markdown, as a reader would, against a real cluster.

A block of `sh` is run; with `terminal=NAME` it is started in a terminal of its own, where `<!-- ctrl-c NAME -->` ends
it. A block of `text` after it is what has to be seen: its lines in this order, with any others between them; `...`
stands for anything. Who looks for something that takes a moment looks again, and so does this: commands that only read
are run until what is to be seen is seen.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pytest
import yaml

FOLDER = Path(__file__).parents[2] / "docs" / "tutorials"
PATIENCE = 60.0

_BLOCK = re.compile(
    r"^```(?P<kind>sh|text)(?: terminal=(?P<terminal>\w+))?\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE
)
_CTRL_C = re.compile(r"^<!-- ctrl-c (?P<name>\w+) -->$", re.MULTILINE)
_READS = re.compile(r"(kubectl (get|describe) |curl )[^;&|]*")


@dataclass
class Step:
    kind: str  # sh, text or ctrl-c
    terminal: str
    text: str


def steps_of(markdown: str) -> list[Step]:
    found = [(m.start(), Step(m["kind"], m["terminal"] or "", m["text"].strip())) for m in _BLOCK.finditer(markdown)]
    found += [(m.start(), Step("ctrl-c", m["name"], "")) for m in _CTRL_C.finditer(markdown)]
    return [step for _, step in sorted(found, key=lambda each: each[0])]


def shows(output: str, expected: str) -> bool:
    """Whether the expected lines are there, in this order; blanks do not matter."""
    lines = [" ".join(line.split()) for line in expected.splitlines() if line.strip()]
    pattern = ".*\n".join(".*".join(map(re.escape, line.split("..."))) for line in lines if line != "...")
    flat = "".join(" ".join(line.split()) + "\n" for line in output.splitlines())
    return re.search(pattern.replace(".*\n", r"[^\n]*\n(?:.*\n)*?[^\n]*?"), flat) is not None


class Terminal:
    """A program that goes on; what it says is kept in a file."""

    def __init__(self, command: str, environment: Mapping[str, str], folder: Path, said: Path) -> None:
        self._said = said
        self._file: IO[bytes] = said.open("wb")
        self.process = subprocess.Popen(
            ["bash", "-c", f"exec {command}"],
            env=dict(environment),
            cwd=folder,
            stdout=self._file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def said(self) -> str:
        return self._said.read_text(errors="replace")

    def ctrl_c(self) -> None:
        assert self.process.poll() is None, f"it ended by itself:\n{self.said()}"
        self.process.send_signal(signal.SIGINT)
        assert self.process.wait(timeout=45) == 0, self.said()

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._file.close()


class Tutorial:
    """One tutorial, in a copy of its folder, with ports that are free."""

    def __init__(self, name: str, folder: Path, kubeconfig: Mapping[str, Any], namespace: str) -> None:
        for program in ("bash", "curl", "kubectl"):
            if shutil.which(program) is None:
                pytest.skip(f"no {program} on PATH")
        self.folder = folder / "tutorials"
        shutil.copytree(FOLDER, self.folder)
        self.ports = {"8099": free_port(), "8080": free_port()}
        for path in (*self.folder.glob("*.md"), *self.folder.glob("fixtures/*")):
            path.write_text(self._with_ports(path.read_text()))
        config = folder / "kubeconfig"
        mine = dict(kubeconfig)
        for context in mine["contexts"]:
            context["context"]["namespace"] = namespace
        config.write_text(yaml.safe_dump(mine))
        config.chmod(0o600)
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        self.environment = {**os.environ, "PATH": path, "KUBECONFIG": str(config), "TRIMTAB_NAMESPACE": namespace}
        self.steps = steps_of((self.folder / f"{name}.md").read_text())
        self.terminals: dict[str, Terminal] = {}

    def _with_ports(self, text: str) -> str:
        for port, free in self.ports.items():
            text = text.replace(port, str(free))
        return text

    def run(self) -> None:
        """Follow it to the letter."""
        assert self.steps
        with ExitStack() as stack:
            for step, expected in self._pairs():
                self._do(step, expected, stack)

    def _pairs(self) -> Iterator[tuple[Step, str]]:
        for step, after in zip(self.steps, [*self.steps[1:], Step("", "", "")], strict=True):
            if step.kind == "text" and not step.terminal:
                continue
            yield step, after.text if step.kind == "sh" and after.kind == "text" and not after.terminal else ""

    def _do(self, step: Step, expected: str, stack: ExitStack) -> None:
        if step.kind == "ctrl-c":
            self.terminals[step.terminal].ctrl_c()
        elif step.kind == "text":
            self._await(self.terminals[step.terminal].said, step.text, step.terminal)
        elif step.terminal:
            said = self.folder / f"{step.terminal}-{len(self.terminals)}.log"
            terminal = Terminal(step.text, self.environment, self.folder, said)
            stack.callback(terminal.close)
            self.terminals[step.terminal] = terminal
            if expected:
                self._await(terminal.said, expected, step.terminal)
        elif _READS.fullmatch(step.text):
            self._await(lambda: self._sh(step.text, check=False), expected, step.text)
        else:
            output = self._sh(step.text)
            assert not expected or shows(output, expected), f"{step.text}\n{output}\nis not\n{expected}"

    def _await(self, look: Any, expected: str, what: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not shows(output := look(), expected):
            if time.monotonic() > deadline:
                said = {name: terminal.said() for name, terminal in self.terminals.items()}
                raise AssertionError(f"{what}\n{output}\nis not\n{expected}\n{said}")
            time.sleep(0.3)  # as long as a person takes to look again

    def _sh(self, command: str, *, check: bool = True) -> str:
        done = subprocess.run(
            ["bash", "-euc", command],
            env=self.environment,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert not check or done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]
