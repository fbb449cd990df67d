"""The service account of a Pod: its mounted files, as the kubelet lays and rotates them."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from trimtab.client.config.errors import ConfigError
from trimtab.client.config.incluster import in_cluster, in_cluster_config

ENVIRON = {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443"}


@pytest.fixture(scope="module")
def ca() -> bytes:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kubernetes")])
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, now, now + timedelta(days=1))
    return builder.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM)


class Mount:
    """A folder like the kubelet's: the files are links into a dated folder, and one link is swapped to rotate them."""

    def __init__(self, folder: Path, ca: bytes) -> None:
        self.folder, self.ca, self.version = folder, ca, 0
        for name in ("token", "ca.crt", "namespace"):
            (folder / name).symlink_to(Path("..data", name))
        self.rotate("token-0")

    def rotate(self, token: str) -> None:
        self.version += 1
        dated = self.folder / f"..{self.version}"
        dated.mkdir()
        (dated / "token").write_text(token)
        (dated / "ca.crt").write_bytes(self.ca)
        (dated / "namespace").write_text("team-a\n")
        swap = self.folder / "..tmp"
        swap.symlink_to(dated.name)
        swap.rename(self.folder / "..data")


@pytest.fixture
def mount(tmp_path: Path, ca: bytes) -> Mount:
    return Mount(tmp_path, ca)


async def test_the_whole_configuration(mount: Mount) -> None:
    assert in_cluster(ENVIRON, mount.folder)
    config = in_cluster_config(ENVIRON, mount.folder)
    assert config.server == "https://10.96.0.1:443"
    assert config.namespace == "team-a"
    assert config.source == "the in-cluster service account"
    assert config.context is None
    assert config.tls.ca == mount.ca
    first = await config.credentials.proof()
    assert first.headers == {"Authorization": "Bearer token-0"}
    mount.rotate("token-1")
    assert await config.credentials.rejected(first)
    assert (await config.credentials.proof()).headers == {"Authorization": "Bearer token-1"}


def test_details_of_the_environment(mount: Mount) -> None:
    config = in_cluster_config({**ENVIRON, "KUBERNETES_SERVICE_HOST": "fd00::1", "POD_NAMESPACE": "mine"}, mount.folder)
    assert config.server == "https://[fd00::1]:443"
    assert config.namespace == "mine"
    proxied = {**ENVIRON, "HTTPS_PROXY": "http://proxy:3128"}
    assert in_cluster_config(proxied, mount.folder).proxy == "http://proxy:3128"
    assert in_cluster_config({**proxied, "NO_PROXY": "10.96.0.0/12"}, mount.folder).proxy is None


def test_what_is_not_a_pod_with_a_service_account(mount: Mount, tmp_path: Path) -> None:
    assert not in_cluster({}, mount.folder)
    assert not in_cluster({**ENVIRON, "KUBERNETES_SERVICE_PORT": ""}, mount.folder)
    assert not in_cluster(ENVIRON, tmp_path / "absent"), "automountServiceAccountToken: false"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("ca.crt", None, "the in-cluster service account: the certificate authority {} does not exist"),
        (
            "ca.crt",
            b"x",
            "the in-cluster service account: the certificate authority {} is not PEM: it has no BEGIN CERTIFICATE line",
        ),
        ("token", b"\n", "the in-cluster service account: the token in {} is empty"),
        ("token", None, "the in-cluster service account: the token {} does not exist"),
        (
            "token",
            b"\xff",
            (
                "the in-cluster service account: the token in {} has a space, a line break or another "
                "character that no token has"
            ),
        ),
    ],
)
def test_a_broken_mount(mount: Mount, name: str, content: bytes | None, message: str) -> None:
    path = mount.folder / name
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError) as error:
        in_cluster_config(ENVIRON, mount.folder)
    assert str(error.value) == message.format(path)


@pytest.mark.parametrize(
    "environ", [{"KUBERNETES_SERVICE_PORT": "tcp://10.0.0.1:443"}, {"KUBERNETES_SERVICE_HOST": "a b"}]
)
def test_an_address_that_is_none(mount: Mount, environ: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match=r"^the in-cluster service account: KUBERNETES_SERVICE_HOST with \S+ has the"):
        in_cluster_config({**ENVIRON, **environ}, mount.folder)


async def test_the_clock_given_tells_when_the_token_is_read_again(mount: Mount) -> None:
    now = 0.0
    credentials = in_cluster_config(ENVIRON, mount.folder, clock=lambda: now).credentials
    mount.rotate("token-1")
    assert (await credentials.proof()).headers == {"Authorization": "Bearer token-0"}
    now = 50.0
    assert (await credentials.proof()).headers == {"Authorization": "Bearer token-1"}


def test_a_mount_without_a_namespace(mount: Mount) -> None:
    (mount.folder / "namespace").unlink()
    assert in_cluster_config(ENVIRON, mount.folder).namespace is None
