"""What is wrong with APIServices, which say who serves a group-version."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from trimtab.apiserver import causes, names
from trimtab.apiserver.builtin import texts
from trimtab.apiserver.causes import Cause

Json: TypeAlias = dict[str, Any]

_HIGHEST_GROUP: Final = 20000
_HIGHEST_VERSION: Final = 1000
_STATES: Final = ("True", "False", "Unknown")


def check_service(obj: Json) -> list[Cause]:
    """What is wrong with an APIService."""
    spec, name = texts.spec_of(obj), obj["metadata"].get("name", "")
    group, version = spec.get("group", ""), spec.get("version", "")
    found: list[Cause] = []
    if name != f"{version}.{group}":
        why = f'must be `spec.version+"."+spec.group`: {causes.quoted(f"{version}.{group}")}'
        found.append(causes.invalid("metadata.name", name, why))
    if not group:
        if version != "v1":
            why = "only v1 may have an empty group and it better be legacy kube"
            found.append(causes.required("spec.group", why))
    else:
        found += texts.follows("spec.group", group, names.subdomain)
    found += texts.follows("spec.version", version, texts.label_1035)
    for field, most in (("groupPriorityMinimum", _HIGHEST_GROUP), ("versionPriority", _HIGHEST_VERSION)):
        number = spec.get(field, 0)
        if not 0 < number <= most:
            found.append(causes.invalid(f"spec.{field}", number, f"must be positive and less than {most}"))
    return found + _check_way(spec)


def _check_way(spec: Json) -> list[Cause]:
    service, blind = spec.get("service"), bool(spec.get("insecureSkipTLSVerify"))
    if service is None:
        found: list[Cause] = []
        if spec.get("caBundle"):
            found.append(
                causes.invalid(
                    "spec.caBundle", f"{len(spec['caBundle'])} bytes", "local APIServices may not have a caBundle"
                )
            )
        if blind:
            why = "local APIServices may not have insecureSkipTLSVerify"
            found.append(causes.invalid("spec.insecureSkipTLSVerify", value=True, why=why))
        return found
    found = texts.needed(service, "spec.service", "namespace", "name")
    port = service.get("port", 443)
    if texts.port("", port):
        why = f"port is not valid: {texts.between(1, 65535)}"
        found.append(causes.invalid("spec.service.port", port, why))
    if blind and spec.get("caBundle"):
        why = "may not be true if caBundle is present"
        found.append(causes.invalid("spec.insecureSkipTLSVerify", value=True, why=why))
    return found


def check_service_status(new: Json, _old: Json) -> list[Cause]:
    """What is wrong with the status of an APIService."""
    found: list[Cause] = []
    for where, each in texts.numbered(texts.part(new, "status"), "status", "conditions"):
        found += texts.one_of_needed(f"{where}.status", each.get("status", ""), _STATES)
    return found
