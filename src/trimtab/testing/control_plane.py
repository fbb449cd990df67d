"""A real Kubernetes control plane on loopback: etcd, kube-apiserver, and more of it where asked."""

import re
import secrets
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from trimtab.errors import TrimtabError
from trimtab.pki import CertificateAuthority, kubeconfig, write_kubeconfig
from trimtab.testing import binaries
from trimtab.testing.components import MASTERS
from trimtab.testing.processes import PortTakenError, ServerError
from trimtab.testing.stack import Stack
from trimtab.testing.waiting import wait_until

WITH_NODES = binaries.EXTRAS
"""The components with which Deployments get Pods, and Pods get to run, on fake nodes."""

_PORT_ATTEMPTS = 3


class ControlPlaneError(TrimtabError):
    """The control plane does not run, or did not do what was asked of it."""


class ControlPlane:
    """etcd and kube-apiserver on loopback, with data, keys and users of their own; their processes end with this one.

    `components` adds to the two: kube-controller-manager, kube-scheduler, and kwok with `nodes` fake nodes; WITH_NODES
    is all three. `flags` are added to a component's command line. Each of `users` (name → groups) gets a bearer token.
    Everything is synchronous, for fixtures: begin with `start`, or use it as a context manager.
    """

    def __init__(
        self,
        kubernetes_version: str | None = None,
        *,
        components: Sequence[str] = (),
        flags: Mapping[str, Sequence[str]] | None = None,
        nodes: int = 2,
        users: Mapping[str, Sequence[str]] | None = None,
        announce: Callable[[str], None] | None = None,
    ) -> None:
        for name in (*components, *(flags or {})):
            if name not in (*binaries.CORE, *binaries.EXTRAS):
                known = ", ".join((*binaries.CORE, *binaries.EXTRAS))
                raise ControlPlaneError(f"{name!r} is no component of a control plane: {known}")
        self.version = binaries.wanted_version(kubernetes_version)
        self.components = tuple(dict.fromkeys((*binaries.CORE, *components)))
        self.authority = CertificateAuthority.create()
        self._flags = flags or {}
        self._nodes = nodes if "kwok" in components else 0
        self._users = {user: (secrets.token_urlsafe(24), groups) for user, groups in (users or {}).items()}
        self._announce = announce
        self._stack: Stack | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is not None and self._stack is not None:
            error.add_note(f"the control plane's logs: {self.logs}")
        self.stop(keep_logs=error is not None)

    @property
    def url(self) -> str:
        """Where the API server is."""
        return self._started.url

    @property
    def logs(self) -> Path:
        """The folder with a log for each component; `stop` removes it unless told to keep it."""
        return self._started.logs

    @property
    def pids(self) -> dict[str, int]:
        """The process ids of the components that run."""
        return {name: server.pid for name, server in self._started.servers.items() if server.pid is not None}

    def start(self) -> None:
        """Start everything and wait until it is ready; programs that are missing are built first."""
        if self._stack is not None:
            raise ControlPlaneError(f"the control plane runs already, at {self.url}")
        programs = binaries.ensure(self.components, self.version, announce=self._announce)
        for _ in range(_PORT_ATTEMPTS - 1):
            with suppress(PortTakenError):
                self._start(programs)
                return
        self._start(programs)

    def stop(self, *, keep_logs: bool = False) -> None:
        """End all processes at once and remove their folder, or all of it but the logs."""
        if self._stack is not None:
            self._stack.end(keep_logs=keep_logs)
            self._stack = None

    def kill(self, component: str) -> None:
        """End a component with SIGKILL, as a crash would; `restart` brings it back."""
        self._started.servers[component].kill()

    def restart(self, component: str) -> None:
        """Stop a component in good order if it runs, start it on its old port with its old data, and wait for it."""
        server = self._started.servers[component]
        server.terminate()
        server.start()
        server.await_ready()

    def pause(self, component: str) -> None:
        """Freeze a component: its connections stay open and nobody answers on them."""
        self._started.servers[component].pause()

    def resume(self, component: str) -> None:
        """Let a paused component go on."""
        self._started.servers[component].resume()

    def kubeconfig_dict(self, user: str = "admin", groups: Sequence[str] = (MASTERS,)) -> dict[str, Any]:
        """Make a kubeconfig for a user with these groups, who proves it by a client certificate."""
        return kubeconfig(self.url, self.authority.certificate, self.authority.issue_client(user, groups))

    def kubeconfig(self, user: str = "admin", groups: Sequence[str] = (MASTERS,)) -> Path:
        """Write such a kubeconfig to a file that goes when the control plane does."""
        name = f"{re.sub(r'[^A-Za-z0-9.-]', '_', user)}-{secrets.token_hex(4)}.kubeconfig"
        return write_kubeconfig(self._started.data / name, self.kubeconfig_dict(user, groups))

    def token(self, user: str) -> str:
        """Tell the bearer token of one of the `users`."""
        return self._users[user][0]

    def request(self, method: str, path: str, body: object = None) -> Any:
        """Send the API server a request as an administrator and decode its answer; an error status raises."""
        answer = self._started.peer("kube-apiserver").request(method, path, body)
        if answer.status >= 400:
            raise ControlPlaneError(f"{method} {path} was answered {answer.status}: {answer.body.decode()}")
        return answer.json()

    @contextmanager
    def namespace(self, prefix: str = "test") -> Generator[str]:
        """Make a namespace with a name of its own, and have it deleted afterwards; nobody waits for that."""
        name = f"{prefix}-{secrets.token_hex(4)}"
        self.request("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        if "kube-controller-manager" in self.components:
            accounts = f"/api/v1/namespaces/{name}/serviceaccounts?fieldSelector=metadata.name%3Ddefault"
            wait_until(lambda: self.request("GET", accounts)["items"], f"the service account of namespace {name}")
        try:
            yield name
        finally:
            self.request("DELETE", f"/api/v1/namespaces/{name}")

    def compact(self) -> int:
        """Make etcd forget all revisions before the present one, and say which that is.

        Continue tokens from before are then answered 410 Expired, and so are watches from before once the API server
        has been restarted: until then it remembers events itself.
        """
        etcd = self._started.peer("etcd")
        revision = int(etcd.request("POST", "/v3/maintenance/status", {}).json()["header"]["revision"])
        answer = etcd.request("POST", "/v3/kv/compaction", {"revision": revision, "physical": True})
        if answer.status != 200:
            raise ControlPlaneError(f"etcd did not compact to revision {revision}: {answer.body.decode()}")
        return revision

    def _start(self, programs: Mapping[str, Path]) -> None:
        tokens = {token: (user, groups) for user, (token, groups) in self._users.items()}
        self._stack = Stack(programs, self.authority, tokens, self._flags, self._nodes)
        try:
            self._stack.start()
        except BaseException as error:
            self.stop(keep_logs=isinstance(error, ServerError))
            raise

    @property
    def _started(self) -> Stack:
        if self._stack is None:
            raise ControlPlaneError("the control plane does not run; start it first")
        return self._stack
