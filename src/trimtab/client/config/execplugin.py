"""Credentials printed by a program: the client.authentication.k8s.io protocol of kubectl's exec plugins.

What is asked and what is understood of the answer is plain code; running the program is one function at the end.
"""

import asyncio
import contextlib
import logging
import os
import shutil
import signal
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from trimtab.client.config.credentials import Minted, Proof, bearer
from trimtab.client.config.errors import ConfigError
from trimtab.client.config.kubeconfig import Exec
from trimtab.client.config.tls import KeyPair
from trimtab.errors import one_line

_log = logging.getLogger(__name__)

_GROUP = "client.authentication.k8s.io"
_VERSIONS = (f"{_GROUP}/v1", f"{_GROUP}/v1beta1")
_MODES = ("Never", "IfAvailable", "Always")

_TIMEOUT = 300.0  # longer than the three minutes that plugins which open a browser wait for their person
_PATIENCE = 5.0  # seconds, then people are told what is being waited for
_LARGEST_ANSWER = 1 << 20
_STDERR_KEPT = 4096


class ClusterInfo(msgspec.Struct, rename="kebab", omit_defaults=True, frozen=True):
    """What a plugin that asks for it is told about the cluster."""

    server: str
    tls_server_name: str = ""
    insecure_skip_tls_verify: bool = False
    certificate_authority_data: bytes = b""
    proxy_url: str = ""
    disable_compression: bool = False
    config: Any = None


class _Status(msgspec.Struct, rename="camel"):
    token: str | None = None
    client_certificate_data: str | None = None
    client_key_data: str | None = None
    expiration_timestamp: datetime | None = None

    def __repr__(self) -> str:
        return "<_Status>"


class _Answer(msgspec.Struct, rename="camel"):
    api_version: str = ""
    kind: str = ""
    status: _Status | None = None


