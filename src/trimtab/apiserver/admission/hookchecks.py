"""What is wrong with the configurations of webhooks, whoever writes them."""

from __future__ import annotations

from typing import Any, Final, TypeAlias, cast
from urllib.parse import urlsplit

from trimtab.apiserver import causes, names
from trimtab.apiserver.admission.expressions import PLAIN
from trimtab.apiserver.admission.rulechecks import (
    FAILURE_POLICIES,
    MATCH_POLICIES,
    REINVOCATIONS,
    check_conditions,
    check_rule,
    one_of,
)
from trimtab.apiserver.builtin.selectors import check_selector
from trimtab.apiserver.builtin.texts import label_1035
from trimtab.apiserver.causes import Cause

Json: TypeAlias = dict[str, Any]

_VERSIONS: Final = ("v1", "v1beta1")
_HARMLESS: Final = ("None", "NoneOnDryRun")
_EFFECTS: Final = ("None", "NoneOnDryRun", "Some", "Unknown")
_LONGEST: Final = 30  # seconds
_SEGMENTS: Final = 3
_LAST_PORT: Final = 65535
_FORM: Final = "; desired format: https://host[/path]"


def check_hooks(obj: Json, old: Json | None = None) -> list[Cause]:
    """What is wrong with a configuration; what was wrong with the old one already may stay so."""
    given = cast("list[Json]", obj.get("webhooks") or [])
    before = cast("list[Json]", (old or {}).get("webhooks") or [])
    effects = _EFFECTS if any(each.get("sideEffects") not in _HARMLESS for each in before) else _HARMLESS
    unknown = any(not set(each.get("admissionReviewVersions") or _VERSIONS) & set(_VERSIONS) for each in before)
    twice = len({each.get("name") for each in before}) < len(before)
    same = old is not None and _conditions(given) == _conditions(before)
    found: list[Cause] = []
    for place, hook in enumerate(given):
        path = f"webhooks[{place}]"
        found += _check_hook(hook, path, effects)
        if not same:
            found += check_conditions(hook.get("matchConditions") or [], f"{path}.matchConditions", PLAIN)
        found += _check_versions(
            hook.get("admissionReviewVersions") or [], f"{path}.admissionReviewVersions", unknown=unknown
        )
        name = hook.get("name") or ""
        if name and not twice and any(each.get("name") == name for each in given[:place]):
            found.append(causes.duplicate(f"{path}.name", name))
    return found


def _conditions(hooks: list[Json]) -> list[Any]:
    return [hook.get("matchConditions") or [] for hook in hooks]


def _check_hook(hook: Json, path: str, effects: tuple[str, ...]) -> list[Cause]:
    found = _check_name(hook.get("name") or "", f"{path}.name")
    for place, rule in enumerate(cast("list[Json]", hook.get("rules") or [])):
        found += check_rule(rule, f"{path}.rules[{place}]")
    found += one_of(f"{path}.failurePolicy", hook.get("failurePolicy"), FAILURE_POLICIES)
    found += one_of(f"{path}.matchPolicy", hook.get("matchPolicy"), MATCH_POLICIES)
    if hook.get("sideEffects") is None:
        found.append(causes.required(f"{path}.sideEffects", f"must specify one of {', '.join(effects)}"))
    found += one_of(f"{path}.sideEffects", hook.get("sideEffects"), effects)
    seconds = hook.get("timeoutSeconds")
    if seconds is not None and not 1 <= seconds <= _LONGEST:
        why = f"the timeout value must be between 1 and {_LONGEST} seconds"
        found.append(causes.invalid(f"{path}.timeoutSeconds", seconds, why))
    for name in ("namespaceSelector", "objectSelector"):
        found += check_selector(hook.get(name) or {}, f"{path}.{name}")
    found += one_of(f"{path}.reinvocationPolicy", hook.get("reinvocationPolicy"), REINVOCATIONS)
    return found + _check_client(hook.get("clientConfig") or {}, f"{path}.clientConfig")


def _check_name(name: str, path: str) -> list[Cause]:
    if not name:
        return [causes.required(path)]
    if faults := names.subdomain(name):
        return [causes.invalid(path, name, ",".join(faults))]
    if name.count(".") + 1 < _SEGMENTS:
        return [causes.invalid(path, name, "should be a domain with at least three segments separated by dots")]
    return []


def _check_versions(versions: list[str], path: str, *, unknown: bool) -> list[Cause]:
    """`unknown` says that none of them has to be one that is spoken here."""
    if not versions:
        return [causes.required(path, f"must specify one of {', '.join(_VERSIONS)}")]
    found: list[Cause] = []
    for place, version in enumerate(versions):
        if version in versions[:place]:
            found.append(causes.invalid(f"{path}[{place}]", version, "duplicate version"))
        else:
            found += [causes.invalid(f"{path}[{place}]", version, why) for why in label_1035(version)]
    if not unknown and not set(versions) & set(_VERSIONS):
        found.append(causes.invalid(path, versions, f"must include at least one of {', '.join(_VERSIONS)}"))
    return found


def _check_client(client: Json, path: str) -> list[Cause]:
    url, service = cast("str | None", client.get("url")), cast("Json | None", client.get("service"))
    if (url is None) == (service is None):
        return [causes.required(path, "exactly one of url or service is required")]
    return check_url(url, f"{path}.url") if url is not None else _check_service(service or {}, f"{path}.service")


def check_url(url: str, path: str) -> list[Cause]:
    """What is wrong with the address of a webhook."""
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - reading it is what checks it
    except ValueError as error:
        why = f"url must be a valid URL: parse {causes.quoted(url)}: {error}{_FORM}"
        return [causes.required(path, why)]
    found: list[Cause] = []
    user, at, host = parts.netloc.rpartition("@")
    if parts.scheme != "https":
        found.append(causes.invalid(path, parts.scheme, f"'https' is the only allowed URL scheme{_FORM}"))
    if not host:
        found.append(causes.invalid(path, "", f"host must be specified{_FORM}"))
    if at:
        found.append(causes.invalid(path, user, "user information is not permitted in the URL"))
    if parts.fragment:
        found.append(causes.invalid(path, parts.fragment, "fragments are not permitted in the URL"))
    if parts.query:
        found.append(causes.invalid(path, parts.query, "query parameters are not permitted in the URL"))
    return found


def _check_service(service: Json, path: str) -> list[Cause]:
    # Kubernetes takes the two names for each other here, so the one that is missing is told under the other's name.
    found = [] if service.get("namespace") else [causes.required(f"{path}.name")]
    found += [] if service.get("name") else [causes.required(f"{path}.namespace")]
    port = service.get("port", 443)
    if not 1 <= port <= _LAST_PORT:
        why = f"port is not valid: must be between 1 and {_LAST_PORT}, inclusive"
        found.append(causes.invalid(f"{path}.port", port, why))
    return found + _check_path(service.get("path") or "/", f"{path}.path")


def _check_path(given: str, path: str) -> list[Cause]:
    if given == "/":
        return []
    if given == "//":
        return [causes.invalid(path, given, "segment[0] may not be empty")]
    found = [] if given.startswith("/") else [causes.invalid(path, given, "must start with a '/'")]
    for place, step in enumerate(given[1:].removesuffix("/").split("/")):
        if not step:
            found.append(causes.invalid(path, given, f"segment[{place}] may not be empty"))
        else:
            found += [causes.invalid(path, given, f"segment[{place}]: {why}") for why in names.subdomain(step)]
    return found
