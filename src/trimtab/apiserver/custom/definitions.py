"""Checking a definition as such: names, group, versions, subresources, columns, conversion.

The API server converts a definition to a form of its own before it checks it: what all versions have alike stands at
the top there, so the paths in its causes are of that form (`spec.validation`, not `spec.versions[0].schema`).
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import msgspec

from trimtab.apiserver import causes
from trimtab.apiserver.causes import Cause
from trimtab.apiserver.cel.namerules import is_label_1035, is_subdomain
from trimtab.apiserver.cel.uris import UriError, parse_request_uri
from trimtab.apiserver.custom.equality import part, same
from trimtab.apiserver.custom.fieldpaths import PathError, resolve
from trimtab.apiserver.custom.internal import internal_version
from trimtab.apiserver.custom.schemacheck import check_schema

Json: TypeAlias = dict[str, Any]

_COLUMN_TYPES: Final = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS: Final = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_REVIEW_VERSIONS: Final = ("v1", "v1beta1")
_MOST_SELECTABLE: Final = 8
_LONGEST_WARNING: Final = 256
_PROTECTED: Final = ("k8s.io", "kubernetes.io")
_APPROVAL: Final = "api-approved.kubernetes.io"


def check_definition(definition: Json) -> list[Cause]:
    """What is wrong with a new definition; of its metadata, the name is looked at."""
    try:
        return _check(definition)
    except RecursionError:
        return [causes.forbidden("spec.versions", "the schema is nested too deeply")]


def _check(definition: Json) -> list[Cause]:
    spec: Json = definition.get("spec") or {}
    names: Json = spec.get("names") or {}
    faults: list[Cause] = []
    name = part(definition, "metadata").get("name", "")
    faults += [causes.invalid("metadata.name", name, problem) for problem in is_subdomain(name)]
    if name != f"{names.get('plural', '')}.{spec.get('group', '')}":
        faults.append(causes.invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group'))
    faults += _spec(spec)
    faults += _names(part(part(definition, "status"), "acceptedNames"), "status.acceptedNames")
    faults += _stored_versions(definition)
    faults += _approval(definition)
    if spec.get("preserveUnknownFields"):
        why = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        faults.append(causes.invalid("spec.preserveUnknownFields", True, why))
    return faults


def check_definition_update(definition: Json, old: Json) -> list[Cause]:
    """What is wrong with a changed definition."""
    faults = [cause for cause in check_definition(definition) if cause.field != "metadata.name"]
    spec, before = definition["spec"], old["spec"]
    established = any(
        c.get("type") == "Established" and c.get("status") == "True"
        for c in part(old, "status").get("conditions") or ()
    )
    immutable: list[tuple[str, Any, Any]] = []
    if established:
        immutable.append(("spec.scope", spec.get("scope"), before.get("scope")))
        immutable.append(("spec.names.kind", spec["names"].get("kind"), before["names"].get("kind")))
    immutable.append(("spec.group", spec.get("group"), before.get("group")))
    immutable.append(("spec.names.plural", spec["names"].get("plural"), before["names"].get("plural")))
    faults += [causes.invalid(at, new, "field is immutable") for at, new, was in immutable if new != was]
    return faults


def _alike(versions: list[Json], part: str) -> bool:
    """Whether all versions have the same of something, so that the server moves it to the top."""
    first = versions[0].get(part) if versions else None
    return bool(versions) and first not in (None, []) and all(same(v.get(part), first) for v in versions)


def _spec(spec: Json) -> list[Cause]:
    versions: list[Json] = spec.get("versions") or []
    faults = [*_group(spec), *_scope(spec)]
    faults += [
        causes.required(f"spec.versions[{index}].schema.openAPIV3Schema")
        for index, version in enumerate(versions)
        if part(version, "schema").get("openAPIV3Schema") is None
    ]
    top = {
        part: _alike(versions, part)
        for part in ("schema", "subresources", "additionalPrinterColumns", "selectableFields")
    }
    for index, version in enumerate(versions):
        problems = is_label_1035(version.get("name", ""))
        if problems:
            why = ",".join(problems)
            faults.append(causes.invalid(f"spec.versions[{index}].name", version.get("name", ""), why))
            if index == 0:
                faults.append(causes.invalid("spec.version", version.get("name", ""), why))
        faults += _version(version, f"spec.versions[{index}]", top)
    shown = None if spec.get("versions") is None else [internal_version(version, top) for version in versions]
    if len({version.get("name") for version in versions}) != len(versions):
        faults.append(causes.invalid("spec.versions", shown, "must contain unique version names"))
    if sum(bool(version.get("storage")) for version in versions) != 1:
        why = "must have exactly one version marked as storage version"
        faults.append(causes.invalid("spec.versions", shown, why))
    names: Json = spec.get("names") or {}
    faults += [
        causes.required(f"spec.names.{name}")
        for name in ("plural", "singular", "kind", "listKind")
        if not names.get(name)
    ]
    faults += _names(names, "spec.names")
    if versions:
        faults += _shared(versions, top)
    faults += _conversion(spec.get("conversion"))
    return faults


def _shared(versions: list[Json], top: dict[str, bool]) -> list[Cause]:
    """What stands at the top because all versions have it alike."""
    first = versions[0]
    faults: list[Cause] = []
    schema = part(first, "schema").get("openAPIV3Schema")
    if top["schema"] and schema is not None:
        has_status = any(part(v, "subresources").get("status") is not None for v in versions)
        faults += check_schema(schema, "spec.validation.openAPIV3Schema", has_status=has_status)
    if top["subresources"]:
        faults += _subresources(first["subresources"], "spec.subresources")
    if top["additionalPrinterColumns"]:
        for index, column in enumerate(first["additionalPrinterColumns"]):
            faults += _column(column, f"spec.additionalPrinterColumns[{index}]")
    if top["selectableFields"]:
        faults += _selectable(first["selectableFields"], schema, "spec.selectableFields")
    return faults


def _version(version: Json, path: str, top: dict[str, bool]) -> list[Cause]:
    faults = _deprecation(version, f"{path}.deprecationWarning")
    schema = part(version, "schema").get("openAPIV3Schema")
    if schema is not None and not top["schema"]:
        has_status = part(version, "subresources").get("status") is not None
        faults += check_schema(schema, f"{path}.schema.openAPIV3Schema", has_status=has_status)
    if version.get("subresources") is not None and not top["subresources"]:
        faults += _subresources(version["subresources"], f"{path}.subresources")
    if not top["additionalPrinterColumns"]:
        for index, column in enumerate(version.get("additionalPrinterColumns") or ()):
            faults += _column(column, f"{path}.additionalPrinterColumns[{index}]")
    if version.get("selectableFields") and not top["selectableFields"]:
        faults += _selectable(version["selectableFields"], schema, f"{path}.selectableFields")
    return faults


def _group(spec: Json) -> list[Cause]:
    group = spec.get("group", "")
    if not group:
        return [causes.required("spec.group")]
    if problems := is_subdomain(group):
        return [causes.invalid("spec.group", group, ",".join(problems))]
    if "." not in group:
        return [causes.invalid("spec.group", group, "should be a domain with at least one dot")]
    return []


def _scope(spec: Json) -> list[Cause]:
    scope = spec.get("scope", "")
    if not scope:
        return [causes.required("spec.scope")]
    return (
        []
        if scope in ("Cluster", "Namespaced")
        else [causes.unsupported("spec.scope", scope, ("Cluster", "Namespaced"))]
    )


def _names(names: Json, path: str) -> list[Cause]:
    faults: list[Cause] = []
    for name in ("plural", "singular"):
        given = names.get(name)
        if given and (problems := is_label_1035(given)):
            faults.append(causes.invalid(f"{path}.{name}", given, ",".join(problems)))
    for name in ("kind", "listKind"):
        given = names.get(name)
        if given and (problems := is_label_1035(given.lower())):
            why = "may have mixed case, but should otherwise match: " + ",".join(problems)
            faults.append(causes.invalid(f"{path}.{name}", given, why))
    for index, given in enumerate(names.get("shortNames") or ()):
        if problems := is_label_1035(given):
            faults.append(causes.invalid(f"{path}.shortNames[{index}]", given, ",".join(problems)))
    if names.get("kind") and names["kind"] == names.get("listKind"):
        faults.append(causes.invalid(f"{path}.listKind", names["listKind"], "kind and listKind may not be the same"))
    for index, given in enumerate(names.get("categories") or ()):
        if problems := is_label_1035(given):
            faults.append(causes.invalid(f"{path}.categories[{index}]", given, ",".join(problems)))
    return faults


def _deprecation(version: Json, path: str) -> list[Cause]:
    warning = version.get("deprecationWarning")
    if warning is None:
        return []
    if not version.get("deprecated"):
        return [causes.invalid(path, warning, "can only be set for deprecated versions")]
    problems: list[str] = []
    if len(warning.encode()) > _LONGEST_WARNING:
        problems.append(f"must be <= {_LONGEST_WARNING} characters long")
    if not warning:
        problems.append("must not be an empty string")
    hidden = next((index for index, c in enumerate(warning) if not c.isprintable()), None)
    if hidden is not None:
        at = len(warning[:hidden].encode())
        problems.append(f"must only contain printable UTF-8 characters; non-printable character found at index {at}")
    shown = msgspec.json.encode(warning).decode()
    return [Cause("FieldValueInvalid", f"Invalid value: {shown}: {problem}", path) for problem in problems]


def _json_path(path: str, at: str) -> list[Cause]:
    return [] if path.startswith(".") else [causes.invalid(at, path, "must be a simple json path starting with .")]


def _subresources(subresources: Json, path: str) -> list[Cause]:
    scale = subresources.get("scale")
    if scale is None:
        return []
    faults: list[Cause] = []
    for name, parents, needed in (
        ("specReplicasPath", (".spec.",), True),
        ("statusReplicasPath", (".status.",), True),
        ("labelSelectorPath", (".spec.", ".status."), False),
    ):
        given, at = scale.get(name) or "", f"{path}.scale.{name}"
        if not given:
            faults += [causes.required(at)] if needed else []
        elif problems := _json_path(given, at):
            faults += problems
        elif not given.startswith(parents):
            where = f"under {parents[0][:-1]}" if len(parents) == 1 else "under either .spec or .status"
            faults.append(causes.invalid(at, given, f"should be a json path {where}"))
    return faults


def _column(column: Json, path: str) -> list[Cause]:
    faults: list[Cause] = []
    if not column.get("name"):
        faults.append(causes.required(f"{path}.name"))
    kind, why = column.get("type", ""), f"must be one of {','.join(_COLUMN_TYPES)}"
    if kind not in _COLUMN_TYPES:
        faults.append(causes.invalid(f"{path}.type", kind, why) if kind else causes.required(f"{path}.type", why))
    form = column.get("format", "")
    if form and form not in _COLUMN_FORMATS:
        faults.append(causes.invalid(f"{path}.format", form, f"must be one of {','.join(_COLUMN_FORMATS)}"))
    given = column.get("jsonPath", "")
    faults += _json_path(given, f"{path}.JSONPath") if given else [causes.required(f"{path}.JSONPath")]
    return faults


def _selectable(fields: list[Json], schema: Json | None, path: str) -> list[Cause]:
    if schema is None:
        why = "may only be set when `version.schema.openAPIV3Schema` is not included"
        return [causes.invalid(path, "", why)]
    faults: list[Cause] = []
    seen: set[str] = set()
    for index, field in enumerate(fields):
        given, at = field.get("jsonPath", ""), f"{path}[{index}].jsonPath"
        if not given:
            faults.append(causes.required(at))
            continue
        try:
            written, found = resolve(given, schema, brackets=False)
        except PathError as error:
            faults.append(causes.invalid(at, given, f"is an invalid path: {error}"))
            continue
        if written.split(".")[0] == "metadata":
            faults.append(causes.invalid(at, given, "must not point to fields in metadata"))
        if found.get("type") not in ("string", "boolean", "integer"):
            why = (
                "must point to a field of type string, boolean or integer. Enum string fields and strings with formats "
                "are allowed."
            )
            faults.append(causes.invalid(at, given, why))
        if written in seen:
            faults.append(causes.duplicate(at, given))
        seen.add(written)
    if len(seen) > _MOST_SELECTABLE:
        faults.append(causes.too_many(path, len(seen), _MOST_SELECTABLE))
    return faults


def _conversion(conversion: Json | None) -> list[Cause]:
    if conversion is None:
        return []
    path = "spec.conversion"
    strategy = conversion.get("strategy", "")
    webhook = part(conversion, "webhook")
    client: Json | None = webhook.get("clientConfig")
    versions: list[str] = webhook.get("conversionReviewVersions") or []
    faults: list[Cause] = []
    if not strategy:
        faults.append(causes.required(f"{path}.strategy"))
    elif strategy not in ("None", "Webhook"):
        faults.append(causes.unsupported(f"{path}.strategy", strategy, ("None", "Webhook")))
    if strategy != "Webhook":
        why = "should not be set when strategy is not set to Webhook"
        if client is not None:
            faults.append(causes.forbidden(f"{path}.webhookClientConfig", why))
        if versions:
            faults.append(causes.forbidden(f"{path}.conversionReviewVersions", why))
        return faults
    if client is None:
        faults.append(causes.required(f"{path}.webhookClientConfig", "required when strategy is set to Webhook"))
    else:
        faults += _webhook_client(client, f"{path}.webhookClientConfig")
    return faults + _review_versions(versions, f"{path}.conversionReviewVersions")


def _webhook_client(client: Json, path: str) -> list[Cause]:
    url, service = client.get("url"), part(client, "service")
    if (url is None) == (client.get("service") is None):
        return [causes.required(path, "exactly one of url or service is required")]
    if url is not None:
        return _webhook_url(url, f"{path}.url")
    faults = [causes.required(f"{path}.service.{name}") for name in ("name", "namespace") if not service.get(name)]
    port = service.get("port", 443)
    if not 1 <= port <= 65535:
        why = "port is not valid: must be between 1 and 65535, inclusive"
        faults.append(causes.invalid(f"{path}.service.port", port, why))
    given = service.get("path")
    if given is not None and not given.startswith("/"):
        faults.append(causes.invalid(f"{path}.service.path", given, "must start with a '/'"))
    return faults


def _webhook_url(url: str, path: str) -> list[Cause]:
    form = "; desired format: https://host[/path]"
    try:
        parsed = parse_request_uri(url) if url else None
    except UriError as error:
        return [causes.required(path, f"url must be a valid URL: {error}{form}")]
    if parsed is None or parsed.scheme != "https":
        scheme = parsed.scheme if parsed else ""
        return [causes.invalid(path, scheme, f"'https' is the only allowed URL scheme{form}")]
    if not parsed.host:
        return [causes.invalid(path, parsed.host, f"host must be specified{form}")]
    return []


def _review_versions(versions: list[str], path: str) -> list[Cause]:
    if not versions:
        return [causes.required(path)]
    faults: list[Cause] = []
    seen: set[str] = set()
    for index, version in enumerate(versions):
        if version in seen:
            faults.append(causes.invalid(f"{path}[{index}]", version, "duplicate version"))
            continue
        seen.add(version)
        faults += [causes.invalid(f"{path}[{index}]", version, problem) for problem in is_label_1035(version)]
    if not seen.intersection(_REVIEW_VERSIONS):
        why = f"must include at least one of {', '.join(_REVIEW_VERSIONS)}"
        faults.append(causes.invalid(path, versions, why))
    return faults


def _stored_versions(definition: Json) -> list[Cause]:
    stored: list[str] = part(definition, "status").get("storedVersions") or []
    path = "status.storedVersions"
    if not stored:
        return [causes.invalid(path, None, "must have at least one stored version")]
    versions: list[Json] = definition["spec"].get("versions") or []
    known = {version.get("name") for version in versions}
    faults = [
        causes.invalid(path, stored, f"must have the storage version {version['name']}")
        for version in versions
        if version.get("storage") and version.get("name") not in stored
    ]
    for index, name in enumerate(stored):
        if name not in known:
            why = (
                f"missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions"
                f" until a storage migration ensures no data remains persisted in {name} and removes {name} from "
                "status.storedVersions"
            )
            faults.append(causes.invalid(f"{path}[{index}]", name, why))
    return faults


def _approval(definition: Json) -> list[Cause]:
    group = part(definition, "spec").get("group", "")
    if not any(group == each or group.endswith(f".{each}") for each in _PROTECTED):
        return []
    annotations = part(part(definition, "metadata"), "annotations")
    given = annotations.get(_APPROVAL, "")
    path = f"metadata.annotations[{_APPROVAL}]"
    link = "https://github.com/kubernetes/enhancements/pull/1111"
    if not given:
        why = f'protected groups must have approval annotation "{_APPROVAL}", see {link}'
        return [causes.required(path, why)]
    if given.startswith("unapproved"):
        return []
    try:
        parsed = parse_request_uri(given)
    except UriError:
        parsed = None
    if parsed is not None and parsed.host and parsed.scheme:
        return []
    why = (
        f'protected groups must have approval annotation "{_APPROVAL}" with either a URL or a reason starting with '
        f'"unapproved", see {link}'
    )
    return [causes.invalid(path, given, why)]
