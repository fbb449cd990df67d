"""What is wrong with Ingresses and their classes."""

from __future__ import annotations

import re
from typing import Any, Final, TypeAlias

from trimtab.apiserver import causes, names
from trimtab.apiserver.builtin import texts
from trimtab.apiserver.causes import Cause

Json: TypeAlias = dict[str, Any]

_PATH_TYPES: Final = ("Exact", "ImplementationSpecific", "Prefix")
_NOT_IN_PATHS: Final = ("//", "/./", "/../", "%2f", "%2F")
_NOT_AT_THE_END: Final = ("/..", "/.")
_WILDCARD: Final = re.compile(r"\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LONGEST_CONTROLLER: Final = 250
_CLASS: Final = "kubernetes.io/ingress.class"


def check_ingress(obj: Json) -> list[Cause]:
    """What is wrong with an Ingress."""
    spec = texts.spec_of(obj)
    found: list[Cause] = []
    if not spec.get("rules") and spec.get("defaultBackend") is None:
        why = "either `defaultBackend` or `rules` must be specified"
        found.append(causes.invalid("spec", spec.get("rules"), why))
    if spec.get("defaultBackend") is not None:
        found += _check_backend(spec["defaultBackend"], "spec.defaultBackend")
    for where, rule in texts.numbered(spec, "spec", "rules"):
        found += _check_rule(rule, where)
    for where, each in texts.numbered(spec, "spec", "tls"):
        for at, host in texts.numbered(each, where, "hosts"):
            found += texts.follows(at, host, _wildcard if "*" in host else names.subdomain)
        found += texts.given_following(each, where, "secretName", names.subdomain)
    if spec.get("ingressClassName") is not None:
        found += texts.follows("spec.ingressClassName", spec["ingressClassName"], names.subdomain)
    return found


def check_new_ingress(obj: Json) -> list[Cause]:
    """What is wrong with an Ingress that is to be: it has its class in one place."""
    told, name = texts.part(obj["metadata"], "annotations").get(_CLASS), texts.spec_of(obj).get("ingressClassName")
    found: list[Cause] = []
    if told is not None and name is not None and told != name:
        why = "must match `ingressClassName` when both are specified"
        found.append(causes.invalid(f"metadata.annotations.{_CLASS}", told, why))
    return found + check_ingress(obj)


def _wildcard(name: str) -> list[str]:
    if _WILDCARD.fullmatch(name):
        return []
    why = (
        "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of "
        "lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', "
        f"regex used for validation is '{_WILDCARD.pattern}')"
    )
    return [why]


def _check_rule(rule: Json, where: str) -> list[Cause]:
    found: list[Cause] = []
    if host := rule.get("host"):
        if texts.address(host) is not None:
            found.append(causes.invalid(f"{where}.host", host, "must be a DNS name, not an IP address"))
        found += texts.follows(f"{where}.host", host, _wildcard if "*" in host else names.subdomain)
    http = rule.get("http")
    if http is not None:
        found += texts.needed(http, f"{where}.http", "paths")
        for at, path in texts.numbered(http, f"{where}.http", "paths"):
            found += _check_path(path, at)
    return found


def _check_path(path: Json, where: str) -> list[Cause]:
    kind, way, field = path.get("pathType"), path.get("path", ""), f"{where}.path"
    if kind is None:
        return [causes.required(f"{where}.pathType", "pathType must be specified")]
    found: list[Cause] = []
    if kind in ("Exact", "Prefix"):
        if not way.startswith("/"):
            found.append(causes.invalid(field, way, "must be an absolute path"))
        if way:
            found += [causes.invalid(field, way, f"must not contain '{bad}'") for bad in _NOT_IN_PATHS if bad in way]
            ends = [bad for bad in _NOT_AT_THE_END if way.endswith(bad)]
            found += [causes.invalid(field, way, f"cannot end with '{bad}'") for bad in ends]
    elif kind == "ImplementationSpecific":
        if way and not way.startswith("/"):
            found.append(causes.invalid(field, way, "must be an absolute path"))
    else:
        found.append(causes.unsupported(f"{where}.pathType", kind, _PATH_TYPES))
    return found + _check_backend(path.get("backend") or {}, f"{where}.backend")


def _check_backend(backend: Json, path: str) -> list[Cause]:
    service, resource = backend.get("service"), backend.get("resource")
    if service is not None and resource is not None:
        return [causes.invalid(path, "", "cannot set both resource and service backends")]
    if resource is not None:
        return _check_reference(resource, f"{path}.resource")
    if service is None:
        return [causes.invalid(path, "", "resource or service backend is required")]
    found = texts.needed_following(service, f"{path}.service", "name", names.label)
    port = texts.part(service, "port")
    name, number = port.get("name"), port.get("number")
    if name and number:
        found.append(causes.invalid(path, "", "cannot set both port name & port number"))
    elif name:
        found += texts.follows(f"{path}.service.port.name", name, texts.port_name)
    elif number:
        found += texts.port(f"{path}.service.port.number", number)
    else:
        found.append(causes.required(path, "port name or number is required"))
    return found


def _check_reference(ref: Json, path: str) -> list[Cause]:
    found = texts.given_following(ref, path, "apiGroup", names.subdomain)
    for name in ("kind", "name"):
        found += texts.needed_following(ref, path, name, names.path_segment)
    return found


def check_ingress_status(new: Json, _old: Json) -> list[Cause]:
    """What is wrong with the status of an Ingress."""
    found: list[Cause] = []
    balancer = texts.part(texts.part(new, "status"), "loadBalancer")
    for where, each in texts.numbered(balancer, "status.loadBalancer", "ingress"):
        if each.get("ip"):
            found += texts.ip(f"{where}.ip", each["ip"])
        if host := each.get("hostname"):
            found += texts.follows(f"{where}.hostname", host, names.subdomain)
            if texts.address(host) is not None:
                found.append(causes.invalid(f"{where}.hostname", host, "must be a DNS name, not an IP address"))
    return found


def check_class(obj: Json) -> list[Cause]:
    """What is wrong with an IngressClass."""
    spec = texts.spec_of(obj)
    controller = spec.get("controller", "")
    found: list[Cause] = []
    if len(controller) > _LONGEST_CONTROLLER:
        found.append(causes.too_long("spec.controller", f"may not be more than {_LONGEST_CONTROLLER} bytes"))
    found += _check_controller(controller)
    parameters = spec.get("parameters")
    if parameters is None:
        return found
    where = "spec.parameters"
    found += _check_reference(parameters, where)
    scope, namespace = parameters.get("scope"), parameters.get("namespace")
    if scope is None:
        found.append(causes.required(f"{where}.scope"))
    elif scope not in ("Cluster", "Namespace"):
        found.append(causes.unsupported(f"{where}.scope", scope, ("Cluster", "Namespace")))
    elif scope == "Namespace":
        if not namespace:
            found.append(causes.required(f"{where}.namespace", "`parameters.scope` is set to 'Namespace'"))
        else:
            found += texts.follows(f"{where}.namespace", namespace, names.label)
    elif namespace is not None:
        found.append(causes.forbidden(f"{where}.namespace", "`parameters.scope` is set to 'Cluster'"))
    return found


def _check_controller(controller: str) -> list[Cause]:
    field = "spec.controller"
    if not controller:
        return [causes.required(field)]
    domain, slash, _ = controller.partition("/")
    if not slash or not controller.partition("/")[2]:
        why = 'must be a domain-prefixed path (such as "acme.io/foo")'
        return [causes.invalid(field, controller, why)]
    return texts.follows(field, domain, names.subdomain)


def check_class_change(new: Json, old: Json) -> list[Cause]:
    """What of an IngressClass cannot change."""
    return texts.unchanged(
        "spec.controller", texts.spec_of(new).get("controller"), texts.spec_of(old).get("controller")
    )
