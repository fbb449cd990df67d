"""Finding apps: what is meant by a word, and what is said where it is none. Each error is one line for people."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from trimtab.cli.apps import AppError, bundled, load_app

APP = 'import trimtab\napp = trimtab.App("mine")\n'


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if not name.startswith("trimtab."):
            del sys.modules[name]


def write(text: str, name: str = "app.py") -> str:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return name


def test_a_file_a_module_and_one_of_several() -> None:
    write(APP)
    assert load_app("app.py").name == load_app("./app.py").name == load_app("app").name == "mine"
    write(APP + 'other = trimtab.App("other")\nagain = other\n', "pkg/two.py")
    assert load_app("pkg/two.py:other").name == load_app("pkg.two:other").name == "other"


def test_a_file_may_be_called_as_a_library_is_and_imports_what_stands_beside_it() -> None:
    write('NAME = "beside"\n', "deep/helper.py")
    write("import trimtab, json\nfrom helper import NAME\napp = trimtab.App(NAME)\n", "deep/json.py")
    assert load_app("deep/json.py").name == "beside"


def test_bundled_apps_are_found_by_their_name() -> None:
    assert "curl-me-that" in bundled()
    assert load_app("curl-me-that").name == "curl-me-that"
    for name in bundled():
        assert load_app(name).name in (name, f"{name}-controller")  # as Kubernetes calls its own


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1\n", r'^app.py has no app in it: make one, app = trimtab.App\("name"\)$'),
        (APP + 'b = trimtab.App("b")\n', r"^app.py has several apps, app, b: say which, such as app.py:app$"),
        ("\n1 / 0\n", r"^cannot import app.py: app.py, line 2: ZeroDivisionError: division by zero \[1 / 0\]$"),
        ("a = = b\n", r"^cannot import app.py: app.py, line 1: SyntaxError: invalid syntax.* \[a = = b\]$"),
        ("import nothing_such\n", r"app.py, line 1: ModuleNotFoundError: No module named 'nothing_such'"),
        ("import sys\nsys.exit(3)\n", r"app.py, line 2: it leaves the program while it is imported: put what it runs"),
        (
            APP + "@app.controller(str)\ndef f(obj, ctx): ...\n",
            r"^cannot import app.py: app.py, line 3: controller f: .* is no kind: .* \[@app.controller\(str\)\]$",
        ),
        ("import json\njson.loads('{')\n", r"app.py, line 2: JSONDecodeError: .* \[json.loads\('\{'\)\]$"),
    ],
    ids=["none", "two", "raises", "syntax", "import", "exit", "declaration", "in a library"],
)
def test_what_is_wrong_in_a_file_is_shown_at_its_line(text: str, said: str) -> None:
    with pytest.raises(AppError, match=said) as caught:
        load_app(write(text))
    assert "\n" not in str(caught.value)


def test_what_is_wrong_in_a_module_is_shown_at_its_line() -> None:
    write("from inner import x\n", "outer.py")
    write("\n\nx = missing\n", "inner.py")
    with pytest.raises(AppError, match=r"^cannot import outer: inner.py, line 3: NameError: .* \[x = missing\]$"):
        load_app("outer")


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("nope.py", r"^there is no file nope.py$"),
        ("nope/app", r"^there is no file nope/app$"),
        (
            "nope",
            r"^there is no app 'nope': it is no file, no module, and none of those that come with Trimtab: .*curl-",
        ),
        ("no such thing", r"^there is no app 'no such thing'"),
        ("app.py:nope", r"^app.py: nope is not in it; there is app$"),
        ("app.py:trimtab", r"^app.py: trimtab is no trimtab.App; there is app$"),
        ("./", r" is a folder: name a file in it$"),
    ],
)
def test_words_that_mean_no_app(word: str, said: str) -> None:
    write(APP)
    with pytest.raises(AppError, match=said):
        load_app(word)
