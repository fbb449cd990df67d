"""The processes of one control plane and the folder they live in, from their first start to their end."""

import contextlib
import http.client
import shutil
import ssl
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from trimtab.pki import CertificateAuthority
from trimtab.testing.binaries import CORE
from trimtab.testing.components import LISTENERS, MASTERS, Files, command
from trimtab.testing.loopback import HOST, LocalServer, free_ports
from trimtab.testing.nodes import fake_node, is_ready
from trimtab.testing.processes import ProcessGroup, Server

_PATIENCE = 5.0
_HEALTH = {
    "etcd": "/health",
    "kube-apiserver": "/readyz",
    "kube-controller-manager": "/healthz",
    "kube-scheduler": "/readyz",
}


class Stack:
    """Servers that are ready to be started: their keys are written, their ports chosen, their commands known."""

    def __init__(
        self,
        programs: Mapping[str, Path],
        authority: CertificateAuthority,
        tokens: Mapping[str, tuple[str, Sequence[str]]],
        flags: Mapping[str, Sequence[str]],
        nodes: int,
    ) -> None:
        self._nodes = nodes
        self._folder = Path(tempfile.mkdtemp(prefix="trimtab-control-plane-"))
        with contextlib.ExitStack() as undo:
            undo.callback(shutil.rmtree, self._folder)
            self.data = self._folder / "data"
            self.logs = self._folder / "logs"
            self.data.mkdir(mode=0o700)
            self.logs.mkdir()
            listeners = [component for component in programs if component in LISTENERS]
            self._ports = dict(zip(listeners, free_ports(len(listeners)), strict=True))
            self.url = f"https://{HOST}:{self._ports['kube-apiserver']}"
            files = Files.write(self.data, self.url, authority, tokens)
            self._tls = ssl.create_default_context(cafile=files.authority)
            self._tls.load_cert_chain(*authority.issue_client("admin", [MASTERS]).write(self.data, "admin"))
            self._group = ProcessGroup(self._folder)
            undo.callback(self._group.close)
            self.servers = {
                component: Server(
                    component,
                    command(component, program, self._ports, files, flags.get(component, ())),
                    group=self._group,
                    folder=self.data,
                    log=self.logs / f"{component}.log",
                    ready=lambda component=component: self._is_ready(component),
                )
                for component, program in programs.items()
            }
            undo.pop_all()

    def start(self) -> None:
        """Start the servers, each once the one it stands on is ready; wait for all."""
        # Whoever starts before the server he needs is up fails at first, and waits a second before he tries again.
        for component in CORE:
            self.servers[component].start()
            self.servers[component].await_ready()
        for number in range(self._nodes):
            self.peer("kube-apiserver").request("POST", "/api/v1/nodes", fake_node(f"node-{number}"))
        for server in self.servers.values():
            server.start()
        for server in self.servers.values():
            server.await_ready()

    def end(self, *, keep_logs: bool) -> None:
        """Kill the servers and remove the folder, or all of it but the logs."""
        self._group.close()
        shutil.rmtree(self.data if keep_logs else self._folder)

    def peer(self, component: str) -> LocalServer:
        """Where to send a component requests, with the rights of an administrator."""
        if component == "etcd":
            return LocalServer(self.data / "etcd.sock")
        return LocalServer(self._ports[component], self._tls)

    def _is_ready(self, component: str) -> bool:
        try:
            if component == "kwok":
                nodes = self.peer("kube-apiserver").request("GET", "/api/v1/nodes", timeout=_PATIENCE).json()["items"]
                return len(nodes) == self._nodes and all(is_ready(node) for node in nodes)
            return self.peer(component).request("GET", _HEALTH[component], timeout=_PATIENCE).status == 200
        except (OSError, http.client.HTTPException):  # nobody listens yet, or somebody is just going down
            return False
