"""What is wrong with the volumes of a Pod."""

from __future__ import annotations

from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver import causes, names
from trimtab.apiserver.builtin.containers import check_local
from trimtab.apiserver.builtin.sources import check_source
from trimtab.apiserver.causes import Cause
from trimtab.kube.quantity import Quantity

Json: TypeAlias = dict[str, Any]

_HIGHEST_MODE: Final = 0o777
_NO_MODE: Final = "must be a number between 0 and 0777 (octal), both inclusive"


def check_volumes(volumes: list[Json], path: str) -> list[Cause]:
    """What is wrong with the volumes of a Pod's spec."""
    found: list[Cause] = []
    taken: set[str] = set()
    for index, each in enumerate(volumes):
        where, name = f"{path}[{index}]", each.get("name", "")
        if not name:
            found.append(causes.required(f"{where}.name"))
        else:
            found += [causes.invalid(f"{where}.name", name, why) for why in names.label(name)]
            if name in taken:
                found.append(causes.duplicate(f"{where}.name", name))
            taken.add(name)
        given = sorted((source for source in each if source != "name"), key=_rank)
        why = "may not specify more than 1 volume type"
        found += [causes.forbidden(f"{where}.{source}", why) for source in given[1:]]
        if given:
            found += _check_source(given[0], each[given[0]], f"{where}.{given[0]}")
    return found


def _rank(source: str) -> tuple[bool, str]:
    return (source != "emptyDir", source)


def _check_source(name: str, source: Json, where: str) -> list[Cause]:
    if name == "emptyDir":
        limit = source.get("sizeLimit")
        if limit is not None and Quantity(limit) < Quantity(0):
            return [causes.forbidden(f"{where}.sizeLimit", "SizeLimit field must be a valid resource quantity")]
    elif name == "configMap":
        return _check_needed(source, where, "name") + _check_files(source, where)
    elif name == "secret":
        return _check_needed(source, where, "secretName") + _check_files(source, where)
    elif name == "persistentVolumeClaim":
        return _check_needed(source, where, "claimName")
    return check_source(name, source, where, lasting=False)


def _check_needed(source: Json, where: str, *fields: str) -> list[Cause]:
    return [causes.required(f"{where}.{name}") for name in fields if not source.get(name)]


def _check_files(source: Json, where: str) -> list[Cause]:
    found = _check_mode(source.get("defaultMode"), f"{where}.defaultMode")
    for index, each in enumerate(cast("list[Json]", source.get("items") or [])):
        item = f"{where}.items[{index}]"
        found += _check_needed(each, item, "key")
        if not each.get("path"):
            found.append(causes.required(f"{item}.path"))
        else:
            found += check_local(each["path"], f"{item}.path")
        found += _check_mode(each.get("mode"), f"{item}.mode")
    return found


def _check_mode(mode: int | None, field: str) -> list[Cause]:
    if mode is None or 0 <= mode <= _HIGHEST_MODE:
        return []
    return [causes.invalid(field, mode, _NO_MODE)]
