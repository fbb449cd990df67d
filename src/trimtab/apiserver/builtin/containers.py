"""What is wrong with the containers of a Pod: names, images, ports, environment, resources, probes."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver import causes, names
from trimtab.apiserver.builtin import held, texts
from trimtab.apiserver.causes import Cause
from trimtab.kube.quantity import Quantity

Json: TypeAlias = dict[str, Any]

_PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_PULLS: Final = ("Always", "IfNotPresent", "Never")
_RESTARTS: Final = ("Always", "Never", "OnFailure")
_MESSAGES: Final = ("File", "FallbackToLogsOnError")
_RESOURCES: Final = tuple(
    f"{part}.{name}" for part in ("limits", "requests") for name in ("cpu", "ephemeral-storage", "memory")
)
_STANDARD: Final = frozenset({"cpu", "memory", "ephemeral-storage"})
_FIELDS: Final = frozenset(
    {
        "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
        "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs",
    }
)  # fmt: skip
_SUBSCRIPT: Final = re.compile(r"metadata\.(labels|annotations)\['(.+)'\]")
_ENVIRONMENT: Final = re.compile(r"[\x20-\x3c\x3e-\x7e]+")
_HIGHEST_ID: Final = 2**31 - 1
_SOURCES: Final = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")


def check_containers(spec: Json, path: str, volumes: Collection[str]) -> list[Cause]:
    """What is wrong with the containers of a Pod's spec."""
    containers = cast("list[Json]", spec.get("containers") or [])
    if not containers:
        return [causes.required(f"{path}.containers"), *_check_init(spec, path, volumes, set())]
    found: list[Cause] = []
    taken: set[str] = set()
    on_host: set[str] = set()
    for index, each in enumerate(containers):
        where = f"{path}.containers[{index}]"
        found += _check_one(each, where, spec, volumes) + _check_own(each, where, spec)
        found += _check_name_free(each, where, taken) + _check_host_ports(each, where, on_host)
        if each.get("restartPolicy"):
            found += texts.one_of(each, where, "restartPolicy", _RESTARTS)
    return found + _check_init(spec, path, volumes, taken)


def _check_init(spec: Json, path: str, volumes: Collection[str], taken: set[str]) -> list[Cause]:
    found: list[Cause] = []
    for index, each in enumerate(cast("list[Json]", spec.get("initContainers") or [])):
        where = f"{path}.initContainers[{index}]"
        found += _check_one(each, where, spec, volumes) + texts.one_of(each, where, "restartPolicy", _RESTARTS)
        found += _check_name_free(each, where, taken)
        if each.get("restartPolicy") == "Always":
            found += _check_own(each, where, spec)
            continue
        why = "may not be set for init containers without restartPolicy=Always"
        for name in ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe"):
            if each.get(name) is not None:
                found.append(causes.forbidden(f"{where}.{name}", why))
    return found


def _check_name_free(container: Json, where: str, taken: set[str]) -> list[Cause]:
    name = container.get("name", "")
    if name in taken:
        return [causes.duplicate(f"{where}.name", name)]
    taken.add(name)
    return []


def _check_one(container: Json, where: str, spec: Json, volumes: Collection[str]) -> list[Cause]:
    """What is wrong with a container, whichever sort it is of."""
    found: list[Cause] = []
    name, image = container.get("name"), container.get("image", "")
    if not name:
        found.append(causes.required(f"{where}.name"))
    else:
        found += [causes.invalid(f"{where}.name", name, why) for why in names.label(name)]
    if not image:
        found.append(causes.required(f"{where}.image"))
    elif image.strip() != image:
        found.append(causes.invalid(f"{where}.image", image, "must not have leading or trailing whitespace"))
    found += texts.one_of(container, where, "terminationMessagePolicy", _MESSAGES)
    found += texts.one_of(container, where, "imagePullPolicy", _PULLS)
    if container.get("ports"):
        found += _check_ports(container["ports"], f"{where}.ports", on_host=bool(spec.get("hostNetwork")))
    if container.get("env"):
        found += _check_environment(container["env"], f"{where}.env")
    if container.get("envFrom"):
        found += _check_sources(container["envFrom"], f"{where}.envFrom")
    if container.get("volumeMounts"):
        found += _check_mounts(container["volumeMounts"], f"{where}.volumeMounts", volumes)
    if container.get("resources"):
        found += _check_resources(container["resources"], f"{where}.resources")
    if container.get("securityContext"):
        found += _check_security(container["securityContext"], f"{where}.securityContext")
    return found


