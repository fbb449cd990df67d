"""Informers of client-go, and a manager of controller-runtime."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import yaml
from tests.peers.serving import Place, place, running, served, until
from tests.peers.things import STATUS, definition, thing


class Told:
    """The lines that a program says, as objects."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.lines: list[dict[str, Any]] = []
        self._process = process
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.lines.append(json.loads(line))

    def join(self) -> None:
        """Have it end, and read to its last line."""
        self._process.terminate()
        self._reader.join()

    def of(self, event: str) -> list[tuple[str, str, str]]:
        """Which informer told of such an event, and of what."""
        found = [line for line in list(self.lines) if line.get("event") == event]
        return [(line["informer"], line["name"], line.get("value", "")) for line in found]

    def has(self, **wanted: Any) -> bool:
        return any(wanted.items() <= line.items() for line in list(self.lines))

    def hears(self, **wanted: Any) -> None:
        until(lambda: self.has(**wanted), str(wanted))

    def requests(self) -> list[dict[str, str]]:
        """The queries of all that was asked for."""
        queries = [parse_qs(line.get("query", "")) for line in list(self.lines) if "path" in line]
        return [{key: values[0] for key, values in query.items()} for query in queries]


@contextmanager
def told(process: subprocess.Popen[str]) -> Iterator[Told]:
    lines = Told(process)
    try:
        yield lines
    finally:
        lines.join()


def test_informers(go_program: Callable[[str], str], tmp_path: Path) -> None:
    """Three informers have the state streamed, follow it, and go on where they were when the server is back."""
    lasting = ("--data-dir", str(tmp_path / "data"))
    with ExitStack() as first:
        kubeconfig = first.enter_context(served(tmp_path, *lasting))
        port = yaml.safe_load(kubeconfig.read_text())["clusters"][0]["cluster"]["server"].rpartition(":")[2]
        (tmp_path / "client").mkdir()
        there = first.enter_context(place(kubeconfig, tmp_path / "client", "informed"))
        there.kubectl("create -f " + there.write("crd.yaml", definition("Thing", {"type": "object"})))
        there.kubectl("wait crd things.peers.trimtab.dev --for=condition=Established --timeout=10s")
        for name in ("a", "b"):
            there.kubectl(f"create configmap {name} --from-literal=value={name}")
        there.kubectl("label configmap a value=1")
        there.kubectl("create -f " + there.write("thing.yaml", thing("Thing", "t", size=1)))
        command = (go_program("informer"), "-kubeconfig", "kubeconfig", "-namespace", "informed")
        with running(there, *command, "-custom", "things.v1.peers.trimtab.dev") as process, told(process) as lines:
            for informer in ("typed", "dynamic", "metadata"):
                lines.hears(informer=informer, event="synced")
            expected = {("typed", "a", "a"), ("typed", "b", "b"), ("dynamic", "t", ""), ("metadata", "a", "1")}
            assert {initial for initial in lines.of("add") if initial[1] != "kube-root-ca.crt"} == expected
            assert all(each.get("sendInitialEvents") == "true" for each in lines.requests()), lines.requests()
            there.kubectl('patch configmap b -p \'{"data": {"value": "c"}}\'')
            lines.hears(informer="typed", event="update", name="b", value="c")
            there.kubectl("label configmap a value-")
            lines.hears(informer="metadata", event="delete", name="a")
            there.kubectl("delete thing t")
            lines.hears(informer="dynamic", event="delete", name="t")
            first.close()
            with served(tmp_path, *lasting, "--port", port):
                there.kubectl("create configmap later --from-literal=value=d")
                lines.hears(informer="typed", event="add", name="later", value="d")
                assert lines.of("add").count(("typed", "a", "a")) == 1
                assert not lines.of("lost")


def test_manager(here: Place, go_program: Callable[[str], str]) -> None:
    """A Widget comes, changes and goes, by two managers of which one leads."""
    here.kubectl("create -f " + here.write("crd.yaml", definition("Widget", STATUS)))
    here.kubectl("wait crd widgets.peers.trimtab.dev --for=condition=Established --timeout=10s")
    command = (go_program("manager"), "-namespace", here.namespace, "-identity")
    with running(here, *command, "first") as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "first leads\n"
        with running(here, *command, "second") as second:
            here.kubectl("apply -f " + here.write("widget.yaml", thing("Widget", "a", size=1)))
            here.kubectl("wait widget/a --for=condition=Ready --timeout=20s")
            widget = here.read("widget a")
            assert widget["metadata"]["finalizers"] == ["peers.trimtab.dev/ledger"]
            assert widget["status"]["size"] == 1
            owned = here.read("configmap a")
            assert owned["data"] == {"text": "none"}
            assert owned["metadata"]["ownerReferences"][0]["uid"] == widget["metadata"]["uid"]
            here.kubectl("delete configmap a")
            until(lambda: here.kubectl("get configmap a --ignore-not-found"), "that what is owned is made again")
            first.send_signal(signal.SIGTERM)
            assert second.stdout is not None
            assert second.stdout.readline() == "second leads\n"
            here.kubectl("apply -f " + here.write("widget.yaml", thing("Widget", "a", size=2, text="b")))
            here.kubectl("wait widget/a --for=jsonpath={.status.size}=2 --timeout=20s")
            here.kubectl("wait configmap/a --for=jsonpath={.data.text}=b --timeout=20s")
            until(lambda: "made it of size 2" in here.kubectl("events --for widget/a"), "that events tell of it")
            ledger = here.kubectl("get configmap ledger -o yaml --show-managed-fields")
            assert "manager: widget-a" in ledger
            assert "operation: Apply" in ledger
            here.kubectl("delete widget a --timeout=20s")
            assert here.read("configmap ledger")["data"] == {"a": "closed"}
        lease = here.read("lease widgets")
        assert lease["spec"]["leaseTransitions"] >= 1
