"""From an apiVersion and a kind to the class for it."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from trimtab.kube._index import MODULES
from trimtab.kube.dynamic import Dynamic, dynamic
from trimtab.kube.objects import Object


def class_for(api_version: str, kind: str) -> type[Object | Dynamic]:
    """The typed class of a built-in kind, whose module is imported only now; else a dynamic one."""
    module = MODULES.get(f"{api_version}/{kind}")
    if module is None:
        return dynamic(api_version, kind)
    return cast("type[Object]", getattr(import_module(f"trimtab.kube.{module}"), kind))
