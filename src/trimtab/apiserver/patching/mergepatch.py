"""Merge patch (RFC 7386): what is null goes, objects merge, all else is replaced."""

from __future__ import annotations

from typing import Any

from trimtab.apiserver.patching.gotext import go_kind
from trimtab.apiserver.patching.refusals import not_too_deep
from trimtab.apiserver.patching.values import Json, is_list, is_map
from trimtab.apiserver.statuses import bad_request


@not_too_deep
def merge_patch(obj: Json, patch: Any) -> Json:
    """The object after the patch; Refused where the patch is no object."""
    if patch is None:
        raise bad_request("Invalid JSON Patch")
    if not is_map(patch):
        kind = go_kind(patch)
        raise bad_request(
            f"error decoding patch: json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"
        )
    return _merged(obj, patch)


def _merged(obj: Json, patch: Json) -> Json:
    merged = dict(obj)
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        elif is_map(before := merged.get(key)):
            # A list that replaces an object keeps its nulls, in kube-apiserver too.
            merged[key] = _merged(before, value) if is_map(value) else value
        else:
            merged[key] = without_nulls(value)
    return merged


def without_nulls(value: Any) -> Any:
    """A value that comes anew, without what is null in its objects; in lists null is a value."""
    if is_map(value):
        return {key: without_nulls(part) for key, part in value.items() if part is not None}
    if is_list(value):
        return [without_nulls(item) for item in value]
    return value
