"""The kubeconfig file: its shape, how several become one, and how a broken one is told.

Only the format lives here; what a context means for a client is in contexts.py.
"""

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

import msgspec

from trimtab.client.config.errors import ConfigError, FileMissingError, read_file, shown
from trimtab.client.config.yamlsafe import load_yaml
from trimtab.errors import one_line

T = TypeVar("T")


class _Part(msgspec.Struct, kw_only=True, frozen=True):
    """A part of a kubeconfig. Fields that are not named here are ignored, as kubectl does."""

    def __repr__(self) -> str:  # any part may hold a secret
        return f"<{type(self).__name__}>"


class Extension(_Part, frozen=True):
    """Data that some tool keeps in a kubeconfig."""

    name: str = ""
    extension: Any = None


class Cluster(_Part, frozen=True, rename="kebab"):
    """Where a server is and how to trust it."""

    server: str = ""
    tls_server_name: str = ""
    insecure_skip_tls_verify: bool = False
    certificate_authority: str = ""
    certificate_authority_data: str = ""
    proxy_url: str = ""
    disable_compression: bool = False
    extensions: list[Extension] = []


class EnvironmentVariable(_Part, frozen=True):
    """One variable for an exec plugin."""

    name: str = ""
    value: str = ""


class Exec(_Part, frozen=True, rename="camel"):
    """A program that prints credentials."""

    command: str = ""
    args: list[str] = []
    env: list[EnvironmentVariable] = []
    api_version: str = ""
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = ""


class AuthProvider(_Part, frozen=True):
    """The in-tree plugins that exec has replaced."""

    name: str = ""


class User(_Part, frozen=True, rename="kebab"):
    """Who somebody is, in one or several of many ways."""

    client_certificate: str = ""
    client_certificate_data: str = ""
    client_key: str = ""
    client_key_data: str = ""
    token: str = ""
    token_file: str = msgspec.field(default="", name="tokenFile")
    impersonate: str = msgspec.field(default="", name="as")
    impersonate_uid: str = msgspec.field(default="", name="as-uid")
    impersonate_groups: list[str] = msgspec.field(default=[], name="as-groups")
    impersonate_extra: dict[str, list[str]] = msgspec.field(default={}, name="as-user-extra")
    username: str = ""
    password: str = ""
    auth_provider: AuthProvider | None = None
    exec: Exec | None = None


class Context(_Part, frozen=True):
    """A cluster and a user under one name."""

    cluster: str = ""
    user: str = ""
    namespace: str = ""


class _NamedCluster(_Part, frozen=True):
    name: str = ""
    cluster: Cluster = Cluster()


class _NamedUser(_Part, frozen=True):
    name: str = ""
    user: User = User()


class _NamedContext(_Part, frozen=True):
    name: str = ""
    context: Context = Context()


class _File(_Part, frozen=True, rename="kebab"):
    api_version: str = msgspec.field(default="", name="apiVersion")
    kind: str = ""
    current_context: str = ""
    clusters: list[_NamedCluster] = []
    users: list[_NamedUser] = []
    contexts: list[_NamedContext] = []


@dataclass(frozen=True, slots=True)
class Entry(Generic[T]):
    """A named part of a kubeconfig, and the file that it stands in."""

    name: str
    value: T
    file: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Kubeconfig:
    """One kubeconfig file, or several merged."""

    files: tuple[Path, ...]
    current_context: str = ""
    clusters: Mapping[str, Entry[Cluster]]
    users: Mapping[str, Entry[User]]
    contexts: Mapping[str, Entry[Context]]

    def merged_with(self, later: "Kubeconfig") -> "Kubeconfig":
        """Add another file's entries: whatever both set stays as it is here, whole entries included."""
        return Kubeconfig(
            files=self.files + later.files,
            current_context=self.current_context or later.current_context,
            clusters={**later.clusters, **self.clusters},
            users={**later.users, **self.users},
            contexts={**later.contexts, **self.contexts},
        )


