"""The scripts, by area."""

from tests.parity.playing import Script
from tests.parity.scripts import deletes, errors, forms, lists, updates, watches, writes

AREAS: dict[str, list[Script]] = {
    "errors": errors.SCRIPTS,
    "writes": writes.SCRIPTS,
    "updates": updates.SCRIPTS,
    "deletes": deletes.SCRIPTS,
    "lists": lists.SCRIPTS,
    "watches": watches.SCRIPTS,
    "forms": forms.SCRIPTS,
}
