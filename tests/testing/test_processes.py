"""Servers as processes: their end is noticed, their state can be changed, and they never outlive their parent."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from trimtab.testing.processes import PortTakenError, ProcessGroup, Server, ServerError
from trimtab.testing.waiting import wait_until

# Deaf to SIGTERM, as a server that is shutting down slowly.
DEAF = ("/bin/sh", "-c", 'trap "" TERM; echo up; while :; do sleep 60; done')


def state(pid: int) -> str:
    """One letter, as ps says it: T is stopped; nothing, or Z, is gone."""
    shown = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return shown.stdout.strip()[:1]


def gone(pid: int) -> bool:
    return state(pid) in {"", "Z"}


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    folder = tmp_path / "its own"
    folder.mkdir()
    group = ProcessGroup(folder)

    def make(*command: str) -> Server:
        log = folder / "log"
        ready = lambda: log.read_text().endswith("up\n")  # noqa: E731
        return Server("server", command, group=group, folder=folder, log=log, ready=ready)

    yield make
    group.close()


def test_a_server_is_ready_killed_and_back_again(serve: Callable[..., Server]) -> None:
    server = serve(*DEAF)
    pids: list[int] = []
    for _ in range(2):
        server.start()
        server.await_ready()
        assert server.pid
        pids.append(server.pid)
        server.start()
        assert server.pid == pids[-1], "it is started only if it does not run"
        wait_until(lambda: len(server.log.read_text().split()) == len(pids), "it to say that it is up, once a start")
        server.kill()
        assert server.pid is None
    assert pids[0] != pids[1]


def test_a_paused_server_can_be_resumed_and_ended(serve: Callable[..., Server]) -> None:
    server = serve("/bin/sh", "-c", 'trap "echo bye; exit" TERM; echo up; while :; do sleep 0.01; done')
    server.start()
    server.await_ready()
    pid = server.pid
    assert pid
    server.pause()
    wait_until(lambda: state(pid) == "T", "the server to stop")
    server.resume()
    wait_until(lambda: state(pid) in {"S", "R"}, "the server to go on")
    server.pause()
    wait_until(lambda: state(pid) == "T", "the server to stop again")
    server.terminate()
    assert gone(pid)
    assert server.log.read_text() == "up\nbye\n", "it could end in good order"
    with pytest.raises(ServerError, match="does not run, so it cannot be sent SIGSTOP"):
        server.pause()


def test_a_server_that_ends_at_its_start_is_not_waited_for(serve: Callable[..., Server]) -> None:
    server = serve("/bin/sh", "-c", "echo Starting; echo 'unknown flag: --x'; exit 3")
    server.start()
    with pytest.raises(ServerError, match=r"server ended at its start: unknown flag: --x \(log: ") as caught:
        server.await_ready()
    assert not isinstance(caught.value, PortTakenError)
    assert "Starting" in caught.value.__notes__[0], "the end of the log comes along"


def test_a_taken_port_can_be_told_from_other_failures(serve: Callable[..., Server]) -> None:
    server = serve("/bin/sh", "-c", "echo 'listen tcp 127.0.0.1:1: bind: address already in use'; echo Bye; exit 1")
    server.start()
    with pytest.raises(PortTakenError):
        server.await_ready()


def test_nothing_of_the_users_environment_reaches_a_server(
    serve: Callable[..., Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ETCD_NAME", "the user's")
    server = serve("/bin/sh", "-c", "env; echo up; exec sleep 60")
    server.start()
    server.await_ready()
    assert set(re.findall(r"^(\w+)=", server.log.read_text(), re.MULTILINE)) <= {
        "HOME",
        "PATH",
        "PWD",
        "SHLVL",
        "_",
        "OLDPWD",
    }


def test_a_group_that_somebody_has_killed_can_be_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    group = ProcessGroup(tmp_path)
    server = group.spawn(["/bin/sh", "-c", "sleep 60"], tmp_path, tmp_path / "log")
    os.killpg(group._guard.pid, signal.SIGKILL)

    def nobody_left(*_: int) -> None:  # at once, where a reaper is at work
        raise ProcessLookupError

    monkeypatch.setattr(os, "killpg", nobody_left)
    group.close()
    assert server.returncode == -signal.SIGKILL, "they are reaped all the same"


PARENT = """
import signal, sys
from pathlib import Path
from trimtab.testing.processes import ProcessGroup
folder = Path(sys.argv[1])
group = ProcessGroup(folder)
command = ["/bin/sh", "-c", 'trap "" TERM HUP INT; while :; do sleep 60; done']
processes = [group.spawn(command, folder, folder / "log") for _ in range(2)]
processes[1].send_signal(signal.SIGSTOP)
print(*(process.pid for process in processes), flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_servers_die_with_their_parent_and_leave_nothing(end: signal.Signals, tmp_path: Path) -> None:
    folder = tmp_path / "it's own"
    folder.mkdir()
    command = [sys.executable, "-c", PARENT, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout
        pids = [int(pid) for pid in parent.stdout.readline().split()]
        assert len(pids) == 2
        assert not any(map(gone, pids))
        os.kill(parent.pid, end)
        parent.wait(timeout=30)
        wait_until(lambda: all(map(gone, pids)), "the servers to die with their parent", seconds=30)
        wait_until(lambda: not folder.exists(), "their folder to go", seconds=30)
