"""Where a configuration is found, what a context of it means, and what is said when it cannot be used."""

import base64
import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trimtab.client.config.credentials import Fixed, Minting, Rotating
from trimtab.client.config.errors import ConfigError
from trimtab.client.config.kubeconfig import Cluster, Exec, User
from trimtab.client.config.loading import load_config
from trimtab.client.config.model import Config, Impersonate

V1 = "client.authentication.k8s.io/v1"
EXEC = {"apiVersion": V1, "command": "no-such-plugin", "interactiveMode": "Never"}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of one's own, and nothing in the environment that leads to a cluster or a proxy."""
    for name in list(os.environ):
        if name.startswith("KUBE") or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def kubeconfig(path: Path, *, cluster: Any = None, user: Any = None, **changes: Any) -> Path:
    """Write a kubeconfig whose context `c` has the cluster and the user given."""
    file = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        "clusters": [{"name": "k", "cluster": {"server": "https://k:6443"} | (cluster or {})}],
        "users": [{"name": "u", "user": user or {}}],
    } | changes
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(file))
    return path


async def headers(config: Config) -> dict[str, str]:
    return dict((await config.credentials.proof()).headers)


def test_the_order_of_the_sources(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = kubeconfig(home / "given", cluster={"server": "https://given"})
    listed = kubeconfig(home / "listed", cluster={"server": "https://listed"})
    kubeconfig(home / ".kube/config", cluster={"server": "https://home"})
    assert load_config().server == "https://home"
    assert load_config("").server == "https://home"
    monkeypatch.setenv("KUBECONFIG", f"{home / 'absent'}{os.pathsep}{listed}")
    assert load_config().server == "https://listed"
    assert load_config(given).server == "https://given"
    assert load_config("~/given").server == "https://given"


def test_in_a_pod(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The service account comes before ~/.kube/config and after $KUBECONFIG; a named context passes over it."""
    kubeconfig(home / ".kube/config", cluster={"server": "https://home"})
    pod = Config(server="https://pod")
    monkeypatch.setattr("trimtab.client.config.loading.in_cluster", lambda _: True)
    monkeypatch.setattr("trimtab.client.config.loading.in_cluster_config", lambda _, **__: pod)
    assert load_config() is pod
    assert load_config(context="c").server == "https://home"
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig(home / "listed", cluster={"server": "https://listed"})))
    assert load_config().server == "https://listed"


def test_when_there_is_nothing_it_says_where_it_looked(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError) as error:
        load_config()
    assert str(error.value) == (
        "no cluster to talk to: ~/.kube/config does not exist, $KUBECONFIG is not set, "
        "and this is not a Pod with a service account; name a kubeconfig"
    )
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join(["/no/a", "", "~/b"]))
    with pytest.raises(ConfigError) as error:
        load_config()
    assert str(error.value) == "$KUBECONFIG names /no/a, ~/b, and there is no such file"
    with pytest.raises(ConfigError, match=r"^kubeconfig ~/b does not exist$"):
        load_config("~/b")


async def test_the_whole_of_a_context(home: Path) -> None:
    path = kubeconfig(
        home / "config",
        contexts=[{"name": "c", "context": {"cluster": "k", "user": "u", "namespace": "team-a"}}],
        cluster={
            "server": "https://k:6443/prefix/",
            "insecure-skip-tls-verify": True,
            "tls-server-name": "kubernetes",
            "proxy-url": "http://me:hush@proxy:3128",
            "disable-compression": True,
        },
        user={
            "token": "hush",
            "as": "bob",
            "as-uid": "7",
            "as-groups": ["a", "b"],
            "as-user-extra": {"k/é": ["x", "y"]},
        },
    )
    config = load_config(path)
    assert config.server == "https://k:6443/prefix"
    assert config.namespace == "team-a"
    assert config.context == "c"
    assert config.source == "context c of ~/config"
    assert config.tls.insecure
    assert config.tls.server_name == "kubernetes"
    assert config.proxy == "http://me:hush@proxy:3128"
    assert not config.compress
    assert await headers(config) == {"Authorization": "Bearer hush"}
    assert config.impersonate is not None
    assert config.impersonate.headers == (
        ("Impersonate-User", "bob"),
        ("Impersonate-Uid", "7"),
        ("Impersonate-Group", "a"),
        ("Impersonate-Group", "b"),
        ("Impersonate-Extra-k%2F%C3%A9", "x"),
        ("Impersonate-Extra-k%2F%C3%A9", "y"),
    )
    assert "hush" not in repr(config)


def test_the_percent_sign_of_an_impersonated_key_is_encoded_too() -> None:
    extra = {"100% sure_~": ("v",)}
    assert Impersonate(user="u", extra=extra).headers[1] == ("Impersonate-Extra-100%25%20sure_~", "v")


def test_another_context_than_the_current(home: Path) -> None:
    contexts = [{"name": "c", "context": {}}, {"name": "d", "context": {"cluster": "k"}}]
    config = load_config(kubeconfig(home / "config", contexts=contexts), context="d")
    assert config.context == "d"
    assert isinstance(config.credentials, Fixed), "a context without a user is anonymous"


async def test_which_credentials_win(home: Path) -> None:
    """As in client-go: what is written down outranks a plugin."""
    path = home / "config"
    (home / "token").write_text("filed\n")
    assert isinstance(load_config(kubeconfig(path, user={"exec": EXEC})).credentials, Minting)
    assert await headers(load_config(kubeconfig(path, user={"exec": EXEC, "token": "t"}))) == {
        "Authorization": "Bearer t"
    }
    assert await headers(load_config(kubeconfig(path, user={"exec": EXEC, "username": "n", "password": "p"}))) == {
        "Authorization": "Basic bjpw"
    }
    filed = load_config(kubeconfig(path, user={"tokenFile": "token", "token": "written"}))
    assert isinstance(filed.credentials, Rotating)
    assert await headers(filed) == {"Authorization": "Bearer filed"}
    (home / "token").unlink()
    spare = load_config(kubeconfig(path, user={"tokenFile": "token", "token": "written"}))
    assert await headers(spare) == {"Authorization": "Bearer written"}
    plain = load_config(kubeconfig(path, cluster={"server": "http://k"}, user={"token": "hush", "as": "bob"}))
    assert await headers(plain) == {}, "nothing secret goes out in the clear"
    assert plain.impersonate is not None


def test_the_proxy_of_the_environment_and_of_the_cluster(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://environment:1")
    path = home / "config"
    assert load_config(kubeconfig(path)).proxy == "http://environment:1"
    assert load_config(kubeconfig(path, cluster={"server": "https://127.0.0.1:6443"})).proxy is None
    both = {"server": "https://127.0.0.1:6443", "proxy-url": "http://cluster:2"}
    assert load_config(kubeconfig(path, cluster=both)).proxy == "http://cluster:2"


@pytest.mark.parametrize("server", ["", "k:6443", "https://k/a b", "https://k/é", "https://me:hush@k", "https://k:0"])
def test_a_configuration_made_by_hand_needs_a_usable_server_too(server: str) -> None:
    with pytest.raises(ConfigError, match=r"^the given configuration has .*server") as error:
        Config(server=server)
    assert "hush" not in str(error.value)


async def test_the_clock_given_tells_when_a_token_is_read_again(home: Path) -> None:
    (home / "token").write_text("one")
    now = 0.0
    config = load_config(kubeconfig(home / "config", user={"tokenFile": "token"}), clock=lambda: now)
    first = await config.credentials.proof()
    (home / "token").write_text("two")
    assert await config.credentials.proof() is first
    now = 50.0
    assert (await config.credentials.proof()).headers == {"Authorization": "Bearer two"}


def data(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


UNUSABLE: list[tuple[str, dict[str, Any], str]] = [
    ("no contexts", {"contexts": []}, "~/config: there is no context in it"),
    ("no current", {"current-context": None}, "~/config: no current-context is set; choose one of c"),
    ("odd current", {"current-context": "x"}, "~/config: current-context 'x' is not among its contexts: c"),
    (
        "many contexts",
        {"current-context": "x", "contexts": [{"name": f"c{n:02}"} for n in range(12)]},
        (
            "~/config: current-context 'x' is not among its contexts: "
            "c00, c01, c02, c03, c04, c05, c06, c07, c08, c09 and 2 more"
        ),
    ),
    ("no cluster", {"clusters": []}, "context c of ~/config: its cluster 'k' is not in the kubeconfig"),
    ("no user", {"users": []}, "context c of ~/config: its user 'u' is not in the kubeconfig"),
    (
        "password in the URL",
        {"cluster": {"server": "https://me:hush@k"}},
        "context c of ~/config: cluster 'k' has a user in its server's URL; write it under users, or into credentials",
    ),
    (
        "password in what is no URL",
        {"cluster": {"server": "https://me:hush@[k"}},
        "context c of ~/config: cluster 'k' has the server '[k', which is not an http:// or https:// URL",
    ),
    *(
        (
            f"server {server!a}",
            {"cluster": {"server": server}},
            f"context c of ~/config: cluster 'k' has the server {shown!r}, with a character that no URL has",
        )
        for server, shown in [
            ("https://h:1/a b", "https://h:1/a b"),
            ("https://h:1/é", "https://h:1/é"),
            ("https://h\n", "https://h"),
            ("https://h/\x7f", "https://h/"),
        ]
    ),
    ("no server", {"cluster": {"server": None}}, "context c of ~/config: cluster 'k' has no server"),
    *(
        (
            f"server {server}",
            {"cluster": {"server": server}},
            f"context c of ~/config: cluster 'k' has the server '{server}', which is not an http:// or https:// URL",
        )
        for server in ("k:6443", "127.0.0.1", "ftp://k", "https://", "https://[k", "https://k:99999", "//k")
    ),
    (
        "socks",
        {"cluster": {"proxy-url": "socks5://u:hush@p:1"}},
        (
            "context c of ~/config: cluster 'k': proxy-url has the scheme 'socks5', "
            "which is not supported; use an http:// or https:// proxy"
        ),
    ),
    (
        "both CAs",
        {"cluster": {"certificate-authority": "ca", "certificate-authority-data": data("x")}},
        "context c of ~/config: cluster 'k': certificate-authority is there both as a file and as data; keep one",
    ),
    (
        "CA missing",
        {"cluster": {"certificate-authority": "ca"}},
        "context c of ~/config: cluster 'k': certificate-authority ~/ca does not exist",
    ),
    (
        "CA not PEM",
        {"cluster": {"certificate-authority": "config"}},
        (
            "context c of ~/config: cluster 'k': certificate-authority ~/config is not PEM: "
            "it has no BEGIN CERTIFICATE line"
        ),
    ),
    (
        "CA not base64",
        {"cluster": {"certificate-authority-data": "-----BEGIN"}},
        "context c of ~/config: cluster 'k': certificate-authority-data is not base64",
    ),
    (
        "CA data not PEM",
        {"cluster": {"certificate-authority-data": data("hush")}},
        "context c of ~/config: cluster 'k': certificate-authority is not PEM: it has no BEGIN CERTIFICATE line",
    ),
    (
        "token and password",
        {"user": {"token": "hush", "username": "n"}},
        "context c of ~/config: user 'u' has both a token and a username; keep one",
    ),
    (
        "empty token file",
        {"user": {"tokenFile": "/dev/null"}},
        "context c of ~/config: user 'u': tokenFile /dev/null is empty",
    ),
    (
        "token file missing",
        {"user": {"tokenFile": "t"}},
        "context c of ~/config: user 'u': tokenFile ~/t does not exist",
    ),
    (
        "no path",
        {"user": {"tokenFile": "/a\0b"}},
        "context c of ~/config: user 'u': tokenFile '/a\\x00b' is not a path: embedded null byte",
    ),
    (
        "token of two lines",
        {"user": {"token": "hush\nhush"}},
        "context c of ~/config: user 'u': token has a space, a line break or another character that no token has",
    ),
    (
        "no key",
        {"user": {"client-certificate-data": data("x")}},
        "context c of ~/config: user 'u' has a client-certificate and no client-key",
    ),
    (
        "key not base64",
        {"user": {"client-certificate-data": data("x"), "client-key-data": "hush!"}},
        "context c of ~/config: user 'u': client-key-data is not base64",
    ),
    (
        "key missing",
        {"user": {"client-certificate-data": data("x"), "client-key": "../key"}},
        "context c of ~/config: user 'u': client-key {above}/key does not exist",
    ),
    (
        "certificate not PEM",
        {"user": {"client-certificate": "config", "client-key": "config"}},
        "context c of ~/config: user 'u': the client certificate ~/config is not PEM: it has no BEGIN CERTIFICATE line",
    ),
    (
        "auth-provider",
        {"user": {"auth-provider": {"name": "gcp", "config": {"access-token": "hush"}}}},
        "context c of ~/config: user 'u' has the auth-provider 'gcp', which Kubernetes replaced; use an exec plugin",
    ),
    ("exec", {"user": {"exec": EXEC | {"command": ""}}}, "context c of ~/config: user 'u': exec names no command"),
    (
        "groups alone",
        {"user": {"as-groups": ["g"]}},
        "context c of ~/config: user 'u' has as-uid, as-groups or as-user-extra without as",
    ),
    (
        "smuggled header",
        {"user": {"as": "a\r\nImpersonate-Group: system:masters"}},
        "context c of ~/config: user 'u' impersonates a name with a line break or another control character",
    ),
]


@pytest.mark.parametrize(("changes", "message"), [u[1:] for u in UNUSABLE], ids=[u[0] for u in UNUSABLE])
def test_what_cannot_be_used_is_told_in_one_line(home: Path, changes: dict[str, Any], message: str) -> None:
    path = kubeconfig(home / "config", **changes)
    with pytest.raises(ConfigError) as error:
        load_config(path)
    assert str(error.value) == message.replace("{above}", str(home.parent))


ANYTHING = st.one_of(
    st.text(max_size=8),
    st.sampled_from(
        ["", "config", "/dev/null", "https://k", "https://[k]", "http://k:x", data("x"), "a\0b", "v1", "\ud83d"]
    ),
    st.sampled_from([None, 0, True, [], {}, ["x"], {"x": ["y"]}, [{"name": "a", "value": "\0"}]]),
)


def changes(kind: type[msgspec.Struct], *but: str) -> st.SearchStrategy[dict[str, Any]]:
    names = [field.encode_name for field in msgspec.structs.fields(kind) if field.name not in but]
    return st.dictionaries(st.sampled_from(names), ANYTHING, max_size=2)


PLUGIN = {"apiVersion": V1, "interactiveMode": "Never", "provideClusterInfo": True}
COMMANDS = st.sampled_from(["/bin/false", "no-such-plugin", "/", "a\0b", "./config"])


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300)
@given(
    name=st.one_of(st.just("c"), st.text()),
    cluster=changes(Cluster),
    user=changes(User, "exec"),
    plugin=st.builds(lambda command, other: PLUGIN | {"command": command} | other, COMMANDS, changes(Exec, "command")),
)
async def test_whatever_it_says_the_answer_is_a_configuration_or_one_line(
    home: Path, name: str, cluster: dict[str, Any], user: dict[str, Any], plugin: dict[str, Any]
) -> None:
    context = {"cluster": "k", "user": "u"}
    file = {
        "current-context": name,
        "contexts": [{"name": name, "context": context}],
        "clusters": [{"name": "k", "cluster": {"server": "https://k"} | cluster}],
        "users": [{"name": "u", "user": user | {"exec": plugin}}],
    }
    path = home / "config"
    path.write_text(json.dumps(file))
    try:
        config = load_config(path)
        await config.credentials.proof()
        said = repr(config)
    except ConfigError as error:
        said = str(error)
    assert said.isprintable()


def test_an_unknown_context_of_several_files(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = kubeconfig(home / "one")
    two = kubeconfig(home / "two", contexts=[{"name": "b"}])
    monkeypatch.setenv("KUBECONFIG", f"{one}{os.pathsep}{two}")
    with pytest.raises(ConfigError) as error:
        load_config(context="x")
    assert str(error.value) == "~/one, ~/two: 'x' is not among its contexts: b, c"


async def test_a_missing_plugin_names_its_context(home: Path) -> None:
    config = load_config(kubeconfig(home / "config", user={"exec": EXEC}))
    with pytest.raises(ConfigError) as error:
        await config.credentials.proof()
    assert str(error.value) == (
        "context c of ~/config: user 'u': exec plugin 'no-such-plugin' is not installed: no such executable"
    )
