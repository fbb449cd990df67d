"""What is wrong with Pods, with what their templates say, and with changes of Pods that are there."""

from __future__ import annotations

import re
from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver import causes, names
from trimtab.apiserver.builtin import held, texts
from trimtab.apiserver.builtin.affinity import check_affinity, check_spread
from trimtab.apiserver.builtin.containers import check_containers, check_id, check_profile
from trimtab.apiserver.builtin.selectors import check_labels
from trimtab.apiserver.builtin.volumes import check_volumes
from trimtab.apiserver.causes import Cause
from trimtab.kube.quantity import Quantity

Json: TypeAlias = dict[str, Any]

_COUNTED: Final = frozenset({"cpu", "memory"})
RESTARTS: Final = ("Always", "OnFailure", "Never")
_DNS: Final = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_LONGEST_LIFE: Final = 2**31 - 1
_SYSCTL: Final = re.compile(r"([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?")
_NO_SYSCTL: Final = (
    "must have at most 253 characters and match regex "
    r"^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$"
)
_MAY_CHANGE: Final = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def check_pod(obj: Json) -> list[Cause]:
    """What is wrong with a Pod."""
    spec = cast("Json", obj.get("spec") or {})
    return check_pod_spec(spec, "spec")


def check_new_pod(obj: Json) -> list[Cause]:
    """What is wrong with a Pod that is to be."""
    found = check_pod(obj)
    if cast("Json", obj.get("spec") or {}).get("ephemeralContainers"):
        found.append(causes.forbidden("spec.ephemeralContainers", "cannot be set on create"))
    return found


def check_template(template: Json, path: str) -> list[Cause]:
    """What is wrong with a template of Pods."""
    metadata, spec = cast("Json", template.get("metadata") or {}), cast("Json", template.get("spec") or {})
    found = check_labels(metadata.get("labels") or {}, f"{path}.labels")
    for key in cast("dict[str, str]", metadata.get("annotations") or {}):
        found += [causes.invalid(f"{path}.annotations", key, why) for why in names.qualified(key.lower())]
    found += check_pod_spec(spec, f"{path}.spec")
    if spec.get("ephemeralContainers"):
        why = "ephemeral containers not allowed in pod template"
        found.append(causes.forbidden(f"{path}.spec.ephemeralContainers", why))
    return found


def check_pod_spec(spec: Json, path: str) -> list[Cause]:
    """What is wrong with what a Pod is to be."""
    found: list[Cause] = []
    volumes = cast("list[Json]", spec.get("volumes") or [])
    if volumes:
        found += check_volumes(volumes, f"{path}.volumes")
    found += check_containers(spec, path, {each.get("name", "") for each in volumes})
    found += texts.one_of(spec, path, "restartPolicy", RESTARTS) + texts.one_of(spec, path, "dnsPolicy", _DNS)
    found += _check_dns(spec, path) + _check_names(spec, path) + _check_numbers(spec, path)
    if spec.get("nodeSelector"):
        found += check_labels(spec["nodeSelector"], f"{path}.nodeSelector")
    found += check_tolerations(cast("list[Json]", spec.get("tolerations") or []), f"{path}.tolerations")
    if spec.get("affinity"):
        found += check_affinity(spec["affinity"], f"{path}.affinity")
    if spec.get("topologySpreadConstraints"):
        found += check_spread(spec["topologySpreadConstraints"], f"{path}.topologySpreadConstraints")
    found += _check_security(spec, f"{path}.securityContext")
    return found + _check_rest(spec, path)


def _check_names(spec: Json, path: str) -> list[Cause]:
    found: list[Cause] = []
    rules = {"serviceAccountName": names.subdomain, "nodeName": names.subdomain, "runtimeClassName": names.subdomain}
    for name, rule in {**rules, "hostname": names.label, "subdomain": names.label}.items():
        if value := spec.get(name):
            found += [causes.invalid(f"{path}.{name}", value, why) for why in rule(value)]
    return found


def _check_numbers(spec: Json, path: str) -> list[Cause]:
    life = spec.get("activeDeadlineSeconds")
    if life is None or 1 <= life <= _LONGEST_LIFE:
        return []
    return [causes.invalid(f"{path}.activeDeadlineSeconds", life, texts.between(1, _LONGEST_LIFE))]


