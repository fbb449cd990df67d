"""ConfigMaps and Secrets: their keys, how much they hold, what each type of Secret needs, and what is immutable."""

from __future__ import annotations

import base64
from typing import Any, Final, TypeAlias, cast

import msgspec

from trimtab.apiserver import causes, gojson
from trimtab.apiserver.builtin import texts
from trimtab.apiserver.causes import Cause

Json: TypeAlias = dict[str, Any]

_MOST_DATA: Final = 1 << 20
_NEEDED: Final = {
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
}
_JSON: Final = {
    "kubernetes.io/dockercfg": ".dockercfg",
    "kubernetes.io/dockerconfigjson": ".dockerconfigjson",
}
_GO_TYPES: Final = {list: "array", str: "string", bool: "bool", int: "number", float: "number"}
_ACCOUNT: Final = "kubernetes.io/service-account.name"


def check_config_map(obj: Json) -> list[Cause]:
    """What is wrong with a ConfigMap."""
    texts_, blobs = (cast("dict[str, str]", obj.get(field) or {}) for field in ("data", "binaryData"))
    found = _check_keys(texts_, "data")
    why = "duplicate of key present in binaryData"
    found += [causes.invalid(f"data[{key}]", key, why) for key in texts_ if key in blobs]
    found += _check_keys(blobs, "binaryData")
    size = sum(len(text.encode()) for text in texts_.values()) + sum(map(_size, blobs.values()))
    return found + _check_size(size, "")


def check_config_map_change(new: Json, old: Json) -> list[Cause]:
    """What of a ConfigMap cannot change."""
    return _check_immutable(new, old, "data", "binaryData")


def check_secret(obj: Json) -> list[Cause]:
    """What is wrong with a Secret."""
    data = cast("dict[str, str]", obj.get("data") or {})
    found = _check_keys(data, "data") + _check_size(sum(map(_size, data.values())), "data")
    kind = obj.get("type", "")
    found += [causes.required(f"data[{key}]") for key in _NEEDED.get(kind, ()) if key not in data]
    if (key := _JSON.get(kind)) is not None and key in data:
        found += _check_json(data[key], f"data[{key}]")
    if kind == "kubernetes.io/basic-auth" and "username" not in data and "password" not in data:
        found += [causes.required(f"data[{key}]") for key in ("username", "password")]
    if kind == "kubernetes.io/service-account-token":
        annotations = cast("dict[str, str]", obj["metadata"].get("annotations") or {})
        if not annotations.get(_ACCOUNT):
            found.append(causes.required(f"metadata.annotations[{_ACCOUNT}]"))
    return found


def _check_json(coded: str, field: str) -> list[Cause]:
    """Whether what is for a registry is an object in JSON; nothing of it is shown."""
    content = base64.b64decode(coded)
    try:
        msgspec.json.decode(content, type=dict[str, Any] | None)
    except msgspec.ValidationError:
        why = f"json: cannot unmarshal {_go_type(content)} into Go value of type map[string]interface {{}}"
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        why = gojson.fault(content)
    else:
        return []
    return [causes.invalid(field, "<secret contents redacted>", why)]


def _go_type(content: bytes) -> str:
    value: object = msgspec.json.decode(content)
    return next(name for kind, name in _GO_TYPES.items() if isinstance(value, kind))


def check_secret_change(new: Json, old: Json) -> list[Cause]:
    """What of a Secret cannot change."""
    found: list[Cause] = []
    if new.get("type") != old.get("type"):
        found.append(causes.invalid("type", new.get("type"), texts.IMMUTABLE))
    return found + _check_immutable(new, old, "data")


def take_texts(obj: Json) -> None:
    """Put what a Secret was given as text among its data."""
    given = cast("dict[str, str]", obj.pop("stringData", None) or {})
    if given:
        coded = {key: base64.b64encode(text.encode()).decode() for key, text in given.items()}
        obj["data"] = {**(obj.get("data") or {}), **coded}


def _check_keys(held: dict[str, str], field: str) -> list[Cause]:
    return [causes.invalid(f"{field}[{key}]", key, why) for key in held for why in texts.config_key(key)]


def _check_size(size: int, field: str) -> list[Cause]:
    if size <= _MOST_DATA:
        return []
    return [causes.too_long(field or "[]", f"may not be more than {_MOST_DATA} bytes")]


def _size(coded: str) -> int:
    return len(coded) * 3 // 4 - coded[-2:].count("=")


def _check_immutable(new: Json, old: Json, *fields: str) -> list[Cause]:
    if not old.get("immutable"):
        return []
    why = "field is immutable when `immutable` is set"
    found = [] if new.get("immutable") else [causes.forbidden("immutable", why)]
    return found + [
        causes.forbidden(field, why) for field in fields if (new.get(field) or {}) != (old.get(field) or {})
    ]
