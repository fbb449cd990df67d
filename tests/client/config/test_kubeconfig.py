"""The kubeconfig format: merged as kubectl merges, and every broken file told in one line."""

import base64
import json
import os
import shutil
import subprocess
import time
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

from trimtab.client.config.errors import ConfigError
from trimtab.client.config.kubeconfig import Kubeconfig, User, parse_kubeconfig, read_kubeconfig, read_kubeconfigs

PATH = Path("/etc/kube/config")


def parse(text: str | bytes) -> Kubeconfig:
    return parse_kubeconfig(text.encode() if isinstance(text, str) else text, PATH)


def levels(depth: int, width: int, reference: str) -> str:
    """A small file that stands for width**depth values."""
    lines = ["a0: &a0 {x: y}"]
    lines += [f"a{n}: &a{n} {reference.format(', '.join([f'*a{n - 1}'] * width))}" for n in range(1, depth)]
    return "\n".join(lines)


BROKEN: list[tuple[str, str | bytes, str]] = [
    (
        "a bad server",
        "clusters: [{name: a, cluster: {server: 6443}}]",
        ": clusters[0].cluster.server must be a string, not a number",
    ),
    ("a number as a name", "contexts:\n- name: 1", ": contexts[0].name must be a string, not a number"),
    (
        "quoted bool",
        "clusters: [{cluster: {insecure-skip-tls-verify: 'yes'}}]",
        ": clusters[0].cluster.insecure-skip-tls-verify must be true or false, not a string",
    ),
    ("yaml 1.1 bool", "current-context: on", ": current-context must be a string, not true or false"),
    ("mapping of clusters", "clusters: {a: {server: x}}", ": clusters must be a list, not a mapping"),
    ("null in a list", "users: [null]", ": users[0] must be a mapping"),
    (
        "nested extras",
        "users: [{user: {as-user-extra: {k: v}}}]",
        ": users[0].user.as-user-extra[...] must be a list, not a string",
    ),
    ("a list", "- a", ": the whole file must be a mapping, not a list"),
    ("prose", "hello there", ": the whole file must be a mapping, not a string"),
    ("odd key", "1: 2", ": a key of the whole file must be a string"),
    ("two of a name", "contexts: [{name: a}, {name: a}]", ": contexts has two entries named 'a'"),
    ("something else", "apiVersion: v1\nkind: Secret", " holds a v1 Secret, not a kubeconfig (v1 Config)"),
    ("broken yaml", "a: [\nb", " is not YAML: while parsing a flow sequence, did not find expected ',' or ']', line 3"),
    ("broken json", '{"a": ', " is not YAML: while parsing a flow node, did not find expected node content, line 2"),
    (
        "two documents",
        "a: b\n---\nc: d",
        " is not YAML: expected a single document in the stream, but found another document, line 2",
    ),
    (
        "not text",
        b"\xff\xfe\xff",
        " is not YAML: incomplete UTF-16 character, byte 3",
    ),
    (
        "zip",
        b"PK\x03\x04",
        " is not YAML: control characters are not allowed, byte 3",
    ),
    (
        "python tag",
        "a: !!python/object/apply:os.system [x]",
        " has the YAML tag 'tag:yaml.org,2002:python/object/apply:os.system', and must have none",
    ),
    ("endless number", "a: " + "9" * 5000, " is not YAML: a number in it cannot be read"),
    ("itself", "a: &a [*a]", " is not YAML: the alias *a refers to nothing before it"),
    ("undefined", "a: *a", " is not YAML: the alias *a refers to nothing before it"),
    ("alias bomb", levels(30, 10, "[{}]"), " is too large: over 1000000 values, or 100 levels of them"),
    ("merge bomb", levels(30, 10, "{{<<: [{}]}}"), " is too large: over 1000000 values, or 100 levels of them"),
    ("brackets", "[" * 500_000, " is too large: over 1000000 values, or 100 levels of them"),
    ("json brackets", '{"a":' * 500_000, " is too large: over 1000000 values, or 100 levels of them"),
]


@pytest.mark.parametrize(("content", "message"), [b[1:] for b in BROKEN], ids=[b[0] for b in BROKEN])
def test_a_broken_file_is_told_in_one_line(content: str | bytes, message: str) -> None:
    start = time.process_time()
    with pytest.raises(ConfigError) as error:
        parse(content)
    assert str(error.value) == f"{PATH}{message}"
    assert time.process_time() - start < 5


