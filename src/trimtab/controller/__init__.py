"""A controller: an app's functions, and the loop that runs them.

What belongs here is which objects a function is called with, when, and what it may do. Remembering objects is the
cache's, the order of work the queue's, and being a process (leading, health, signals) the manager's.

The way of an event, one file a station: `routes` (a change becomes a key in the queue, as `predicates` and `mappings`
say) → `reconciling` (a worker takes the key; `finalizers`) → the user's function with its `context` → `reach` (what it
may see) and `writes` (what it changes: `applied`, `owning`, `status`). `app` and `declaration` are what people declare,
`running` puts it all together.
"""

from trimtab.controller.app import App
from trimtab.controller.context import Context, Missing, current_context
from trimtab.controller.declaration import Controller, DeclarationError, Finalizer
from trimtab.controller.mappings import everyone, from_entry, named_by, selected_by
from trimtab.controller.metrics import ControllerCollector
from trimtab.controller.options import Option, Options
from trimtab.controller.owning import OwnedByAnother
from trimtab.controller.predicates import (
    Predicate,
    annotated,
    annotation_changed,
    changed,
    generation_changed,
    label_changed,
    labelled,
    matching,
)
from trimtab.controller.reach import Undeclared
from trimtab.controller.reconciling import Interrupted, ReconcileTimeout
from trimtab.controller.results import Requeue, Result, Terminal, requeue, terminal
from trimtab.controller.running import Controllers
from trimtab.controller.sink import EventSink, NoEvents

__all__ = [
    "App",
    "Context",
    "Controller",
    "ControllerCollector",
    "Controllers",
    "DeclarationError",
    "EventSink",
    "Finalizer",
    "Interrupted",
    "Missing",
    "NoEvents",
    "Option",
    "Options",
    "OwnedByAnother",
    "Predicate",
    "ReconcileTimeout",
    "Requeue",
    "Result",
    "Terminal",
    "Undeclared",
    "annotated",
    "annotation_changed",
    "changed",
    "current_context",
    "everyone",
    "from_entry",
    "generation_changed",
    "label_changed",
    "labelled",
    "matching",
    "named_by",
    "requeue",
    "selected_by",
    "terminal",
]