def _check_ports(ports: list[Json], path: str, *, on_host: bool) -> list[Cause]:
    found: list[Cause] = []
    taken: set[str] = set()
    for index, each in enumerate(ports):
        where = f"{path}[{index}]"
        if name := each.get("name"):
            wrong = texts.port_name(name)
            found += [causes.invalid(f"{where}.name", name, why) for why in wrong]
            if not wrong and name in taken:
                found.append(causes.duplicate(f"{where}.name", name))
            elif not wrong:
                taken.add(name)
        number, outside = each.get("containerPort", 0), each.get("hostPort", 0)
        found += texts.port(f"{where}.containerPort", number) if number else [causes.required(f"{where}.containerPort")]
        if outside:
            found += texts.port(f"{where}.hostPort", outside)
            if on_host and outside != number:
                why = "must match `containerPort` when `hostNetwork` is true"
                found.append(causes.invalid(f"{where}.hostPort", outside, why))
        protocol = each.get("protocol", "")
        if not protocol:
            found.append(causes.required(f"{where}.protocol"))
        found += texts.one_of(each, where, "protocol", _PROTOCOLS)
    return found


def _check_host_ports(container: Json, where: str, taken: set[str]) -> list[Cause]:
    found: list[Cause] = []
    for index, each in enumerate(container.get("ports") or ()):
        if number := each.get("hostPort"):
            key = f"{each.get('protocol', '')}/{each.get('hostIP', '')}/{number}"
            if key in taken:
                found.append(causes.duplicate(f"{where}.ports[{index}].hostPort", key))
            taken.add(key)
    return found


def _check_environment(variables: list[Json], path: str) -> list[Cause]:
    found: list[Cause] = []
    for index, each in enumerate(variables):
        where, name = f"{path}[{index}]", each.get("name", "")
        if not name:
            found.append(causes.required(f"{where}.name"))
        elif not _ENVIRONMENT.fullmatch(name):
            why = "a valid environment variable name must consist only of printable ASCII characters other than '='"
            found.append(causes.invalid(f"{where}.name", name, why))
        if each.get("valueFrom") is not None:
            found += _check_value_from(each, each["valueFrom"], f"{where}.valueFrom")
    return found


def _check_value_from(variable: Json, source: Json, where: str) -> list[Cause]:
    given = [name for name in _SOURCES if source.get(name) is not None]
    if not given:
        most = "`fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        return [causes.invalid(where, "", f"must specify one of: {most}")]
    found: list[Cause] = []
    if variable.get("value"):
        found.append(causes.invalid(where, "", "may not be specified when `value` is not empty"))
    elif len(given) > 1:
        found.append(causes.invalid(where, "", "may not have more than one field specified at a time"))
    if ref := source.get("fieldRef"):
        found += check_field(ref, f"{where}.fieldRef")
    if ref := source.get("resourceFieldRef"):
        found += _check_resource_field(ref, f"{where}.resourceFieldRef")
    for name in ("configMapKeyRef", "secretKeyRef"):
        ref = source.get(name)
        if ref is not None:
            found += [
                causes.invalid(f"{where}.{name}.name", ref.get("name", ""), why)
                for why in names.subdomain(ref.get("name", ""))
            ]
            key = ref.get("key", "")
            if not key:
                found.append(causes.required(f"{where}.{name}.key"))
            else:
                found += [causes.invalid(f"{where}.{name}.key", key, why) for why in texts.config_key(key)]
    return found


def check_field(ref: Json, where: str, known: Collection[str] = _FIELDS) -> list[Cause]:
    """What is wrong with a reference to a field of the Pod itself."""
    field = ref.get("fieldPath", "")
    if not field:
        return [causes.required(f"{where}.fieldPath")]
    if field in known or _SUBSCRIPT.fullmatch(field):
        return []
    if field in _FIELDS or field in ("metadata.labels", "metadata.annotations"):
        return [causes.unsupported(f"{where}.fieldPath", field, sorted(known))]
    why = f"error converting fieldPath: field label not supported: {field}"
    return [causes.invalid(f"{where}.fieldPath", field, why)]


