"""Objects of a custom kind in another of its versions: by their apiVersion alone, or by a webhook, which is asked here.

What a webhook may do is little: all of the metadata but labels and annotations stays as it was.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias, cast

from trimtab.apiserver import causes, metadata, statuses
from trimtab.apiserver.custom.definition import Definition
from trimtab.apiserver.custom.equality import part
from trimtab.apiserver.patching.gotext import go_type

Json: TypeAlias = dict[str, Any]
Convert: TypeAlias = Callable[[Definition, str, list[Json]], Awaitable[list[Any]]]
"""Asks the webhook of a definition for objects in an API version. Raises ConversionFailed."""


class ConversionFailed(Exception):
    """A webhook did not answer, or not as it has to."""


class _BadMetadata(Exception):
    """What a webhook made of the metadata is none."""


class Unconverted(statuses.Refused):
    """There is no such object in this version. As in Kubernetes, the words are all that is told."""

    def __init__(self, why: str) -> None:
        super().__init__("InternalError", why)

    def body(self) -> Json:
        """The Status, in which there is no reason."""
        return {key: value for key, value in super().body().items() if key != "reason"}


async def converted(definition: Definition, objects: list[Json], api_version: str, convert: Convert) -> list[Json]:
    """The objects in a version; those that are in it already are left alone. Raises Unconverted."""
    others = [obj for obj in objects if obj["apiVersion"] != api_version]
    if not others:
        return objects
    for obj in others:
        group, _, version = obj["apiVersion"].rpartition("/")
        if group != definition.group or version not in definition.versions:
            raise Unconverted(f"request to convert CR from an invalid group/version: {obj['apiVersion']}")
    if not definition.asks:
        return [{**obj, "apiVersion": api_version} for obj in objects]
    what = f"conversion webhook for {others[0]['apiVersion']}, Kind={definition.kind}"
    try:
        answers = await convert(definition, api_version, others)
    except ConversionFailed as error:
        raise Unconverted(f"{what} failed: {error}") from error
    if len(answers) != len(others):
        raise Unconverted(f"{what} returned {len(answers)} objects, expected {len(others)}")
    made = iter(answers)
    return [
        obj if obj["apiVersion"] == api_version else _checked(what, obj, next(made), api_version) for obj in objects
    ]


def _checked(what: str, obj: Json, answer: Any, api_version: str) -> Json:
    if not isinstance(answer, dict):
        raise Unconverted(f"{what} returned invalid object at index 0: it is no object")
    made = cast("Json", answer)
    given, kind = made.get("apiVersion", ""), made.get("kind", "")
    for name, expected, got in (("groupVersion", api_version, given), ("kind", obj["kind"], kind)):
        if expected != got:
            said = f"invalid {name} (expected {expected}, received {got})"
            raise Unconverted(f"{what} returned invalid object at index 0: {said}")
    before, after = part(obj, "metadata"), part(made, "metadata")
    for name in ("name", "namespace", "uid"):
        expected, got = before.get(name) or "", after.get(name) or ""
        if expected != got:
            called = "UID" if name == "uid" else name
            raise Unconverted(f"{what} returned invalid object: must have the same {called}: {expected} != {got}")
    try:
        return {**made, "metadata": _metadata(before, made)}
    except _BadMetadata as error:
        raise Unconverted(f"{what} returned invalid metadata: {error}") from error


def _metadata(before: Json, made: Json) -> Json:
    """The metadata as it was, with the labels and annotations that the webhook wants."""
    if "metadata" not in made:
        raise _BadMetadata("missing metadata in converted object")
    after: Any = made["metadata"]
    if not isinstance(after, dict):
        raise _BadMetadata(f"invalid metadata of type {go_type(after)} in converted object")
    kept = {name: value for name, value in before.items() if name not in ("labels", "annotations")}
    for name in ("labels", "annotations"):
        wanted = cast("Json", after).get(name)
        if wanted is None:
            continue
        if not isinstance(wanted, dict):
            raise _BadMetadata(f"invalid metadata.{name} of type {go_type(wanted)} in converted object")
        for key, value in cast("Json", wanted).items():
            if not isinstance(value, str):
                said = f"metadata.{name}[{key}] must be a string, but is {go_type(value)} in converted object"
                raise _BadMetadata(said)
        if wanted != before.get(name):
            _check(name, cast("dict[str, str]", wanted))
        kept[name] = wanted
    return kept


def _check(name: str, wanted: dict[str, str]) -> None:
    found = metadata.check_labels(wanted) if name == "labels" else metadata.check_annotations(wanted)
    if found:
        # Kubernetes calls the field so when a webhook sets it.
        field = "metadata.labels" if name == "labels" else "metadata.annotation"
        said = [str(causes.Cause(each.reason, each.message, field)) for each in found]
        raise _BadMetadata(said[0] if len(said) == 1 else f"[{', '.join(said)}]")
