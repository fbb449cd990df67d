"""Patches of every kind, and who owns which field: pure functions on JSON values. No requests, no storage, no kinds.

```
jsonpatch.py, mergepatch.py, strategic.py     an object and a patch to a new object
serverside.py     server-side apply, and what other writes do to managedFields
  ownership.py    conflicts, fields taken over, fields let go
  merging.py      two objects made one, fields taken out of one
  typedsets.py    which fields an object sets, which differ between two
  checking.py     whether an object fits its schema
  owners.py       managedFields, read and written
  fieldsets.py    sets of fields, as FieldsV1 writes them
```

Nothing changes what it was given; results share parts with it.
"""

from trimtab.apiserver.patching.jsonpatch import json_patch
from trimtab.apiserver.patching.mergepatch import merge_patch
from trimtab.apiserver.patching.resets import resets_of
from trimtab.apiserver.patching.serverside import ApplyConflict, apply, keep_times, record_update
from trimtab.apiserver.patching.strategic import strategic_merge

__all__ = [
    "ApplyConflict",
    "apply",
    "json_patch",
    "keep_times",
    "merge_patch",
    "record_update",
    "resets_of",
    "strategic_merge",
]