def _check_resource_field(ref: Json, where: str) -> list[Cause]:
    name = ref.get("resource", "")
    if not name:
        return [causes.required(f"{where}.resource")]
    huge = name.startswith(("limits.hugepages-", "requests.hugepages-"))
    return [] if name in _RESOURCES or huge else [causes.unsupported(f"{where}.resource", name, _RESOURCES)]


def _check_sources(sources: list[Json], path: str) -> list[Cause]:
    found: list[Cause] = []
    for index, each in enumerate(sources):
        given = [name for name in ("configMapRef", "secretRef") if each.get(name) is not None]
        if not given:
            found.append(causes.invalid(path, "", "must specify one of: `configMapRef` or `secretRef`"))
        elif len(given) > 1:
            found.append(causes.invalid(path, "", "may not have more than one field specified at a time"))
        for name in given:
            ref = each[name].get("name", "")
            field = f"{path}[{index}].{name}.name"
            found += [causes.invalid(field, ref, why) for why in names.subdomain(ref)]
    return found


def _check_mounts(mounts: list[Json], path: str, volumes: Collection[str]) -> list[Cause]:
    found: list[Cause] = []
    taken: set[str] = set()
    for index, each in enumerate(mounts):
        where, name, place = f"{path}[{index}]", each.get("name", ""), each.get("mountPath", "")
        if not name:
            found.append(causes.required(f"{where}.name"))
        if name not in volumes:
            found.append(causes.not_found(f"{where}.name", name))
        if not place:
            found.append(causes.required(f"{where}.mountPath"))
        if place in taken:
            found.append(causes.invalid(f"{where}.mountPath", place, "must be unique"))
        taken.add(place)
        for field in ("subPath", "subPathExpr"):
            inner = each.get(field)
            if inner:
                found += check_local(inner, f"{path}.{field}")
    return found


def check_local(path: str, field: str) -> list[Cause]:
    """What is wrong with a path that has to stay inside."""
    if path.startswith("/"):
        return [causes.invalid(field, path, "must be a relative path")]
    return check_no_way_up(path, field)


def check_no_way_up(path: str, field: str) -> list[Cause]:
    """Whether a path leads out by `..`."""
    return [causes.invalid(field, path, "must not contain '..'")] if ".." in path.split("/") else []


def _check_resources(resources: Json, path: str) -> list[Cause]:
    found: list[Cause] = []
    limits = cast("dict[str, str]", resources.get("limits") or {})
    requests = cast("dict[str, str]", resources.get("requests") or {})
    for part, amounts in (("limits", limits), ("requests", requests)):
        for name, amount in amounts.items():
            where = f"{path}.{part}[{name}]"
            found += check_resource_name(name, where) + _check_amount(name, amount, where)
    for name, amount in requests.items():
        limit = limits.get(name)
        if limit is None:
            if _is_exact(name):
                found.append(causes.required(f"{path}.limits", "Limit must be set for non overcommitable resources"))
        elif _is_exact(name):
            if Quantity(amount) != Quantity(limit):
                found.append(causes.invalid(f"{path}.requests", amount, f"must be equal to {name} limit of {limit}"))
        elif Quantity(amount) > Quantity(limit):
            why = f"must be less than or equal to {name} limit of {limit}"
            found.append(causes.invalid(f"{path}.requests", amount, why))
    return found


def _is_exact(name: str) -> bool:
    """Whether a resource cannot be promised to more than one."""
    return name.startswith("hugepages-") or not (name in _STANDARD or "/" not in name or "kubernetes.io/" in name)


def check_resource_name(name: str, where: str) -> list[Cause]:
    """What is wrong with the name of something that a container may have an amount of."""
    found = [causes.invalid(where, name, why) for why in names.qualified(name)]
    if found or name in _STANDARD or name.startswith("hugepages-") or "/" in name:
        return found
    return [
        causes.invalid(where, name, "must be a standard resource type or fully qualified"),
        causes.invalid(where, name, "must be a standard resource for containers"),
    ]