def _check_dns(spec: Json, path: str) -> list[Cause]:
    config = cast("Json", spec.get("dnsConfig") or {})
    if spec.get("dnsPolicy") == "None":
        if not config:
            return [causes.required(f"{path}.dnsConfig", "must provide `dnsConfig` when `dnsPolicy` is None")]
        if not config.get("nameservers"):
            why = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            return [causes.required(f"{path}.dnsConfig.nameservers", why)]
    found: list[Cause] = []
    for index, each in enumerate(config.get("nameservers") or ()):
        found += texts.ip(f"{path}.dnsConfig.nameservers[{index}]", each)
    return found


def check_tolerations(tolerations: list[Json], path: str) -> list[Cause]:
    """What is wrong with the taints that a Pod bears."""
    return [fault for index, each in enumerate(tolerations) for fault in _check_toleration(each, f"{path}[{index}]")]


def _check_toleration(each: Json, where: str) -> list[Cause]:
    found: list[Cause] = []
    key, operator, effect = each.get("key", ""), each.get("operator", ""), each.get("effect", "")
    if key:
        found += [causes.invalid(f"{where}.key", key, why) for why in names.qualified(key)]
    elif operator != "Exists":
        why = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        found.append(causes.invalid(f"{where}.operator", operator, why))
    if each.get("tolerationSeconds") is not None and effect != "NoExecute":
        why = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        found.append(causes.invalid(f"{where}.effect", effect, why))
    value = each.get("value", "")
    if operator in ("", "Equal"):
        found += [causes.invalid(f"{where}.operator", value, why) for why in names.label_value(value)]
    elif operator == "Exists":
        if value:
            found.append(causes.invalid(f"{where}.operator", value, "value must be empty when `operator` is 'Exists'"))
    else:
        found.append(causes.unsupported(f"{where}.operator", operator, ("Equal", "Exists")))
    return found + texts.one_of(each, where, "effect", _EFFECTS)


def _check_security(spec: Json, where: str) -> list[Cause]:
    context = cast("Json", spec.get("securityContext") or {})
    found: list[Cause] = []
    for name in ("fsGroup", "runAsUser", "runAsGroup"):
        found += check_id(context.get(name), f"{where}.{name}")
    for index, group in enumerate(context.get("supplementalGroups") or ()):
        found += check_id(group, f"{where}.supplementalGroups[{index}]")
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        why = "ShareProcessNamespace and HostPID cannot both be enabled"
        found.append(causes.invalid(f"{where}.shareProcessNamespace", True, why))
    taken: set[str] = set()
    for index, each in enumerate(context.get("sysctls") or ()):
        name, field = each.get("name", ""), f"{where}.sysctls[{index}].name"
        if not name:
            found.append(causes.required(field))
        elif not _SYSCTL.fullmatch(name):
            found.append(causes.invalid(field, name, _NO_SYSCTL))
        elif name in taken:
            found.append(causes.duplicate(field, name))
        taken.add(name)
    found += texts.one_of(context, where, "fsGroupChangePolicy", ("Always", "OnRootMismatch"))
    if context.get("seccompProfile"):
        found += check_profile(context["seccompProfile"], f"{where}.seccompProfile")
    return found


def _check_rest(spec: Json, path: str) -> list[Cause]:
    found: list[Cause] = []
    for index, each in enumerate(spec.get("hostAliases") or ()):
        where = f"{path}.hostAliases[{index}]"
        found += texts.ip(f"{where}.ip", each.get("ip", ""))
        for at, name in enumerate(cast("list[str]", each.get("hostnames") or [])):
            found += [causes.invalid(f"{where}.hostnames[{at}]", name, why) for why in names.subdomain(name)]
    for index, each in enumerate(spec.get("readinessGates") or ()):
        name, field = each.get("conditionType", ""), f"{path}.readinessGates[{index}].conditionType"
        found += [causes.invalid(field, name, why) for why in names.qualified(name)]
    for index, each in enumerate(spec.get("schedulingGates") or ()):
        name = each.get("name", "")
        found += [causes.invalid(f"{path}.schedulingGates[{index}]", name, why) for why in names.qualified(name)]
    system = spec.get("os")
    if system is not None:
        if not system.get("name"):
            found.append(causes.required(f"{path}.os.name", "cannot be empty"))
        elif system["name"] not in ("linux", "windows"):
            found.append(causes.unsupported(f"{path}.os", system["name"], ("linux", "windows")))
    return found


