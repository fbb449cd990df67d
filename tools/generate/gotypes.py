"""What Kubernetes' own types say of their fields and no server tells: the number in protobuf, whether zero is left out,
whether the struct stands in place. Read from the Go modules of its API."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

MODULES = ("k8s.io/api", "k8s.io/apiextensions-apiserver", "k8s.io/apimachinery", "k8s.io/kube-aggregator")
PACKAGES = {
    "k8s.io/api": ("*/v*",),
    "k8s.io/apiextensions-apiserver": ("pkg/apis/apiextensions/v1",),
    "k8s.io/apimachinery": ("pkg/apis/meta/v1", "pkg/runtime"),
    "k8s.io/kube-aggregator": ("pkg/apis/apiregistration/v1",),
}
STRUCT = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
FIELD = re.compile(r"^\t(?:(\w+)\s+)?(\*?)(\S.*?)\s+`([^`]*)`", re.MULTILINE)
TAG = re.compile(r'(\w+):"([^"]*)"')


def text(kubernetes: str) -> str:
    """The file: each line is `[definition, [[number, name, flags], …]]`. The flags: `p` for a pointer, `o` for what is
    left out when it is empty, `z` when it is zero, `i` for a struct that stands in place, of which
    the name is that of its type."""
    version = "v0." + kubernetes.removeprefix("v1.")
    lines = [["generated", f"by make generate out of the modules of Kubernetes {kubernetes}: do not edit"]]
    for module in MODULES:
        root = source(module, version)
        for pattern in PACKAGES[module]:
            for folder in sorted(root.glob(pattern)):
                package = ".".join(("io.k8s", module.split("/")[1], *folder.relative_to(root).parts))
                lines += [[f"{package}.{name}", fields] for name, fields in structs(folder)]
    return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)


def pointers(text: str) -> frozenset[tuple[str, str]]:
    """Of what `text` returned, the definition and name of each field that is a pointer: nothing is not zero there."""
    lines = [json.loads(line) for line in text.splitlines()[1:]]
    return frozenset((definition, name) for definition, fields in lines for _, name, flags in fields if "p" in flags)


def source(module: str, version: str) -> Path:
    """Where the module is, fetched if need be."""
    command = ["go", "mod", "download", "-json", f"{module}@{version}"]
    return Path(json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)["Dir"])


def structs(folder: Path) -> Iterator[tuple[str, list[list[object]]]]:
    """The structs of a package that have a form in JSON."""
    for path in sorted(folder.glob("*.go")):
        if path.name.startswith("zz_generated") or path.name.endswith(("_test.go", ".pb.go")):
            continue
        for name, body in STRUCT.findall(path.read_text()):
            fields = [field for match in FIELD.findall(body) if (field := read(*match)) is not None]
            if fields:
                yield name, fields


def read(name: str, pointer: str, kind: str, tags: str) -> list[object] | None:
    """A field, or None where it has no form in JSON."""
    told = dict(TAG.findall(tags))
    if "json" not in told:
        return None
    called, *options = told["json"].split(",")
    if called == "-" or kind.endswith("TypeMeta") or kind.startswith("//"):
        return None
    numbered = told.get("protobuf", "").split(",")
    number = int(numbered[1]) if len(numbered) > 1 else 0
    flags = "p" * bool(pointer) + "o" * ("omitempty" in options) + "z" * ("omitzero" in options)
    if "inline" in options or not (called or name):
        return [number, kind, flags + "i"]
    return [number, called or name, flags]
