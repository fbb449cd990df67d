"""`make generate`: writes every file in the tree that says that it is generated, out of a real API server."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

import facts
import gotypes
import kinds
import roles
import standing
from serve import ALL_APIS, PLAIN, api_server, read

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src/trimtab"
KUBE = PACKAGE / "kube"
FACTS = PACKAGE / "apiserver/facts/kubernetes.jsonl"
ROLES = PACKAGE / "apiserver/access/roles.jsonl"
STANDING = PACKAGE / "apiserver/standing.jsonl"
FIELDS = PACKAGE / "apiserver/facts/fields.jsonl"

# msgspec looks at a class's hints only when it is first used.
PROBE = """
import sys
from importlib import import_module
from msgspec import Struct
from msgspec.json import Decoder
for name in sys.argv[1:]:
    for cls in vars(import_module(name)).values():
        if isinstance(cls, type) and issubclass(cls, Struct):
            Decoder(cls)
"""


def main() -> None:
    """Ask the servers, make the files, and write them once they prove to work; with `--check`, only compare."""
    with api_server(*ALL_APIS) as api, api_server(*PLAIN) as by_default:
        version = api.get("/version")["gitVersion"]
        texts = kinds.modules(*read(api), version)
        fields = gotypes.text(version)
        told = facts.text(api, by_default, gotypes.pointers(fields))
        data = {FACTS: told, FIELDS: fields, ROLES: roles.text(by_default), STANDING: standing.text(by_default)}
    texts = {name: formatted(text, KUBE / name) for name, text in texts.items()}
    changes = changed(texts, KUBE)
    stale = [path for path, told in data.items() if not path.exists() or path.read_text() != told]
    if (changes or stale) and sys.argv[1:] == ["--check"]:
        wrong = [*map(str, changes), *(path.name for path in stale)]
        raise SystemExit(f"not what make generate writes: {', '.join(wrong)}")
    if changes:
        probe(texts)
        write(texts, KUBE, changes)
    for path in stale:
        path.write_text(data[path])
    print(f"{len(texts)} files of Kubernetes {version} in {KUBE.relative_to(ROOT)}, {len(changes)} of them changed")
    for path, told in data.items():
        print(f"{path.relative_to(ROOT)}: {len(told):,} characters, {'changed' if path in stale else 'as it was'}")


def formatted(text: str, path: Path) -> str:
    """The text as ruff has it at that path."""
    for command in (["check", "--fix-only", "--quiet", "--select=I,RUF022"], ["format"]):
        ruff = [Path(sys.executable).with_name("ruff"), *command, "--stdin-filename", path, "-"]
        text = subprocess.run(ruff, check=True, input=text, stdout=subprocess.PIPE, text=True, cwd=ROOT).stdout
    return text


def changed(texts: dict[str, str], kube: Path) -> list[Path]:
    """The files below `kube` that are not as they should be, those among them that should not be there."""
    there = {path.relative_to(kube) for path in kube.glob("*/v*.py")}
    wrong = [
        Path(name) for name, text in texts.items() if not (kube / name).exists() or (kube / name).read_text() != text
    ]
    return sorted([*wrong, *(there - {Path(name) for name in texts})])


def probe(texts: dict[str, str]) -> None:
    """Use every class in a copy of the package, so that a mistake here breaks nobody's tree."""
    with TemporaryDirectory() as folder:
        copy = Path(folder) / PACKAGE.name
        shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
        write(texts, copy / KUBE.name, map(Path, texts))
        names = [f"trimtab.kube.{name[:-3].replace('/', '.')}" for name in texts if "/v" in name]
        subprocess.run([sys.executable, "-c", PROBE, *names], check=True, env={**os.environ, "PYTHONPATH": folder})


def write(texts: dict[str, str], kube: Path, names: Iterable[Path]) -> None:
    """Write these files, and remove those of them that are no longer made."""
    for name in names:
        text = texts.get(str(name))
        if text is None:
            (kube / name).unlink()
        else:
            (kube / name).parent.mkdir(exist_ok=True)
            (kube / name).write_text(text)


if __name__ == "__main__":
    main()
