"""From one context of a kubeconfig to a configuration: references followed, contradictions refused, files read."""

import base64
import binascii
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

from trimtab.client.config.credentials import Credentials, Fixed, Minting, Proof, Rotating, basic, bearer
from trimtab.client.config.errors import ConfigError, read_file, shown
from trimtab.client.config.execplugin import ClusterInfo, Plugin
from trimtab.client.config.kubeconfig import Cluster, Context, Entry, Kubeconfig, User
from trimtab.client.config.model import Config, Impersonate, check_server
from trimtab.client.config.proxy import check_proxy, proxy_from_environment
from trimtab.client.config.tls import TLS, KeyPair
from trimtab.errors import one_line

T = TypeVar("T")

_EXEC_EXTENSION = "client.authentication.k8s.io/exec"


def config_of_context(
    kubeconfig: Kubeconfig, name: str | None = None, *, clock: Callable[[], float] = time.monotonic
) -> Config:
    """Return what the context called `name`, or the current one, says. `clock` tells what is due to be read again."""
    context = _context(kubeconfig, name)
    source = f"context {one_line(context.name)} of {shown(context.file)}"
    cluster = _referred(kubeconfig.clusters.get(context.value.cluster), "cluster", context.value.cluster, source)
    user = User()
    if context.value.user:
        user = _referred(kubeconfig.users.get(context.value.user), "user", context.value.user, source)
    where = f"{source}: cluster {context.value.cluster!r}"
    server = _server(cluster, where)
    proxy = (
        check_proxy(cluster.proxy_url, f"{where}: proxy-url")
        if cluster.proxy_url
        else proxy_from_environment(server, os.environ)
    )
    encrypted = server.startswith("https:")
    tls = _tls(cluster, where, clock) if encrypted else TLS()
    who = f"{source}: user {context.value.user!r}"
    return Config(
        server=server,
        source=source,
        namespace=context.value.namespace or None,
        context=context.name,
        tls=tls,
        # As kubectl does, nothing secret is shown to a server that is reached in the clear.
        credentials=_credentials(user, who, _cluster_info(cluster, server, tls), clock) if encrypted else Fixed(),
        proxy=proxy,
        impersonate=_impersonate(user, who),
        compress=not cluster.disable_compression,
    )


def _context(kubeconfig: Kubeconfig, name: str | None) -> Entry[Context]:
    files = ", ".join(map(shown, kubeconfig.files))
    known = sorted(kubeconfig.contexts)
    if not known:
        raise ConfigError(f"{files}: there is no context in it")
    listed = ", ".join(one_line(name, 80) for name in known[:10]) + (
        f" and {len(known) - 10} more" if len(known) > 10 else ""
    )
    chosen = name or kubeconfig.current_context
    if not chosen:
        raise ConfigError(f"{files}: no current-context is set; choose one of {listed}")
    if chosen not in kubeconfig.contexts:
        current = "" if name else "current-context "
        raise ConfigError(f"{files}: {current}{chosen!r} is not among its contexts: {listed}")
    return kubeconfig.contexts[chosen]


def _referred(entry: Entry[T] | None, what: str, name: str, source: str) -> T:
    if entry is None:
        raise ConfigError(f"{source}: its {what} {name!r} is not in the kubeconfig")
    return entry.value


def _server(cluster: Cluster, origin: str) -> str:
    check_server(cluster.server, origin)
    return urlsplit(cluster.server)._replace(query="", fragment="").geturl().rstrip("/")


def _tls(cluster: Cluster, where: str, clock: Callable[[], float]) -> TLS:
    origin = f"{where}: certificate-authority"
    ca = _content(cluster.certificate_authority, cluster.certificate_authority_data, origin)
    return TLS(
        # A file may be replaced while the program runs; data cannot.
        ca=ca if cluster.certificate_authority or ca is None else ca(),
        insecure=cluster.insecure_skip_tls_verify,
        server_name=cluster.tls_server_name or None,
        origin=f"{origin} {shown(Path(cluster.certificate_authority))}" if cluster.certificate_authority else origin,
        clock=clock,
    )


