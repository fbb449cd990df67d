"""Exec plugins: real programs, asked and understood as kubectl does, and never a traceback when they misbehave."""

import asyncio
import contextlib
import gc
import json
import logging
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from trimtab.client.config.credentials import Minting
from trimtab.client.config.errors import ConfigError
from trimtab.client.config.execplugin import ClusterInfo, Plugin
from trimtab.client.config.kubeconfig import EnvironmentVariable, Exec

V1 = "client.authentication.k8s.io/v1"
V1BETA1 = "client.authentication.k8s.io/v1beta1"
CLUSTER = ClusterInfo(server="https://k:6443", certificate_authority_data=b"pem", config={"audience": "x"})

Script = Callable[[str], str]


@pytest.fixture
def script(tmp_path: Path) -> Script:
    """Writes a program and returns its path."""

    def write(body: str) -> str:
        path = tmp_path / "plugin"
        path.write_text(f"#!{sys.executable} -SE\nimport json, os, sys\n{body}\n")
        path.chmod(0o755)
        return str(path)

    return write


def printing(status: Any, version: str = V1, kind: str = "ExecCredential") -> str:
    return f"print({json.dumps(json.dumps({'apiVersion': version, 'kind': kind, 'status': status}))})"


def plugin(
    command: str, *, timeout: float = 30.0, patience: float = 60.0, terminals: tuple[int, ...] = (), **fields: Any
) -> Plugin:
    spec = Exec(**{"api_version": V1, "interactive_mode": "Never", "command": command, **fields})
    return Plugin(
        spec, "user 'u'", lambda: CLUSTER, timeout=timeout, patience=patience, is_terminal=lambda fd: fd in terminals
    )


async def failure(made: Plugin) -> str:
    with pytest.raises(ConfigError) as error:
        await made.mint()
    message = str(error.value)
    assert "\n" not in message
    return message.replace(made._name, "it")


async def test_token_and_expiry(script: Script) -> None:
    command = script(printing({"token": "abc", "expirationTimestamp": "2030-01-02T03:04:05Z", "later": 1}))
    minted = await plugin(command).mint()
    assert minted.proof.headers == {"Authorization": "Bearer abc"}
    assert minted.proof.certificate is None
    assert minted.expires == 1893553445.0