def test_files_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "large").write_bytes(b"#" * (10 * 1024 * 1024 + 1))
    (tmp_path / "loop").symlink_to("loop")
    expected = {
        "loop": "kubeconfig ~/loop cannot be read: Too many levels of symbolic links",
        "absent": "kubeconfig ~/absent does not exist",
        ".": "kubeconfig ~ is a directory, not a file",
        "large": "kubeconfig ~/large is larger than 10 MiB",
        "large/x": "kubeconfig ~/large/x cannot be read: Not a directory",
    }
    for name, message in expected.items():
        with pytest.raises(ConfigError) as error:
            read_kubeconfig(tmp_path / name)
        assert str(error.value) == message


def test_what_is_unknown_or_null_is_passed_over() -> None:
    found = parse(
        "{later: {x: [1]}, clusters: null, users: [{name: u, user: {token: , auth: 1, exec: null}}], preferences: {}}"
    )
    assert found.users["u"].value == User()
    assert not found.clusters


@pytest.mark.parametrize("empty", ["", "\n", "---\n", "# nothing\n", "{}", "null"])
def test_an_empty_file_is_an_empty_kubeconfig(empty: str) -> None:
    assert not parse(empty).contexts


def test_json_with_its_own_escapes() -> None:
    text = '\t{\n\t"current-context": "a\\/\\ud83d\\ude00"}'
    assert parse(text).current_context == "a/😀"


def test_names_that_look_like_dates_stay_text() -> None:
    assert set(parse("contexts: [{name: 2024-01-31}, {name: 2024-13-99}]").contexts) == {"2024-01-31", "2024-13-99"}


def test_aliases_and_merge_keys_work() -> None:
    found = parse(
        "users: [{name: a, user: &u {token: t}}, {name: b, user: *u}, {name: c, user: {<<: *u, username: n}}]"
    )
    assert [entry.value.token for entry in found.users.values()] == ["t", "t", "t"]


def test_no_part_shows_its_secrets() -> None:
    found = parse("users: [{name: u, user: {token: hush, password: hush, exec: {env: [{name: A, value: hush}]}}}]")
    assert "hush" not in repr(found)
    assert "hush" not in repr(found.users["u"].value.exec)


