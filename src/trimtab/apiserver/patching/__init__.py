"""Patches of every kind, and who owns which field: pure functions on JSON values. No requests, no storage, no kinds.

```
jsonpatch.py, mergepatch.py, strategic.py     an object and a patch to a new object
serverside.py     server-side apply, and what other writes do to managedFields
  ownership.py    conflicts, fields taken over, fields let go
  merging.py      two objects made one, fields taken out of one
  typedsets.py    which fields an object sets, which differ between two
  checking.py     whether an object fits its schema
  mutating.py       a part merged into an object, which nobody comes to own
  owners.py       managedFields, read and written
  scale.py        who owns replicas, between an object and its scale
  resets.py       what an endpoint puts back whatever was sent
  fieldsets.py    sets of fields, as FieldsV1 writes them
```

Nothing changes what it was given; results share parts with it.
"""

from trimtab.apiserver.patching.checking import fits_update
from trimtab.apiserver.patching.jsonpatch import json_patch, unknown_fields
from trimtab.apiserver.patching.mergepatch import merge_patch
from trimtab.apiserver.patching.mutating import merged
from trimtab.apiserver.patching.ownership import Versions
from trimtab.apiserver.patching.patchtext import patched_text
from trimtab.apiserver.patching.resets import resets_of
from trimtab.apiserver.patching.scale import Places, place_of, to_parent, to_scale
from trimtab.apiserver.patching.serverside import ApplyConflict, apply, keep_times, record_update
from trimtab.apiserver.patching.strategic import strategic_merge

__all__ = [
    "ApplyConflict",
    "Places",
    "Versions",
    "apply",
    "fits_update",
    "json_patch",
    "keep_times",
    "merge_patch",
    "merged",
    "patched_text",
    "place_of",
    "record_update",
    "resets_of",
    "strategic_merge",
    "to_parent",
    "to_scale",
    "unknown_fields",
]
