"""The configuration of a Pod: the service account that the kubelet mounts into it."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path

from trimtab.client.config.credentials import Proof, Rotating, bearer
from trimtab.client.config.errors import FileMissingError, read_file
from trimtab.client.config.model import Config, check_server
from trimtab.client.config.proxy import proxy_from_environment
from trimtab.client.config.tls import TLS

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_SOURCE = "the in-cluster service account"


def in_cluster(environ: Mapping[str, str], folder: Path = SERVICE_ACCOUNT) -> bool:
    """Whether this process runs in a Pod that has a service account."""
    return _address(environ) is not None and (folder / "token").is_file()


def in_cluster_config(
    environ: Mapping[str, str], folder: Path = SERVICE_ACCOUNT, *, clock: Callable[[], float] = time.monotonic
) -> Config:
    """Return the configuration of the Pod around this process; `in_cluster` must be true."""
    address = _address(environ)
    assert address is not None
    host, port = address
    server = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    check_server(server, f"{_SOURCE}: KUBERNETES_SERVICE_HOST with KUBERNETES_SERVICE_PORT")
    what = f"{_SOURCE}: the"

    def token() -> Proof:
        path = folder / "token"
        return Proof(bearer(read_file(path, f"{what} token").decode(errors="replace"), f"{what} token in {path}"))

    certificates = folder / "ca.crt"
    return Config(
        server=server,
        source=_SOURCE,
        namespace=environ.get("POD_NAMESPACE") or _namespace(folder),
        tls=TLS(
            ca=lambda: read_file(certificates, f"{what} certificate authority"),
            origin=f"{what} certificate authority {certificates}",
            clock=clock,
        ),
        credentials=Rotating(token, clock=clock),
        proxy=proxy_from_environment(server, environ),
    )


def _address(environ: Mapping[str, str]) -> tuple[str, str] | None:
    host, port = environ.get("KUBERNETES_SERVICE_HOST"), environ.get("KUBERNETES_SERVICE_PORT")
    return (host, port) if host and port else None


def _namespace(folder: Path) -> str | None:
    try:
        return read_file(folder / "namespace", f"{_SOURCE}: the namespace").decode(errors="replace").strip() or None
    except FileMissingError:  # a projected volume made by hand may leave it out
        return None
