"""`trimtab run`: which options there are, where they come from, and what is said of wrong ones."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from trimtab.cli import main
from trimtab.cli.run import options_given, workers_given
from trimtab.errors import TrimtabError

APP = """
import trimtab
app = trimtab.App("mine")
SIZE = app.option("size", "How large it is.", default=1, parse=int)
NETS = app.option("net", "A network.", many=True)
LOUD = app.option("loud", "Say more.", default=False, parse=bool)
NAMESPACE = app.option("namespace", "Not that of trimtab run.")
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    Path("app.py").write_text(APP)
    Path("broken.py").write_text("1 / 0\n")
    Path("other.py").write_text('import trimtab\napp = trimtab.App("other")\nSIZE = app.option("size", "Theirs.")\n')


class Caught:
    """What `trimtab run` would have run."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.given: dict[str, Any] = {}
        self.apps: dict[str, Any] = {}
        self.options: dict[str, Any] = {}
        monkeypatch.setattr(sys.modules["trimtab.cli.main"], "start", self.start)

    def start(self, ctx: click.Context, given: dict[str, Any]) -> None:
        self.given, self.apps = given, ctx.obj
        values = options_given(ctx)
        self.options = {
            f"{app.name}.{name}": values[option] for app in ctx.obj.values() for name, option in app.options.items()
        }


@pytest.fixture
def caught(monkeypatch: pytest.MonkeyPatch) -> Caught:
    return Caught(monkeypatch)


def trimtab_run(*words: str, **environment: str) -> Any:
    return CliRunner().invoke(main, ["run", *words], env=environment, catch_exceptions=False)


def test_flags_are_read_in_any_order_after_the_app(caught: Caught) -> None:
    words = "-n a app.py --net x --size 5 --leader-elect --net y --grace 1m30s -n b --loud --mine.namespace z"
    assert trimtab_run(*words.split()).exit_code == 0
    assert caught.options == {
        "mine.size": 5, "mine.net": ("x", "y"), "mine.loud": True, "mine.namespace": "z",
    }  # fmt: skip
    given = caught.given
    assert (given["namespace"], given["leader_elect"], given["grace"]) == (("a", "b"), True, 90.0)
    assert (given["lease_duration"], given["renew_deadline"], given["retry_period"]) == (15.0, 10.0, 2.0)


def test_the_environment_says_the_same_and_flags_outrank_it(caught: Caught) -> None:
    environment = {
        "TRIMTAB_NAMESPACE": "a,b", "TRIMTAB_LEADER_ELECT": "true", "TRIMTAB_SIZE": "5", "TRIMTAB_NET": "x,y",
        "TRIMTAB_LOUD": "true", "TRIMTAB_MINE_NAMESPACE": "z", "TRIMTAB_LOG_FORMAT": "json",
        "TRIMTAB_WORKERS": "2,mine=3",
    }  # fmt: skip
    assert trimtab_run("app.py", "--size", "6", **environment).exit_code == 0
    assert caught.options == {
        "mine.size": 6, "mine.net": ("x", "y"), "mine.loud": True, "mine.namespace": "z",
    }  # fmt: skip
    given = caught.given
    assert (given["namespace"], given["leader_elect"], given["log_format"]) == (("a", "b"), True, "json")
    assert workers_given(given["workers"]) == {"": 2, "mine": 3}


def test_several_apps_whose_options_have_one_name(caught: Caught) -> None:
    words = ["app.py", "--mine.size", "2", "other.py", "--other.size", "3", "--net", "x"]
    assert trimtab_run(*words).exit_code == 0
    assert [app.name for app in caught.apps.values()] == ["mine", "other"]
    assert (caught.options["mine.size"], caught.options["other.size"], caught.options["mine.net"]) == (2, "3", ("x",))
    said = trimtab_run("app.py", "other.py", "--size", "3")
    assert said.exit_code == 2
    assert "No such option" in said.output


def test_help_shows_the_options_of_the_apps() -> None:
    text = " ".join(trimtab_run("app.py", "--help").output.split())
    assert "--leader-elect" in text
    assert "Options of mine: --size, --mine.size TEXT How large it is. [default: 1]" in text
    assert "--mine.namespace TEXT Not that of trimtab run. [env var: TRIMTAB_MINE_NAMESPACE]" in text
    assert "Options of" not in trimtab_run("--help").output


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ([], 2, "Missing argument 'APP...'"),
        (["--net", "x", "app.py"], 2, "(options of an app come after the app)"),
        (["app.py", "--sise", "3"], 2, "Did you mean"),
        (["app.py", "--grace", "soon"], 2, "'soon' is no duration: give seconds, or such as 1m30s"),
        (["nope.py"], 2, "Error: there is no file nope.py"),
        (["nosuch"], 2, "Error: there is no app 'nosuch'"),
        (["app.py:nosuch"], 2, "Error: app.py: nosuch is not in it"),
        (["broken.py"], 1, "error: cannot import broken.py"),
        (["app.py", "--size", "large"], 2, "Error: --size cannot be 'large': invalid literal"),
        (["app.py", "--workers", "mine=0"], 2, "Error: --workers cannot be 'mine=0': give a number of at least 1"),
        (["app.py", "--workers", "nosuch=4"], 2, "Error: there is no controller nosuch"),
        (["app.py", "--listen", "127.0.0.1:99999"], 2, "Error: '127.0.0.1:99999' is no address to listen at"),
        (["app.py", "--leader-elect", "--renew-deadline", "20"], 2, "Error: leader election (lease 15 s, renew"),
        (["app.py"], 1, "error: no cluster to talk to"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_line(words: list[str], code: int, said: str, tmp_path: Path) -> None:
    Path("config").write_text(
        "contexts: [{name: c, context: {cluster: c, user: u}}]\ncurrent-context: c\n"
        "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]\nusers: [{name: u}]\n"
    )
    env = {k: v for k, v in os.environ.items() if k != "KUBECONFIG"} | {"HOME": str(tmp_path)}
    if "no cluster" not in said:
        env["KUBECONFIG"] = "config"
    command = [sys.executable, "-m", "trimtab", "run", "--log-format", "console", *words]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_in_json_the_last_word_is_json_too() -> None:
    Path("config").write_text("apiVersion: v1\nkind: Config\n")
    words = ["run", "--log-format", "json", "--kubeconfig", "config", "app.py"]
    command = [sys.executable, "-m", "trimtab", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    entry = json.loads(line)
    assert (entry["level"], entry["message"]) == ("error", "config: there is no context in it")


def test_help_imports_neither_client_nor_manager() -> None:
    code = "import sys, trimtab.cli; print([m for m in sys.modules if m.startswith('trimtab.') and '.cli' not in m])"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said == "['trimtab.errors']\n"


def test_workers_are_numbers() -> None:
    with pytest.raises(TrimtabError, match="--workers cannot be 'many'"):
        workers_given(["many"])