def read_kubeconfig(path: Path) -> Kubeconfig:
    """Read one kubeconfig file."""
    return parse_kubeconfig(read_file(path, "kubeconfig"), path)


def read_kubeconfigs(paths: Iterable[Path]) -> Kubeconfig | None:
    """Read what a KUBECONFIG variable lists, passing over missing files; None where all are missing."""
    found: list[Kubeconfig] = []
    for path in dict.fromkeys(paths):
        try:
            found.append(read_kubeconfig(path))
        except FileMissingError:
            continue
    return reduce(Kubeconfig.merged_with, found) if found else None


def parse_kubeconfig(content: bytes, path: Path) -> Kubeconfig:
    """Understand the text of a kubeconfig; `path` is where it stands, for relative paths in it and for errors."""
    document = load_yaml(content, shown(path))
    try:
        file = msgspec.convert(_without_nulls(document) or {}, _File)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{shown(path)}: {_in_words(error)}") from None  # the cause may quote what is secret
    if (file.kind or "Config") != "Config" or (file.api_version or "v1") != "v1":
        kind = one_line(f"{file.api_version} {file.kind}", 80)
        raise ConfigError(f"{shown(path)} holds a {kind}, not a kubeconfig (v1 Config)")
    folder = path.absolute().parent
    return Kubeconfig(
        files=(path,),
        current_context=file.current_context,
        clusters=_by_name("clusters", ((c.name, _cluster_at(folder, c.cluster)) for c in file.clusters), path),
        users=_by_name("users", ((u.name, _user_at(folder, u.user)) for u in file.users), path),
        contexts=_by_name("contexts", ((c.name, c.context) for c in file.contexts), path),
    )


def _by_name(what: str, named: Iterable[tuple[str, T]], path: Path) -> dict[str, Entry[T]]:
    entries: dict[str, Entry[T]] = {}
    for name, value in named:
        if name in entries:
            raise ConfigError(f"{shown(path)}: {what} has two entries named {name!r}")
        entries[name] = Entry(name, value, path)
    return entries


def _cluster_at(folder: Path, cluster: Cluster) -> Cluster:
    return msgspec.structs.replace(cluster, certificate_authority=_absolute(folder, cluster.certificate_authority))


def _user_at(folder: Path, user: User) -> User:
    plugin = user.exec
    if plugin is not None and os.sep in plugin.command:  # a bare name is looked for in PATH
        plugin = msgspec.structs.replace(plugin, command=_absolute(folder, plugin.command))
    return msgspec.structs.replace(
        user,
        client_certificate=_absolute(folder, user.client_certificate),
        client_key=_absolute(folder, user.client_key),
        token_file=_absolute(folder, user.token_file),
        exec=plugin,
    )


def _absolute(folder: Path, path: str) -> str:
    return os.path.normpath(folder / path) if path and not Path(path).is_absolute() else path


def _without_nulls(value: Any) -> Any:
    """`token:` with nothing after it is null in YAML, and the same as no token at all to kubectl."""
    if isinstance(value, dict):
        items = cast("dict[Any, Any]", value).items()
        return {key: _without_nulls(item) for key, item in items if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in cast("list[Any]", value)]
    return value


_MESSAGE = re.compile(r"Expected `(?P<expected>[^`]+)`(?:, got `(?P<got>[^`]+)`)?(?: - at (?P<where>.+))?$")
_WORDS = {"str": "a string", "bool": "true or false", "array": "a list", "object": "a mapping", "int": "a number"}


def _in_words(error: msgspec.ValidationError) -> str:
    """Say what msgspec found as a person would: clusters[0].cluster.server must be a string, not a number."""
    message = _MESSAGE.match(str(error))
    if message is None:
        return one_line(str(error))
    where = (message["where"] or "$").replace("`", "").replace("key in ", "a key of ")
    where = where.replace("$.", "") if "$." in where else where.replace("$", "the whole file")
    expected, got = (_WORDS.get((message[part] or "").split(" | ")[0]) for part in ("expected", "got"))
    return f"{where} must be {expected}" + (f", not {got}" if got else "")