def _credentials(user: User, who: str, cluster: Callable[[], ClusterInfo], clock: Callable[[], float]) -> Credentials:
    has_token = bool(user.token or user.token_file)
    has_password = bool(user.username or user.password)
    has_certificate = bool(user.client_certificate or user.client_certificate_data)
    if has_token and has_password:
        raise ConfigError(f"{who} has both a token and a username; keep one")
    if has_token or has_password or has_certificate:  # each of them outranks a plugin
        load = _proof_loader(user, who)
        return Rotating(load, clock=clock) if user.token_file or user.client_certificate else Fixed(load())
    if user.exec is not None:
        return Minting(Plugin(user.exec, who, cluster).mint, clock=clock)
    if user.auth_provider is not None:
        name = one_line(user.auth_provider.name, 80)
        raise ConfigError(f"{who} has the auth-provider {name!r}, which Kubernetes replaced; use an exec plugin")
    return Fixed()


def _proof_loader(user: User, who: str) -> Callable[[], Proof]:
    certificate = _content(user.client_certificate, user.client_certificate_data, f"{who}: client-certificate")
    key = _content(user.client_key, user.client_key_data, f"{who}: client-key")
    if certificate is not None and key is None:
        raise ConfigError(f"{who} has a client-certificate and no client-key")

    def load() -> Proof:
        pair = None
        if certificate is not None and key is not None:
            where = f" {shown(Path(user.client_certificate))}" if user.client_certificate else ""
            pair = KeyPair(certificate(), key(), f"{who}: the client certificate{where}")
            pair.check()
        return Proof(_headers(user, who), pair)

    return load


def _headers(user: User, who: str) -> dict[str, str]:
    if user.token_file:
        path = Path(user.token_file)
        try:
            return bearer(
                read_file(path, f"{who}: tokenFile").decode(errors="replace"), f"{who}: tokenFile {shown(path)}"
            )
        except ConfigError:
            if not user.token:  # which stands in for a file that cannot be read
                raise
    if user.token:
        return bearer(user.token, f"{who}: token")
    return basic(user.username, user.password) if user.username or user.password else {}


def _content(file: str, data: str, what: str) -> Callable[[], bytes] | None:
    """How to get what a kubeconfig gives either as a file's name or, base64-encoded, as data."""
    if file and data:
        raise ConfigError(f"{what} is there both as a file and as data; keep one")
    if file:
        return lambda: read_file(Path(file), what)
    if not data:
        return None
    try:
        decoded = base64.b64decode("".join(data.split()), validate=True)
    except (binascii.Error, ValueError):
        raise ConfigError(f"{what}-data is not base64") from None
    return lambda: decoded


def _cluster_info(cluster: Cluster, server: str, tls: TLS) -> Callable[[], ClusterInfo]:
    config = next((e.extension for e in cluster.extensions if e.name == _EXEC_EXTENSION), None)
    return lambda: ClusterInfo(
        server=server,
        tls_server_name=cluster.tls_server_name,
        insecure_skip_tls_verify=cluster.insecure_skip_tls_verify,
        certificate_authority_data=tls.ca or b"",
        proxy_url=cluster.proxy_url,
        disable_compression=cluster.disable_compression,
        config=config,
    )


def _impersonate(user: User, who: str) -> Impersonate | None:
    if not user.impersonate:
        if user.impersonate_uid or user.impersonate_groups or user.impersonate_extra:
            raise ConfigError(f"{who} has as-uid, as-groups or as-user-extra without as")
        return None
    impersonate = Impersonate(
        user=user.impersonate,
        uid=user.impersonate_uid or None,
        groups=tuple(user.impersonate_groups),
        extra={key: tuple(values) for key, values in user.impersonate_extra.items()},
    )
    if not all(value.isprintable() for _, value in impersonate.headers):
        raise ConfigError(f"{who} impersonates a name with a line break or another control character")
    return impersonate
