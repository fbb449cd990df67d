"""The command lines of the control plane's programs, as tests need them: on loopback, quick to start, safe to kill."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from trimtab.pki import CertificateAuthority, kubeconfig, write_kubeconfig
from trimtab.testing.loopback import HOST

MASTERS = "system:masters"

LISTENERS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
"""The components that need a port; etcd listens on a socket, kwok not at all."""

_NOBODY = "http://localhost:1"


@dataclass(frozen=True)
class Files:
    """What the programs read from the control plane's own folder."""

    etcd_data: Path
    etcd_socket: Path
    authority: Path
    serving: tuple[Path, Path]
    service_accounts: tuple[Path, Path]
    tokens: Path
    kubeconfig: Path

    @classmethod
    def write(
        cls, folder: Path, url: str, authority: CertificateAuthority, tokens: Mapping[str, tuple[str, Sequence[str]]]
    ) -> Self:
        """Write keys, certificates, tokens (token → user and groups) and the components' kubeconfig."""
        pki = folder / "pki"
        pki.mkdir(mode=0o700)
        authority_file = pki / "ca.crt"
        authority_file.write_bytes(authority.certificate)
        tokens_file = pki / "tokens.csv"
        tokens_file.touch(mode=0o600)
        tokens_file.write_text("".join(f'{t},{user},{user},"{",".join(g)}"\n' for t, (user, g) in tokens.items()))
        client = authority.issue_client("trimtab:control-plane", [MASTERS])
        return cls(
            etcd_data=folder / "etcd",
            etcd_socket=folder / "etcd.sock",
            authority=authority_file,
            serving=authority.issue_server(HOST, "localhost").write(pki, "serving"),
            # No client certificate: only a key pair in a form that the API server reads.
            service_accounts=authority.issue_server("service-accounts").write(pki, "service-accounts"),
            tokens=tokens_file,
            kubeconfig=write_kubeconfig(
                pki / "control-plane.kubeconfig", kubeconfig(url, authority.certificate, client)
            ),
        )


def command(component: str, program: Path, ports: Mapping[str, int], files: Files, extra: Iterable[str]) -> list[str]:
    """Say how to start a component; `extra` flags come last, so that they win."""
    flags = {
        "etcd": _etcd,
        "kube-apiserver": _apiserver,
        "kube-controller-manager": _controller_manager,
        "kube-scheduler": _scheduler,
        "kwok": _kwok,
    }[component](ports, files)
    # Without the controllers nobody makes a namespace's default service account, and no Pod could be created.
    if component == "kube-apiserver" and "kube-controller-manager" not in ports:
        flags.append("--disable-admission-plugins=ServiceAccount")
    return [str(program), *flags, *extra]


def _etcd(_: Mapping[str, int], files: Files) -> list[str]:
    # A socket in our own folder: no port to fight for, and no other user of the machine can get in where nobody asks
    # who is there. Advertised is what never gets used, with a single member; it only has to look like an address.
    return [
        f"--data-dir={files.etcd_data}",
        f"--listen-client-urls=unix://{files.etcd_socket}",
        "--listen-peer-urls=unix://etcd-peers:0",
        f"--advertise-client-urls={_NOBODY}",
        f"--initial-advertise-peer-urls={_NOBODY}",
        f"--initial-cluster=default={_NOBODY}",
        # Data outlives our SIGKILL all the same: the kernel has it. Only a crash of the machine would lose it.
        "--unsafe-no-fsync",
        # Alone, etcd has to wait for an election before it leads; with the usual second, everybody else waits too.
        "--heartbeat-interval=10",
        "--election-timeout=100",
    ]


def _apiserver(ports: Mapping[str, int], files: Files) -> list[str]:
    certificate, key = files.serving
    public, private = files.service_accounts
    return [
        f"--etcd-servers=unix://{files.etcd_socket}",
        f"--bind-address={HOST}",
        f"--advertise-address={HOST}",
        f"--secure-port={ports['kube-apiserver']}",
        f"--tls-cert-file={certificate}",
        f"--tls-private-key-file={key}",
        f"--client-ca-file={files.authority}",
        f"--token-auth-file={files.tokens}",
        "--anonymous-auth=false",
        "--authorization-mode=RBAC",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={public}",
        f"--service-account-signing-key-file={private}",
        "--service-cluster-ip-range=10.0.0.0/16",
        "--allow-privileged=true",
        # Nobody reaches the kubernetes Service's endpoints, and the lease kept for them outlives a killed server.
        "--endpoint-reconciler-type=none",
        # Asked to end, it ends the watches too; by default it would sit and wait until each ran into its time limit.
        "--shutdown-watch-termination-grace-period=2s",
    ]


def _controller_manager(ports: Mapping[str, int], files: Files) -> list[str]:
    _, private = files.service_accounts
    return [
        *_secured("kube-controller-manager", ports, files),
        f"--kubeconfig={files.kubeconfig}",
        f"--root-ca-file={files.authority}",
        f"--service-account-private-key-file={private}",
        # On a slow machine kwok's heartbeats come late, and it would call Nodes not ready and their Pods too, for good.
        "--node-monitor-grace-period=1h",
    ]


def _scheduler(ports: Mapping[str, int], files: Files) -> list[str]:
    return [*_secured("kube-scheduler", ports, files), f"--kubeconfig={files.kubeconfig}"]


def _secured(component: str, ports: Mapping[str, int], files: Files) -> list[str]:
    certificate, key = files.serving
    return [
        f"--bind-address={HOST}",
        f"--secure-port={ports[component]}",
        f"--tls-cert-file={certificate}",
        f"--tls-private-key-file={key}",
        "--leader-elect=false",  # it is alone; and after a kill nobody would wait for its lease to run out
    ]


def _kwok(_: Mapping[str, int], files: Files) -> list[str]:
    return [f"--kubeconfig={files.kubeconfig}", "--manage-all-nodes=true", f"--node-ip={HOST}"]