def _check_amount(name: str, amount: str, where: str) -> list[Cause]:
    value = Quantity(amount)
    if value < Quantity(0):
        return [causes.invalid(where, amount, texts.NOT_NEGATIVE)]
    if name not in _STANDARD and "/" in name and not _is_whole(value):
        return [causes.invalid(where, amount, "must be an integer")]
    return []


def _is_whole(value: Quantity) -> bool:
    return value == Quantity(value.value())


# What only those that stay have: probes and hooks


def _check_own(container: Json, where: str, spec: Json) -> list[Cause]:
    found: list[Cause] = []
    grace = spec.get("terminationGracePeriodSeconds", 30)
    for name in ("postStart", "preStop") if container.get("lifecycle") else ():
        hook = container["lifecycle"].get(name)
        if hook is not None:
            found += _check_handler(hook, f"{where}.lifecycle.{name}", grace)
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        probe = container.get(name)
        if probe is not None:
            found += _check_probe(probe, f"{where}.{name}", name)
    return found


def _check_probe(probe: Json, where: str, name: str) -> list[Cause]:
    found = _check_handler(probe, where, 0)
    numbers = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
    found += texts.not_negative(probe, where, *numbers)
    grace, field = probe.get("terminationGracePeriodSeconds"), f"{where}.terminationGracePeriodSeconds"
    if name == "readinessProbe":
        if grace is not None:
            found.append(causes.invalid(field, grace, "must not be set for readinessProbes"))
        return found
    if grace is not None and grace <= 0:
        found.append(causes.invalid(field, grace, "must be greater than 0"))
    if probe.get("successThreshold") != 1:
        found.append(causes.invalid(f"{where}.successThreshold", probe.get("successThreshold", 0), "must be 1"))
    return found


def _check_handler(handler: Json, where: str, grace: int) -> list[Cause]:
    given = [name for name in ("exec", "httpGet", "tcpSocket", "grpc", "sleep") if handler.get(name) is not None]
    if not given:
        return [causes.required(where, "must specify a handler type")]
    why = "may not specify more than 1 handler type"
    found = [causes.forbidden(f"{where}.{name}", why) for name in given[1:]]
    name = given[0]
    action, where = handler[name], f"{where}.{name}"
    if name == "exec" and not action.get("command"):
        found.append(causes.required(f"{where}.command"))
    elif name in ("tcpSocket", "grpc"):
        found += texts.port_or_name(f"{where}.port", action.get("port", 0))
    elif name == "sleep" and not 0 <= action.get("seconds", 0) <= grace:
        why = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
        found.append(causes.invalid(where, action.get("seconds", 0), why))
    elif name == "httpGet":
        if not action.get("path"):
            found.append(causes.required(f"{where}.path"))
        found += texts.port_or_name(f"{where}.port", action.get("port", 0))
        found += texts.one_of(action, where, "scheme", ("HTTP", "HTTPS"))
    return found


# Security


def _check_security(context: Json, where: str) -> list[Cause]:
    found: list[Cause] = []
    if context.get("privileged") and context.get("allowPrivilegeEscalation") is False:
        why = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
        found.append(causes.invalid(where, held.held("SecurityContext", context), why))
    for name in ("runAsUser", "runAsGroup"):
        found += check_id(context.get(name), f"{where}.{name}")
    found += texts.one_of(context, where, "procMount", ("Default", "Unmasked"))
    if context.get("seccompProfile"):
        found += check_profile(context["seccompProfile"], f"{where}.seccompProfile")
    return found


def check_id(value: int | None, field: str) -> list[Cause]:
    """What is wrong with the number of a user or group."""
    if value is None or 0 <= value <= _HIGHEST_ID:
        return []
    return [causes.invalid(field, value, texts.between(0, _HIGHEST_ID))]


def check_profile(profile: Json, where: str) -> list[Cause]:
    """What is wrong with a seccomp profile."""
    kind = profile.get("type", "")
    if kind == "Localhost" and not profile.get("localhostProfile"):
        return [causes.required(f"{where}.localhostProfile", "must be set when seccomp type is Localhost")]
    if not kind:
        return [causes.required(f"{where}.type", "type is required when seccompProfile is set")]
    return texts.one_of(profile, where, "type", ("Localhost", "RuntimeDefault", "Unconfined"))
