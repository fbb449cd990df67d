"""The station of lists: many objects as of one revision, in pages where that is asked for."""

from __future__ import annotations

import base64
import posixpath
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from trimtab.apiserver import causes, gojson, options, statuses
from trimtab.apiserver.causes import Cause, quoted
from trimtab.apiserver.options import Query
from trimtab.apiserver.routing import Target
from trimtab.apiserver.selecting import Selection, selection
from trimtab.apiserver.storage import Compacted, Future, Record, Store

_TOKEN: Final = "meta.k8s.io/v1"  # noqa: S105 - the version of continue tokens
_TOO_OLD: Final = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)
_LATEST: Final = -1  # in a token: go on with what there is by then


@dataclass(frozen=True, slots=True)
class ListOptions:
    """What of a collection is wanted."""

    selection: Selection
    version: str = ""
    match: str = ""
    limit: int = 0
    token: str = ""


@dataclass(frozen=True, slots=True)
class Listed:
    """What is to be answered."""

    revision: int
    records: list[Record]
    token: str = ""
    remaining: int | None = None


class _Token(msgspec.Struct):
    v: str
    rv: int
    start: str


def list_options(target: Target, query: Query) -> ListOptions:
    """Read them."""
    first = options.first
    version, match, token = first(query, "resourceVersion"), first(query, "resourceVersionMatch"), ""
    limit = options.number(query, "limit") or 0
    token = first(query, "continue")
    found = _check_match(match, version, token)
    if "sendInitialEvents" in query:
        why = "sendInitialEvents is forbidden for list"
        found.append(causes.forbidden("sendInitialEvents", why))
    if found:
        raise options.invalid_options("ListOptions", found)
    selected = selection(target.kind, first(query, "labelSelector"), first(query, "fieldSelector"))
    return ListOptions(selected, version, match, max(limit, 0), token)


def _check_match(match: str, version: str, token: str) -> list[Cause]:
    field = "resourceVersionMatch"
    found: list[Cause] = []
    if not match:
        return found
    if not version:
        why = "resourceVersionMatch is forbidden unless resourceVersion is provided"
        found.append(causes.forbidden(field, why))
    if token:
        found.append(causes.forbidden(field, "resourceVersionMatch is forbidden when continue is provided"))
    if match not in ("Exact", "NotOlderThan"):
        found.append(causes.unsupported(field, match, ("Exact", "NotOlderThan", "")))
    if match == "Exact" and version == "0":
        found.append(causes.forbidden(field, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'))
    return found


def revision_of(version: str, store: Store, prefix: str = "") -> int:
    """A resource version as a revision that is there; 0 for none in particular."""
    revision = parse_version(version, prefix)
    if revision > store.revision:
        raise statuses.version_too_large(revision, store.revision)
    return revision


def parse_version(version: str, prefix: str = "") -> int:
    """A resource version as a number, 0 for none; `prefix` is how a refusal begins."""
    if not version:
        return 0
    digits = version.isascii() and version.isdigit()
    if not digits or len(version) > 19:
        why = "value out of range" if digits else "invalid syntax"
        field = causes.invalid("resourceVersion", version, f"strconv.ParseUint: parsing {quoted(version)}: {why}")
        raise statuses.bad_request(f"{prefix}{field}")
    return int(version)


def list_objects(store: Store, target: Target, wanted: ListOptions, as_of: int = 0) -> Listed:
    """The objects that are wanted, as of a revision where another is not asked for."""
    bucket, prefix, start = target.kind.bucket, target.prefix, ""
    limit, revision = wanted.limit, as_of or store.revision
    if wanted.token:
        if wanted.version not in ("", "0"):
            raise statuses.bad_request("specifying resource version is not allowed when using continue")
        token = _read_token(wanted.token)
        start = prefix + token.start
        revision = revision if token.rv == _LATEST else token.rv
    else:
        asked = revision_of(wanted.version, store, "invalid resource version: ")
        if wanted.match == "Exact" or (asked and limit and not wanted.match):
            revision = asked
        elif wanted.version == "0" and not wanted.match:
            limit = 0  # as it is answered from a cache, whole
    try:
        found = store.scan(bucket, prefix, start, revision)
        return _page(store, target, wanted.selection, found, revision, limit)
    except Compacted as error:
        raise _expired(wanted, start.removeprefix(prefix)) from error
    except Future as error:
        raise statuses.version_too_large(error.revision, error.current) from error


def _page(
    store: Store, target: Target, wanted: Selection, found: Iterator[Record], revision: int, limit: int
) -> Listed:
    chosen = found if wanted.is_everything else (each for each in found if wanted.has(each.key, each.data))
    if not limit:
        return Listed(revision, list(chosen))
    records = [record for record, _ in zip(chosen, range(limit), strict=False)]
    if len(records) < limit:
        return Listed(revision, records)
    after = records[-1].key + "\0"
    left = store.count(target.kind.bucket, target.prefix, after, revision)
    if not left:
        return Listed(revision, records)
    token = _write_token(revision, after.removeprefix(target.prefix))
    return Listed(revision, records, token, left if wanted.is_everything else None)


def _expired(wanted: ListOptions, start: str) -> statuses.Refused:
    if wanted.token:
        return statuses.expired(_TOO_OLD, _write_token(_LATEST, start))
    return statuses.expired("The resourceVersion for the provided list is too old.")


def _write_token(revision: int, start: str) -> str:
    body = msgspec.json.encode({"v": _TOKEN, "rv": revision, "start": f"/{start}"})
    return base64.urlsafe_b64encode(body).rstrip(b"=").decode()


def _read_token(text: str) -> _Token:
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_"
    wrong = next((place for place, character in enumerate(text) if character not in digits), -1)
    if wrong >= 0 or len(text) % 4 == 1:
        raise _bad_token(f"illegal base64 data at input byte {wrong if wrong >= 0 else len(text) - 1}")
    body = base64.urlsafe_b64decode(text.encode() + b"=" * (-len(text) % 4))
    try:
        token = msgspec.json.decode(body, type=_Token)
    except (ValueError, msgspec.DecodeError) as error:
        raise _bad_token(gojson.fault(body) or str(error)) from error
    if token.v != _TOKEN:
        raise _bad_token(f"server does not recognize this encoded version {token.v}")
    if token.rv == 0 or token.rv < _LATEST:
        raise _bad_token(f"incorrect encoded start resourceVersion (version {_TOKEN})")
    if not token.start:
        raise _bad_token(f"encoded start key empty (version {_TOKEN})")
    key = token.start if token.start.startswith("/") else f"/{token.start}"
    if posixpath.normpath(key) != key or key.startswith("//"):  # nobody climbs out of the collection
        raise _bad_token(token.start)
    return _Token(token.v, token.rv, key[1:])


def _bad_token(why: str) -> statuses.Refused:
    return statuses.bad_request(f"invalid continue token: continue key is not valid: {why}")


def list_metadata(listed: Listed) -> dict[str, Any]:
    """The metadata of the list."""
    made: dict[str, Any] = {"resourceVersion": str(listed.revision)}
    if listed.token:
        made["continue"] = listed.token
    if listed.remaining is not None:
        made["remainingItemCount"] = listed.remaining
    return made
