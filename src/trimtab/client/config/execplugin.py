"""Credentials printed by a program: the client.authentication.k8s.io protocol of kubectl's exec plugins.

What is asked and what is understood of the answer is plain code; running the program is one function at the end.
"""

import asyncio
import contextlib
import logging
import os
import shutil
import signal
from asyncio.subprocess import DEVNULL, PIPE, Process
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
        process = await self._start(environ, interactive=interactive)
        try:
            async with asyncio.timeout(self._timeout):
                stdout, stderr, code = await asyncio.gather(
                    _read_end(process.stdout, _LARGEST_ANSWER + 1),
                    _read_end(process.stderr, _STDERR_KEPT),
                    process.wait(),
                )
        except TimeoutError:
            raise ConfigError(f"{self._name} did not finish within {self._timeout:g} s") from None
        finally:
            await _end(process, group=not interactive)
        said = one_line(stderr.decode(errors="replace"))
        if code:
            ending = f"exit code {code}" if code > 0 else f"signal {-code}"
            raise ConfigError(f"{self._name} failed with {ending}" + (f": {said}" if said else ""))
        if len(stdout) > _LARGEST_ANSWER:
            raise ConfigError(f"{self._name} printed more than {_LARGEST_ANSWER >> 20} MiB")
        if said:
            _log.warning("%s says: %s", self._name, said)
        return stdout

    async def _start(self, environ: dict[str, str], *, interactive: bool) -> Process:
        watched = self._is_terminal(2)
        starting = asyncio.ensure_future(
            asyncio.create_subprocess_exec(
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
                await _end(await starting, group=not interactive)
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


async def _read_end(stream: asyncio.StreamReader | None, keep: int) -> bytes:
    """Read a stream to its end and return the last of it: that is where errors stand."""
    end = b""
    while stream is not None and (chunk := await stream.read(1 << 16)):
        end = (end + chunk)[-keep:]
    return end


async def _end(process: Process, *, group: bool) -> None:
    """Leave no process behind, whatever happened."""
    if process.returncode is not None:
        return
    with contextlib.suppress(ProcessLookupError):
        if group:
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    with contextlib.suppress(TimeoutError):  # where a child lives on, with the pipe in its hands
        async with asyncio.timeout(1):
            await process.communicate()