def check_pod_change(new: Json, old: Json) -> list[Cause]:
    """What of a Pod cannot change, which is most."""
    spec, was = (cast("Json", each.get("spec") or {}) for each in (new, old))
    found: list[Cause] = []
    for name in ("initContainers", "containers"):
        now, before = (cast("list[Json]", each.get(name) or []) for each in (spec, was))
        if len(now) != len(before):
            found.append(causes.forbidden(f"spec.{name}", "pod updates may not add or remove containers"))
            return found
        for index, each in enumerate(now):
            image = each.get("image", "")
            if not image:
                found.append(causes.required(f"spec.{name}[{index}].image"))
            elif image.strip() != image:
                why = "must not have leading or trailing whitespace"
                found.append(causes.invalid(f"spec.{name}[{index}].image", image, why))
    found += _check_life(spec, was) + _check_tolerations(spec, was)
    if found:
        return found
    if _unchangeable(spec, was) != _unchangeable(was, was):
        differs = held.difference("PodSpec", was, _with_changeable(spec, was))
        found.append(causes.forbidden("spec", f"{_MAY_CHANGE}\n{differs}"))
    return found


def _check_life(spec: Json, was: Json) -> list[Cause]:
    now, before = spec.get("activeDeadlineSeconds"), was.get("activeDeadlineSeconds")
    field = "spec.activeDeadlineSeconds"
    if now is None:
        if before is None:
            return []
        return [causes.invalid(field, None, "must not update from a positive integer to nil value")]
    if not 0 <= now <= _LONGEST_LIFE:
        return [causes.invalid(field, now, texts.between(0, _LONGEST_LIFE))]
    if before is not None and before < now:
        return [causes.invalid(field, now, "must be less than or equal to previous value")]
    return []


def _check_tolerations(spec: Json, was: Json) -> list[Cause]:
    now, before = (cast("list[Json]", each.get("tolerations") or []) for each in (spec, was))
    kept = [{**each, "tolerationSeconds": None} for each in now]
    if all({**each, "tolerationSeconds": None} in kept for each in before):
        return []
    why = "existing toleration can not be modified except its tolerationSeconds"
    return [causes.forbidden("spec.tolerations", why)]


def _unchangeable(spec: Json, was: Json) -> Json:
    """What has to stay of a spec."""
    kept = {name: value for name, value in spec.items() if value not in (None, [], {})}
    for name in ("activeDeadlineSeconds", "tolerations"):
        kept.pop(name, None)
    for name in ("initContainers", "containers"):
        if name in kept:
            kept[name] = [{**each, "image": ""} for each in kept[name]]
    if spec.get("terminationGracePeriodSeconds") == 1 and was.get("terminationGracePeriodSeconds", 0) < 0:
        kept["terminationGracePeriodSeconds"] = was["terminationGracePeriodSeconds"]
    if was.get("schedulingGates"):
        for name in ("schedulingGates", "nodeSelector", "affinity"):
            kept.pop(name, None)
    return kept


def gated(now: str) -> Json:
    """What is told of a Pod that nobody may place yet."""
    return {
        "type": "PodScheduled",
        "status": "False",
        "lastProbeTime": None,
        "lastTransitionTime": now,
        "reason": "SchedulingGated",
        "message": "Scheduling is blocked due to non-empty scheduling gates",
    }


def _with_changeable(spec: Json, was: Json) -> Json:
    """A spec, with what may change as it was."""
    kept = dict(spec)
    for name in ("activeDeadlineSeconds", "tolerations", "schedulingGates"):
        kept[name] = was.get(name)
    for name in ("initContainers", "containers"):
        if name in kept:
            there = cast("list[Json]", was.get(name) or [])
            kept[name] = [{**now, "image": old.get("image")} for now, old in zip(kept[name], there, strict=True)]
    if spec.get("terminationGracePeriodSeconds") == 1 and was.get("terminationGracePeriodSeconds", 0) < 0:
        kept["terminationGracePeriodSeconds"] = was["terminationGracePeriodSeconds"]
    if was.get("schedulingGates"):
        kept |= {name: was.get(name) for name in ("nodeSelector", "affinity")}
    return kept


def quality_of_service(spec: Json) -> str:
    """How a Pod is treated where there is too little: by what its containers ask for and may have."""
    asked = granted = False
    exact = True
    for each in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ())):
        resources = cast("Json", cast("Json", each).get("resources") or {})
        requests, limits = (
            {
                name: text
                for name, text in cast("dict[str, str]", resources.get(part) or {}).items()
                if name in _COUNTED and Quantity(text)
            }
            for part in ("requests", "limits")
        )
        asked, granted = asked or bool(requests), granted or bool(limits)
        exact = (
            exact
            and limits.keys() == _COUNTED
            and all(Quantity(text) == Quantity(limits[name]) for name, text in requests.items() if name in limits)
        )
    if not asked and not granted:
        return "BestEffort"
    return "Guaranteed" if exact else "Burstable"
