"""Child processes that end when we do, however we end: servers with a log, that can be killed, paused and restarted."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from trimtab.errors import TrimtabError
from trimtab.testing.waiting import DeadlineError, wait_until

_GRACE = 20.0

# The guard leads a process group that every server joins. Its standard input is a pipe whose other end only we hold:
# when we end, be it by SIGKILL, the kernel closes that end, `cat` returns, and the guard ends the group and removes
# the folder. PR_SET_PDEATHSIG would do so on Linux alone, needs code between fork and exec, and fires when the *thread*
# that forked ends. SIGTERM comes first so that nobody writes into the folder any more while it is being removed.
_GUARD = 'trap "" TERM HUP INT; cat >/dev/null; kill -TERM 0; rm -rf -- "$1" || rm -rf -- "$1"; kill -KILL 0'


class ServerError(TrimtabError):
    """A server ended before it was ready, or was not ready in time."""


class PortTakenError(ServerError):
    """Somebody else listens on the port that a server was given."""


class ProcessGroup:
    """Processes that live no longer than this one; if it dies unexpectedly, `folder` is removed after them."""

    def __init__(self, folder: Path) -> None:
        self._processes: list[subprocess.Popen[bytes]] = []
        self._guard = subprocess.Popen(  # noqa: S603 - the script above
            ["/bin/sh", "-c", _GUARD, "trimtab-guard", str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            process_group=0,
        )

    def spawn(self, command: Sequence[str], folder: Path, log: Path) -> subprocess.Popen[bytes]:
        """Start a process in a folder, with its output appended to the log."""
        with log.open("ab") as output:
            process = subprocess.Popen(  # noqa: S603 - the caller's own command
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=folder,
                # None of the user's own: etcd and kwok would let variables and files at home configure them.
                env={"HOME": str(folder), "PATH": os.defpath},
                process_group=self._guard.pid,
            )
        self._processes.append(process)
        return process

    def close(self) -> None:
        """End the whole group, at once."""
        with contextlib.suppress(ProcessLookupError):  # somebody has killed them all before
            os.killpg(self._guard.pid, signal.SIGKILL)
        for process in (self._guard, *self._processes):
            process.communicate()


class Server:
    """One server program, started as often as wanted with the same command, the same log and the same data."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        group: ProcessGroup,
        folder: Path,
        log: Path,
        ready: Callable[[], bool],
    ) -> None:
        self.name = name
        self.log = log
        self._command = command
        self._group = group
        self._ready = ready
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        """The process id; None if it does not run."""
        return self._process.pid if self._process and self._process.poll() is None else None

    def start(self) -> None:
        """Start the server, unless it runs."""
        if self.pid is None:
            self._process = self._group.spawn(self._command, self._folder, self.log)

    def await_ready(self) -> None:
        """Wait until the server serves; its end is noticed at once."""
        try:
            wait_until(self._serves, f"{self.name} to be ready (its log: {self.log})")
        except DeadlineError as error:
            raise self._explained(ServerError(str(error))) from None

    def terminate(self) -> None:
        """Ask the server to end, and kill it if it does not; nothing happens if it does not run."""
        if self._process is None:
            return
        self._process.terminate()
        self._process.send_signal(signal.SIGCONT)  # a paused process would not hear the request
        try:
            self._process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """End the server with SIGKILL: it gets no chance to say goodbye."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def pause(self) -> None:
        """Freeze the server (SIGSTOP): its connections stay open and nobody answers on them."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let a frozen server go on (SIGCONT)."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        if self._process is None or self.pid is None:
            raise ServerError(f"{self.name} does not run, so it cannot be sent {number.name}; restart it first")
        self._process.send_signal(number)

    def _serves(self) -> bool:
        if self._process is None or self._process.poll() is not None:
            lines = self._tail()
            taken = any("address already in use" in line for line in lines)
            last = lines[-1] if lines else "it said nothing"
            raise self._explained(
                (PortTakenError if taken else ServerError)(f"{self.name} ended at its start: {last} (log: {self.log})")
            )
        return self._ready()

    def _explained(self, error: ServerError) -> ServerError:
        error.add_note("\n".join([f"the end of {self.log}:", *self._tail()]))
        return error

    def _tail(self) -> list[str]:
        return self.log.read_text(errors="replace").splitlines()[-20:]