class Plugin:
    """One exec plugin of a kubeconfig: `who` begins its errors, `cluster` is what to tell it about the cluster."""

    def __init__(
        self,
        plugin: Exec,
        who: str,
        cluster: Callable[[], ClusterInfo],
        *,
        timeout: float = _TIMEOUT,
        patience: float = _PATIENCE,
        is_terminal: Callable[[int], bool] = os.isatty,
    ) -> None:
        if not plugin.command:
            raise ConfigError(f"{who}: exec names no command")
        if plugin.api_version not in _VERSIONS:
            version = one_line(plugin.api_version, 80)
            raise ConfigError(f"{who}: exec has the apiVersion {version!r}; use {' or '.join(_VERSIONS)}")
        if not all(variable.name for variable in plugin.env):
            raise ConfigError(f"{who}: exec has an env entry without a name")
        # Version v1 wants it said; to v1beta1, which is older than the field, saying nothing meant this.
        mode = plugin.interactive_mode or ("IfAvailable" if plugin.api_version.endswith("v1beta1") else "")
        if mode not in _MODES:
            raise ConfigError(f"{who}: exec has the interactiveMode {one_line(mode, 80)!r}; use {', '.join(_MODES)}")
        self._plugin = plugin
        self._mode = mode
        self._name = f"{who}: exec plugin {one_line(plugin.command)!r}"
        self._cluster = cluster
        self._timeout = timeout
        self._patience = patience
        self._is_terminal = is_terminal

    def __repr__(self) -> str:
        return f"<{self._name}>"

    async def mint(self) -> Minted:
        """Run the plugin once."""
        interactive = self._mode != "Never" and self._is_terminal(0)
        if self._mode == "Always" and not interactive:
            raise ConfigError(f"{self._name} wants to ask somebody, and standard input is not a terminal")
        environ = {**os.environ, **{variable.name: variable.value for variable in self._plugin.env}}
        environ["KUBERNETES_EXEC_INFO"] = self._question(interactive=interactive)
        return self._understood(await self._run(environ, interactive=interactive))

    def _question(self, *, interactive: bool) -> str:
        spec: dict[str, Any] = {"interactive": interactive}
        if self._plugin.provide_cluster_info:
            spec["cluster"] = self._cluster()
        question = {"apiVersion": self._plugin.api_version, "kind": "ExecCredential", "spec": spec}
        return msgspec.json.encode(question).decode()

    def _understood(self, answer: bytes) -> Minted:
        try:
            credential = msgspec.json.decode(answer, type=_Answer)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ConfigError(f"{self._name} did not print an ExecCredential: {one_line(str(error))}") from None
        expected = self._plugin.api_version
        if credential.kind != "ExecCredential" or credential.api_version != expected:
            got = one_line(f"{credential.api_version} {credential.kind}", 80)
            raise ConfigError(f"{self._name} printed a {got!r}, and the kubeconfig asks for {expected} ExecCredential")
        status = credential.status
        if status is None or not (status.token or status.client_certificate_data or status.client_key_data):
            raise ConfigError(f"{self._name} printed neither a token nor a certificate")
        if bool(status.client_certificate_data) != bool(status.client_key_data):
            raise ConfigError(f"{self._name} printed a certificate without its key, or a key without its certificate")
        pair = None
        if status.client_certificate_data and status.client_key_data:
            pair = KeyPair(
                status.client_certificate_data.encode(),
                status.client_key_data.encode(),
                f"the certificate from {self._name}",
            )
            pair.check()
        expiry = status.expiration_timestamp
        if expiry is not None and expiry.tzinfo is None:
            expiry = expiry.replace(tzinfo=UTC)
        return Minted(
            Proof(bearer(status.token, f"the token from {self._name}") if status.token else {}, pair),
            expiry.timestamp() if expiry else None,
        )

    async def _run(self, environ: dict[str, str], *, interactive: bool) -> bytes:
        """Run the command, without a shell, and return what it printed.

        Where somebody sits at a terminal, the plugin has it for its questions. Elsewhere its standard error is kept
        short, for the log and for the error if it fails.
        """
        transport, run = await self._start(environ, interactive=interactive)
        loop = asyncio.get_running_loop()
        told = loop.call_later(
            self._patience, _log.warning, "waiting for %s to finish; it has %g s", self._name, self._timeout
        )
        try:
            async with asyncio.timeout(self._timeout):
                await run.ended.wait()
        except TimeoutError:
            raise ConfigError(f"{self._name} did not finish within {self._timeout:g} s") from None
        finally:
            told.cancel()
            await _end(transport, run, group=not interactive)
        said = one_line(run.stderr.decode(errors="replace"))
        if code := transport.get_returncode():
            ending = f"exit code {code}" if code > 0 else f"signal {-code}"
            raise ConfigError(f"{self._name} failed with {ending}" + (f": {said}" if said else ""))
        if len(run.stdout) > _LARGEST_ANSWER:
            raise ConfigError(f"{self._name} printed more than {_LARGEST_ANSWER >> 20} MiB")
        if said:
            _log.warning("%s says: %s", self._name, said)
        return run.stdout

    async def _start(self, environ: dict[str, str], *, interactive: bool) -> tuple[asyncio.SubprocessTransport, "_Run"]:
        watched = self._is_terminal(2)
        starting = asyncio.ensure_future(
            asyncio.get_running_loop().subprocess_exec(
                _Run,
                self._program(),
                *self._plugin.args,
                env=environ,
                stdin=None if interactive else DEVNULL,
                stdout=PIPE,
                stderr=None if watched else PIPE,
                start_new_session=not interactive,  # a group of its own, to end its children with it
            )
        )
        try:
            return await asyncio.shield(starting)
        except OSError as error:
            raise ConfigError(f"{self._name} cannot be run: {error.strerror}") from error
        except ValueError as error:  # a null byte, which no argument and no variable can have
            raise ConfigError(f"{self._name} cannot be run: {error}") from error
        except asyncio.CancelledError:  # asyncio alone would end the plugin, and leave its children
            with contextlib.suppress(OSError, ValueError):
                await _end(*await starting, group=not interactive)
            raise

    def _program(self) -> str:
        program = shutil.which(self._plugin.command)
        # Found in the current folder, through a dot in PATH, it may be anybody's: Go refuses that too.
        if program is None or not Path(program).is_absolute():
            hint = one_line(self._plugin.install_hint)
            raise ConfigError(
                f"{self._name} is not installed: no such executable" + (f"; its hint: {hint}" if hint else "")
            )
        return program


class _Run(asyncio.SubprocessProtocol):
    """What a program prints: the end of it, which is where errors stand."""

    def __init__(self) -> None:
        self.stdout = b""
        self.stderr = b""
        self.exited = asyncio.Event()
        self.ended = asyncio.Event()  # it has exited, and nobody else holds its pipes

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 1:
            self.stdout = (self.stdout + data)[-_LARGEST_ANSWER - 1 :]
        else:
            self.stderr = (self.stderr + data)[-_STDERR_KEPT:]

    def process_exited(self) -> None:
        self.exited.set()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002  # named as asyncio has it
        self.ended.set()


async def _end(transport: asyncio.SubprocessTransport, run: _Run, *, group: bool) -> None:
    """Close the pipes; after a failure, leave no process behind: a success may have started an agent on purpose."""
    try:
        if not run.ended.is_set() or transport.get_returncode():
            with contextlib.suppress(ProcessLookupError):
                if group:  # also where the plugin itself has exited: a child of it lives on
                    os.killpg(transport.get_pid(), signal.SIGKILL)
                else:
                    transport.kill()
            await asyncio.wait_for(run.exited.wait(), 1)
    except TimeoutError:  # the kernel does not let go of it
        _log.warning("process %d was killed and does not end", transport.get_pid())
    finally:
        transport.close()
