"""Objects from files: `trimtab dev --load FILE`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, cast

from trimtab.client import ApiError, Client
from trimtab.client.discovery import UnknownKind
from trimtab.errors import TrimtabError, one_line
from trimtab.kube.dynamic import Dynamic, dynamic

_MANAGER: Final = "trimtab-dev"
_LARGEST: Final = 32 << 20
_SUFFIXES: Final = frozenset({".yaml", ".yml", ".json"})
_DEFINED: Final = "CustomResourceDefinition"
_SPACE: Final = "Namespace"
_FIRST: Final = (_DEFINED, _SPACE, "ServiceAccount")


class ManifestError(TrimtabError):
    """A file cannot be loaded."""


def read_manifests(path: Path) -> list[dict[str, Any]]:
    """The objects in a file, in all files of a folder, or from standard input (`-`); what others need comes first."""
    found: list[dict[str, Any]] = []
    for file in _files(path):
        found += _objects(file)
    order = {kind: place for place, kind in enumerate(_FIRST)}
    return sorted(found, key=lambda obj: order.get(obj["kind"], len(order)))


async def apply_manifests(client: Client, objects: list[dict[str, Any]]) -> int:
    """Apply them, in this order. How many there are.

    A kind that is defined among them is waited for, and so is the service account of a namespace: Pods need it.
    """
    from trimtab.kube.core.v1 import ServiceAccount
    from trimtab.local.waiting import until

    for raw in objects:
        kind = dynamic(raw["apiVersion"], raw["kind"])
        obj: Dynamic = kind(raw)
        try:
            made = await client.apply(obj, field_manager=_MANAGER, force=True)
            if raw["kind"] == _DEFINED:
                await until(client, kind, made.metadata.name, _is_established)
            elif raw["kind"] == _SPACE:
                await until(client, ServiceAccount, "default", namespace=made.metadata.name)
        except (ApiError, UnknownKind) as error:
            raise ManifestError(f"cannot load {raw['kind']} {raw['metadata'].get('name', '')}: {error}") from error
    return len(objects)


def _is_established(definition: Dynamic) -> bool:
    conditions: list[dict[str, Any]] = definition.get("status", "conditions", default=[])
    return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)


def _files(path: Path) -> list[Path]:
    if str(path) == "-" or path.is_file():
        return [path]
    if not path.is_dir():
        raise ManifestError(f"there is no file {path} to load")
    found = sorted(each for each in path.iterdir() if each.suffix in _SUFFIXES)
    if not found:
        raise ManifestError(f"{path} has no file in it to load: none ends in .yaml, .yml or .json")
    return found


def _objects(file: Path) -> Iterator[dict[str, Any]]:
    import yaml

    try:
        text = sys.stdin.buffer.read(_LARGEST + 1) if str(file) == "-" else file.read_bytes()
    except OSError as error:
        raise ManifestError(f"cannot read {file}: {error.strerror}") from error
    if len(text) > _LARGEST:
        raise ManifestError(f"{file} is larger than {_LARGEST >> 20} MiB")
    try:
        documents: list[Any] = list(yaml.safe_load_all(text))  # JSON is YAML
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise ManifestError(f"{file} is neither YAML nor JSON: {one_line(str(error))}") from error
    for document in documents:
        if document is not None:
            yield from _checked(file, document)


def _checked(file: Path, document: Any) -> Iterator[dict[str, Any]]:
    if not isinstance(document, dict):
        raise ManifestError(f"{file} has something in it that is no object: {one_line(repr(document)[:60])}")
    raw = cast("dict[str, Any]", document)
    if isinstance(raw.get("items"), list) and str(raw.get("kind", "")).endswith("List"):
        for each in raw["items"]:
            yield from _checked(file, each)
        return
    if not (isinstance(raw.get("kind"), str) and isinstance(raw.get("apiVersion"), str)):
        raise ManifestError(f"{file} has an object in it without apiVersion or kind")
    if not isinstance(raw.get("metadata"), dict) or not raw["metadata"].get("name"):
        raise ManifestError(f"{file} has a {raw['kind']} in it without a name")
    yield raw