def some_file(random: Random) -> dict[str, Any] | None:
    """A kubeconfig with a few of the fields that there are, whose names meet those of the next such file; or none."""

    def some(**fields: list[Any]) -> dict[str, Any]:
        chosen = {name: random.choice(values) for name, values in fields.items() if random.random() < 0.7}
        return {name.replace("_", "-").strip("-"): value for name, value in chosen.items()}

    def named(what: str, **fields: list[Any]) -> list[dict[str, Any]]:
        return [{"name": name, what: some(**fields)} for name in random.sample("abc", random.randint(0, 3))]

    words = ["", "w1", "w2", "w3"]
    paths = ["", "x.pem", "./x.pem", "../up/x", "sub/./x", "/abs/x", "/abs/../y"]
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "interactiveMode": "Never",
        "command": random.choice(["aws", "./aws", "../bin/aws", "bin/aws", "/bin/aws"]),
        "provideClusterInfo": random.random() < 0.5,
        "args": random.choice([None, [], ["x", ""]]),
        "env": random.choice([None, [{"name": "A", "value": "b"}]]),
    }
    file = {
        "current-context": random.choice([None, *words]),
        "clusters": named(
            "cluster",
            server=words,
            certificate_authority=paths,
            certificate_authority_data=["", "YWJj"],
            insecure_skip_tls_verify=[True, False],
            tls_server_name=words,
            proxy_url=words,
            disable_compression=[True, False],
        ),
        "users": named(
            "user",
            token=words,
            tokenFile=paths,
            client_certificate=paths,
            client_key=paths,
            client_key_data=["", "YWJj"],
            username=words,
            password=words,
            _as=words,
            as_uid=words,
            as_groups=[None, [], ["g", ""]],
            as_user_extra=[None, {}, {"k": [], "l": ["v"]}],
            exec=[plugin],
        ),
        "contexts": named("context", cluster=["a", "b"], user=["a", "b"], namespace=words),
    }
    return file if random.random() < 0.9 else None


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl, the judge of this test, is not installed")
@pytest.mark.parametrize("seed", range(20))
def test_files_merge_as_kubectl_merges_them(seed: int, tmp_path: Path) -> None:
    """Any few files, each in a folder of its own, some missing: kubectl and we understand the same."""
    random = Random(seed)
    paths = [tmp_path / f"folder-{i}" / "config" for i in range(random.randint(1, 3))]
    for path in paths:
        path.parent.mkdir()
        if (file := some_file(random)) is not None:
            path.write_text(yaml.safe_dump(file, default_flow_style=random.random() < 0.5))
    listed = os.pathsep.join([*map(str, paths), "", str(paths[0])])
    judge = subprocess.run(
        ["kubectl", "config", "view", "--raw", "-o", "json"],
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "KUBECONFIG": listed},
        capture_output=True,
        check=True,
    )
    theirs = json.loads(judge.stdout)
    ours = read_kubeconfigs(Path(path) for path in listed.split(os.pathsep) if path)
    if ours is None:
        assert not any(theirs[part] for part in ("clusters", "users", "contexts"))
        return
    assert ours.current_context == theirs["current-context"]
    for part in ("clusters", "users", "contexts"):
        entries = getattr(ours, part)
        assert sorted(entries) == sorted(entry["name"] for entry in theirs[part] or [])
        for entry in theirs[part] or []:  # with paths as they were written: each is relative to its own file
            mine = entries[entry["name"]]
            kubectls = parse_kubeconfig(json.dumps({part: [entry]}).encode(), mine.file)
            assert mine.value == getattr(kubectls, part)[entry["name"]].value


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl, the judge of this test, is not installed")
def test_relative_paths_lead_where_kubectl_goes(tmp_path: Path) -> None:
    """kubectl's --flatten reads the files that the paths name: it must be these."""
    for place in ("1/ca.pem", "1/sub/cert.pem", "key.pem", "2/ca.pem"):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text(place)
    (tmp_path / "1/config").write_text(
        "clusters: [{name: a, cluster: {certificate-authority: ca.pem}}]\n"
        "users: [{name: u, user: {client-certificate: ./sub/cert.pem, client-key: ../key.pem, tokenFile: ../t}}]\n"
    )
    (tmp_path / "2/config").write_text("clusters: [{name: b, cluster: {certificate-authority: ca.pem}}]")
    paths = [tmp_path / "1/config", tmp_path / "2/config"]
    flat = subprocess.run(
        ["kubectl", "config", "view", "--raw", "--flatten", "-o", "json"],
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "KUBECONFIG": os.pathsep.join(map(str, paths))},
        capture_output=True,
        check=True,
    )
    theirs = parse_kubeconfig(flat.stdout, PATH)
    ours = read_kubeconfigs(paths)
    assert ours is not None

    def data(path: str) -> str:
        return base64.b64encode(Path(path).read_bytes()).decode()

    assert {n: data(c.value.certificate_authority) for n, c in ours.clusters.items()} == {
        n: c.value.certificate_authority_data for n, c in theirs.clusters.items()
    }
    mine, kubectls = ours.users["u"].value, theirs.users["u"].value
    assert data(mine.client_certificate) == kubectls.client_certificate_data
    assert data(mine.client_key) == kubectls.client_key_data
    assert mine.token_file == str(tmp_path / "t")


def test_an_exec_command_is_relative_only_with_a_slash() -> None:
    found = parse("users: [{name: a, user: {exec: {command: aws}}}, {name: b, user: {exec: {command: ../bin/aws}}}]")
    plugins = [entry.value.exec for entry in found.users.values()]
    assert [plugin.command for plugin in plugins if plugin] == ["aws", "/etc/bin/aws"]


def test_an_entry_remembers_its_file(tmp_path: Path) -> None:
    first, second = tmp_path / "1", tmp_path / "2"
    first.write_text("contexts: [{name: a, context: {cluster: mine}}]")
    second.write_text("current-context: b\ncontexts: [{name: a, context: {namespace: n}}, {name: b}]")
    merged = read_kubeconfigs([first, tmp_path / "missing", second])
    assert merged is not None
    assert merged.files == (first, second)
    assert merged.current_context == "b"
    assert {name: entry.file for name, entry in merged.contexts.items()} == {"a": first, "b": second}
    assert merged.contexts["a"].value.namespace == "", "an entry is never put together from two files"