@pytest.mark.parametrize("version", [V1, V1BETA1])
async def test_what_a_plugin_is_told(script: Script, version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FROM_PARENT", "kept")
    monkeypatch.setenv("CHANGED", "no")
    body = """
env = os.environ
told = [sys.argv[1:], env['FROM_PARENT'], env['CHANGED'], sys.stdin.read(), env['KUBERNETES_EXEC_INFO']]
token = json.dumps(told).encode().hex()
print(json.dumps({'apiVersion': 'VERSION', 'kind': 'ExecCredential', 'status': {'token': token}}))
"""
    made = plugin(
        script(body.replace("VERSION", version)),
        api_version=version,
        args=["one", "two words; $HOME"],
        env=[EnvironmentVariable(name="CHANGED", value="yes")],
        provide_cluster_info=True,
    )
    token = (await made.mint()).proof.headers["Authorization"].removeprefix("Bearer ")
    *told, info = json.loads(bytes.fromhex(token))
    assert told == [["one", "two words; $HOME"], "kept", "yes", ""]
    assert json.loads(info) == {
        "apiVersion": version,
        "kind": "ExecCredential",
        "spec": {
            "interactive": False,
            "cluster": {
                "server": "https://k:6443",
                "certificate-authority-data": "cGVt",
                "config": {"audience": "x"},
            },
        },
    }


async def test_who_is_not_interactive_reads_nothing(script: Script) -> None:
    reader, writer = os.pipe()
    os.write(writer, b"typed by somebody")
    os.close(writer)
    stdin = os.dup(0)
    try:
        os.dup2(reader, 0)
        await plugin(script("assert sys.stdin.read() == ''\n" + printing({"token": "t"}))).mint()
    finally:
        os.dup2(stdin, 0)
        os.close(stdin)
        os.close(reader)


async def test_without_being_asked_a_plugin_learns_nothing_of_the_cluster(script: Script) -> None:
    body = "assert 'cluster' not in json.loads(os.environ['KUBERNETES_EXEC_INFO'])['spec']\n"
    await plugin(script(body + printing({"token": "t"}))).mint()


ANSWERS: list[tuple[str, str, str]] = [
    ("nothing", "", "it did not print an ExecCredential: Input data was truncated"),
    (
        "prose",
        "print('logged in')",
        "it did not print an ExecCredential: JSON is malformed: invalid character (byte 0)",
    ),
    (
        "not utf-8",
        r"os.write(1, b'{\"kind\": \"\xff\"}')",
        "it did not print an ExecCredential: 'utf-8' codec can't decode byte 0xff in position 0: invalid start byte",
    ),
    ("a list", "print('[]')", "it did not print an ExecCredential: Expected `object`, got `array`"),
    (
        "other version",
        printing({"token": "hush"}, V1BETA1),
        f"it printed a '{V1BETA1} ExecCredential', and the kubeconfig asks for {V1} ExecCredential",
    ),
    (
        "other kind",
        printing({"token": "hush"}, kind="Token"),
        f"it printed a '{V1} Token', and the kubeconfig asks for {V1} ExecCredential",
    ),
    ("no status", printing(None), "it printed neither a token nor a certificate"),
    ("empty status", printing({"token": ""}), "it printed neither a token nor a certificate"),
    (
        "half a pair",
        printing({"clientKeyData": "hush"}),
        "it printed a certificate without its key, or a key without its certificate",
    ),
    (
        "a bad pair",
        printing({"clientKeyData": "hush", "clientCertificateData": "x"}),
        "the certificate from it is not PEM: it has no BEGIN CERTIFICATE line",
    ),
    (
        "number as token",
        printing({"token": 5}),
        "it did not print an ExecCredential: Expected `str | null`, got `int` - at `$.status.token`",
    ),
    (
        "token of two lines",
        printing({"token": "hush\nhush"}),
        "the token from it has a space, a line break or another character that no token has",
    ),
    (
        "odd time",
        printing({"token": "hush", "expirationTimestamp": "soon"}),
        "it did not print an ExecCredential: Invalid RFC3339 encoded datetime - at `$.status.expirationTimestamp`",
    ),
    (
        "failure",
        "sys.stderr.write('starting\\nno \\x1b[31msuch\\x1b[0m role\\n'); sys.exit(3)",
        "it failed with exit code 3: starting no [31msuch [0m role",
    ),
    ("quiet failure", "sys.exit(1)", "it failed with exit code 1"),
    ("killed", "os.kill(os.getpid(), 9)", "it failed with signal 9"),
    ("flood", "print('x' * 2_000_000)", "it printed more than 1 MiB"),
]


@pytest.mark.parametrize(("body", "message"), [a[1:] for a in ANSWERS], ids=[a[0] for a in ANSWERS])
async def test_an_answer_that_cannot_be_used(script: Script, body: str, message: str) -> None:
    assert await failure(plugin(script(body))) == message


async def test_long_complaints_are_cut_and_their_end_is_kept(script: Script) -> None:
    said = await failure(
        plugin(script("sys.stderr.write('noise\\n' * 100_000 + 'x' * 3900 + ' the end'); sys.exit(1)"))
    )
    assert len(said) < 400


async def test_what_a_plugin_says_goes_to_the_log(script: Script, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        await plugin(script("sys.stderr.write('old version\\n')\n" + printing({"token": "hush"}))).mint()
    assert [message.partition(" says: ")[2] for message in caplog.messages] == ["old version"]


async def test_a_missing_command() -> None:
    hint = "Install it:\n\n  brew install \x1b[1maws\x1b[0m"
    assert await failure(plugin("no-such-plugin", install_hint=hint)) == (
        "it is not installed: no such executable; its hint: Install it: brew install [1maws [0m"
    )
    assert await failure(plugin("/no/such")) == "it is not installed: no such executable"


async def test_a_file_that_is_no_program(tmp_path: Path) -> None:
    path = tmp_path / "plugin"
    path.write_bytes(b"\x00\x01")
    assert await failure(plugin(str(path))) == "it is not installed: no such executable"
    path.chmod(0o755)
    assert await failure(plugin(str(path))) == "it cannot be run: Exec format error"


async def test_an_argument_that_none_can_be() -> None:
    assert await failure(plugin(sys.executable, args=["a\0b"])) == "it cannot be run: embedded null byte"


async def test_a_bare_name_is_found_in_path_and_never_in_the_current_folder(
    script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(script(printing({"token": "t"}))).parent
    monkeypatch.setenv("PATH", str(folder))
    await plugin("plugin").mint()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PATH", ".")
    assert await failure(plugin("plugin")) == "it is not installed: no such executable"


async def eventually(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.005)


def running(command: str) -> int:
    """How many processes have `command` among their words."""
    count = 0
    for words in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # gone since
            count += command.encode() in words.read_bytes().split(b"\0")
    return count


def end_all(command: str) -> None:
    for words in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if command.encode() in words.read_bytes().split(b"\0"):
                os.kill(int(words.parent.name), signal.SIGKILL)


CHILD = (
    "import subprocess\n"
    "child = subprocess.Popen([sys.executable, '-SEc', 'import time; time.sleep(300)', sys.argv[0]]{})\n"
    "open(sys.argv[0] + '.up', 'w').close()"
)
HANGS = CHILD.format("") + "\nchild.wait()"
on_linux = pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="counts processes in /proc")


@on_linux
async def test_a_plugin_that_hangs_is_ended_with_its_children(script: Script) -> None:
    command = script(HANGS)
    assert await failure(plugin(command, timeout=2)) == "it did not finish within 2 s"
    await eventually(lambda: not running(command))


@on_linux
@pytest.mark.parametrize("ending", ["", "sys.exit(1)"], ids=["in good order", "in failure"])
async def test_a_child_that_outlives_its_plugin_is_ended(script: Script, ending: str) -> None:
    """It holds the pipes, so the plugin, which has exited, is not over."""
    command = script(f"{CHILD.format('')}\n{printing({'token': 't'})}\n{ending}")
    assert await failure(plugin(command, timeout=2)) == "it did not finish within 2 s"
    await eventually(lambda: not running(command))


@on_linux
async def test_what_a_plugin_leaves_behind_on_purpose_is_ended_only_if_it_failed(script: Script) -> None:
    child = CHILD.format(", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL")
    command = script(f"{child}\n{printing({'token': 't'})}")
    await plugin(command).mint()
    assert running(command) == 1, "an agent that keeps a password, perhaps"
    end_all(command)
    await eventually(lambda: not running(command))
    assert await failure(plugin(script(f"{child}\nsys.exit(1)"))) == "it failed with exit code 1"
    await eventually(lambda: not running(command))


@on_linux
async def test_closing_the_credentials_ends_the_plugin(script: Script) -> None:
    command = script(HANGS)
    credentials = Minting(plugin(command).mint)
    waiting = asyncio.create_task(credentials.proof())
    await eventually(lambda: running(command) == 2)
    waiting.cancel()
    await asyncio.wait([waiting])
    assert running(command) == 2, "it goes on for the next who asks"
    await credentials.close()
    await eventually(lambda: not running(command))


def test_the_end_of_the_event_loop_is_the_end_of_the_plugin(script: Script) -> None:
    command = script(HANGS)

    async def main() -> None:
        waiting = asyncio.create_task(Minting(plugin(command).mint).proof())
        await eventually(lambda: Path(f"{command}.up").exists())
        waiting.cancel()
        await asyncio.wait([waiting])

    asyncio.run(main())
    if Path("/proc/self/cmdline").exists():
        asyncio.run(eventually(lambda: not running(command)))
    gc.collect()  # a transport that was left open would complain of the closed loop


async def test_people_are_told_once_what_is_waited_for(script: Script, caplog: pytest.LogCaptureFixture) -> None:
    made = plugin(script(printing({"token": "t"})), patience=0)
    await made.mint()
    assert caplog.messages == [f"waiting for {made._name} to finish; it has 30 s"]


async def test_nobody_is_told_of_a_plugin_that_has_finished(script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    loop = asyncio.get_running_loop()
    timers: dict[float, asyncio.TimerHandle] = {}

    def call_later(delay: float, *arguments: Any) -> asyncio.TimerHandle:
        timers[delay] = asyncio.BaseEventLoop.call_later(loop, delay, *arguments)
        return timers[delay]

    monkeypatch.setattr(loop, "call_later", call_later)
    await plugin(script(printing({"token": "t"})), patience=77).mint()
    assert timers[77].cancelled()


@on_linux
async def test_giving_up_at_any_moment_leaves_no_process(script: Script) -> None:
    """Also while asyncio is still starting it: `turns` of the loop, and the plugin may have its child already."""
    command = script(HANGS)
    for turns in range(1, 12):
        waiting = asyncio.create_task(plugin(command).mint())
        for turn in range(turns):
            await asyncio.sleep(0)
            if turn == turns - 2:  # the loop stands still; the plugin does not
                deadline = time.monotonic() + 0.2
                while running(command) == 1 and time.monotonic() < deadline:
                    pass
        waiting.cancel()
        await asyncio.wait([waiting])
    await eventually(lambda: not running(command))


async def test_many_requests_run_it_once(script: Script) -> None:
    command = script(f"os.mkdir(sys.argv[0] + '.ran')  # fails the second time\n{printing({'token': 't'})}")
    credentials = Minting(plugin(command).mint)
    proofs = await asyncio.gather(*(credentials.proof() for _ in range(50)))
    assert all(proof is proofs[0] for proof in proofs)


@pytest.mark.parametrize(
    ("mode", "version", "terminal", "interactive"),
    [
        ("Never", V1, True, False),
        ("IfAvailable", V1, False, False),
        ("IfAvailable", V1, True, True),
        ("Always", V1, True, True),
        ("", V1BETA1, True, True),
    ],
)
async def test_interactive_only_where_somebody_sits(
    script: Script, mode: str, version: str, *, terminal: bool, interactive: bool
) -> None:
    body = f"assert json.loads(os.environ['KUBERNETES_EXEC_INFO'])['spec']['interactive'] is {interactive}\n"
    command = script(body + printing({"token": "t"}, version))
    terminals = (0,) if terminal else ()
    await plugin(command, terminals=terminals, interactive_mode=mode, api_version=version).mint()


async def test_a_plugin_that_must_ask_needs_a_terminal(script: Script) -> None:
    said = await failure(plugin(script(printing({"token": "t"})), interactive_mode="Always"))
    assert said == "it wants to ask somebody, and standard input is not a terminal"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"command": ""}, "user 'u': exec names no command"),
        ({"api_version": ""}, f"user 'u': exec has the apiVersion ''; use {V1} or {V1BETA1}"),
        (
            {"api_version": "client.authentication.k8s.io/v1alpha1"},
            f"user 'u': exec has the apiVersion 'client.authentication.k8s.io/v1alpha1'; use {V1} or {V1BETA1}",
        ),
        ({"env": [EnvironmentVariable(value="hush")]}, "user 'u': exec has an env entry without a name"),
        ({"interactive_mode": ""}, "user 'u': exec has the interactiveMode ''; use Never, IfAvailable, Always"),
        ({"interactive_mode": "no"}, "user 'u': exec has the interactiveMode 'no'; use Never, IfAvailable, Always"),
    ],
)
def test_a_description_that_cannot_be_used(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as error:
        plugin(**{"command": "x", **fields})
    assert str(error.value) == message


def test_no_repr_shows_what_it_is_given() -> None:
    made = plugin("x", env=[EnvironmentVariable(name="A", value="hush")], args=["--secret=hush"])
    assert "hush" not in f"{made} {made.mint} {Minting(made.mint)} {made._plugin}"
