"""Kubernetes controllers in Python: write one function that makes the world match an object."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trimtab.controller import App as App
    from trimtab.controller import Context as Context
    from trimtab.controller import Finalizer as Finalizer
    from trimtab.controller import Requeue as Requeue
    from trimtab.controller import Result as Result
    from trimtab.controller import Terminal as Terminal
    from trimtab.controller import annotated as annotated
    from trimtab.controller import annotation_changed as annotation_changed
    from trimtab.controller import changed as changed
    from trimtab.controller import everyone as everyone
    from trimtab.controller import from_entry as from_entry
    from trimtab.controller import generation_changed as generation_changed
    from trimtab.controller import label_changed as label_changed
    from trimtab.controller import labelled as labelled
    from trimtab.controller import matching as matching
    from trimtab.controller import named_by as named_by
    from trimtab.controller import requeue as requeue
    from trimtab.controller import selected_by as selected_by
    from trimtab.controller import terminal as terminal
    from trimtab.kube.base import Struct as Struct

__version__ = "0.1.0.dev0"

_CONTROLLER = "trimtab.controller"
_HOMES = {
    "App": _CONTROLLER,
    "Context": _CONTROLLER,
    "Finalizer": _CONTROLLER,
    "Requeue": _CONTROLLER,
    "Result": _CONTROLLER,
    "Struct": "trimtab.kube.base",
    "Terminal": _CONTROLLER,
    "annotated": _CONTROLLER,
    "annotation_changed": _CONTROLLER,
    "changed": _CONTROLLER,
    "everyone": _CONTROLLER,
    "from_entry": _CONTROLLER,
    "generation_changed": _CONTROLLER,
    "label_changed": _CONTROLLER,
    "labelled": _CONTROLLER,
    "matching": _CONTROLLER,
    "named_by": _CONTROLLER,
    "requeue": _CONTROLLER,
    "selected_by": _CONTROLLER,
    "terminal": _CONTROLLER,
}
"""What users write with, by the folder it is imported from when it is asked for: `import trimtab` alone is light."""


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'trimtab' has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
