"""What keeps Pods of a template running: Deployments, ReplicaSets, StatefulSets, DaemonSets, ReplicationControllers."""

from __future__ import annotations

from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver import causes, names
from trimtab.apiserver.builtin import selectors, texts
from trimtab.apiserver.builtin.claims import check_claim_spec
from trimtab.apiserver.builtin.pods import check_template
from trimtab.apiserver.causes import Cause

Json: TypeAlias = dict[str, Any]

_NO_MATCH: Final = "`selector` does not match template `labels`"


def _spec(obj: Json) -> Json:
    return cast("Json", obj.get("spec") or {})


def _check_selector(spec: Json, kind: str) -> list[Cause]:
    selector = cast("Json | None", spec.get("selector"))
    if selector is None:
        return [causes.required("spec.selector")]
    found = selectors.check_selector(selector, "spec.selector")
    if selectors.is_empty(selector):
        why = f"empty selector is invalid for {kind}"
        found.append(causes.invalid("spec.selector", selectors.shown(selector), why))
    return found


def _check_template(spec: Json, kind: str, *, wrong: bool, missing: bool, twice: bool = False) -> list[Cause]:
    """What is wrong with the template; `wrong` says that no label can be held against the selector."""
    template = cast("Json", spec.get("template") or {})
    labels = cast("Json", template.get("metadata") or {}).get("labels")
    found: list[Cause] = []
    if not wrong and (missing or not selectors.selects(spec["selector"], labels or {})):
        found.append(causes.invalid("spec.template.metadata.labels", labels, _NO_MATCH))
    inner = check_template(template, "spec.template")
    if twice:
        inner += [each for each in inner if each.field in ("spec.template.labels", "spec.template.annotations")]
    return found + inner + _check_policy(cast("Json", template.get("spec") or {}), kind)


def _check_policy(spec: Json, kind: str) -> list[Cause]:
    found: list[Cause] = []
    policy = spec.get("restartPolicy", "")
    if policy != "Always":
        found.append(causes.unsupported("spec.template.spec.restartPolicy", policy, ("Always",)))
    if kind and spec.get("activeDeadlineSeconds") is not None:
        why = f"activeDeadlineSeconds in {kind} is not Supported"
        found.append(causes.forbidden("spec.template.spec.activeDeadlineSeconds", why))
    return found


def _check_common(spec: Json, kind: str, owner: str, *, said: str | None = None, twice: bool = False) -> list[Cause]:
    """Selector and template; `said` is what is said at a selector of which nothing can be made, if anything is."""
    found = _check_selector(spec, kind)
    selector = cast("Json | None", spec.get("selector"))
    wrong = selector is not None and _is_wrong(selector)
    if wrong and said is not None and selector is not None:
        found.append(causes.invalid("spec.selector", selectors.shown(selector), said))
    return found + _check_template(spec, owner, wrong=wrong, missing=selector is None, twice=twice)


def _is_wrong(selector: Json) -> bool:
    return bool(selectors.check_selector(selector, ""))


def check_deployment(obj: Json) -> list[Cause]:
    """What is wrong with a Deployment."""
    spec = _spec(obj)
    found = texts.not_negative(spec, "spec", "replicas", "minReadySeconds", "revisionHistoryLimit")
    found += _check_common(spec, "deployment", "ReplicaSet", said="invalid label selector")
    found += _check_strategy(cast("Json", spec.get("strategy") or {}))
    found += texts.not_negative(spec, "spec", "progressDeadlineSeconds")
    patience = spec.get("progressDeadlineSeconds")
    if patience is not None and patience <= spec.get("minReadySeconds", 0):
        found.append(causes.invalid("spec.progressDeadlineSeconds", patience, "must be greater than minReadySeconds"))
    return found


def _check_strategy(strategy: Json) -> list[Cause]:
    kind, rolling = strategy.get("type", ""), cast("Json | None", strategy.get("rollingUpdate"))
    if kind == "Recreate":
        if rolling is None:
            return []
        why = "may not be specified when strategy `type` is 'Recreate'"
        return [causes.forbidden("spec.strategy.rollingUpdate", why)]
    if kind != "RollingUpdate":
        return [
            causes.Cause("FieldValueNotSupported", _unsupported(kind, ("Recreate", "RollingUpdate")), "spec.strategy")
        ]
    if rolling is None:
        return [causes.required("spec.strategy.rollingUpdate", "this should be defaulted and never be nil")]
    where = "spec.strategy.rollingUpdate"
    off, extra = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    found = texts.count_or_percent(f"{where}.maxUnavailable", off) + texts.count_or_percent(f"{where}.maxSurge", extra)
    if texts.is_nothing(off) and texts.is_nothing(extra):
        found.append(causes.invalid(f"{where}.maxUnavailable", off, "may not be 0 when `maxSurge` is 0"))
    return found + texts.not_over_all(f"{where}.maxUnavailable", off)


def _unsupported(kind: str, supported: tuple[str, ...]) -> str:
    listed = ", ".join(map(causes.quoted, supported))
    return f'Unsupported value: {{"Type":{causes.quoted(kind)},"RollingUpdate":null}}: supported values: {listed}'


def check_replica_set(obj: Json) -> list[Cause]:
    """What is wrong with a ReplicaSet."""
    spec = _spec(obj)
    found = texts.not_negative(spec, "spec", "replicas", "minReadySeconds")
    return found + _check_common(spec, "deployment", "ReplicaSet", said="invalid label selector")


def check_selector_change(new: Json, old: Json) -> list[Cause]:
    """The selector stays."""
    selector, was = _spec(new).get("selector"), _spec(old).get("selector")
    if selector == was:
        return []
    shown = None if selector is None else selectors.shown(selector)
    return [causes.invalid("spec.selector", shown, texts.IMMUTABLE)]


def check_stateful_set(obj: Json) -> list[Cause]:
    """What is wrong with a StatefulSet."""
    spec = _spec(obj)
    found: list[Cause] = []
    policy = spec.get("podManagementPolicy", "")
    if policy not in ("OrderedReady", "Parallel"):
        why = "must be 'OrderedReady' or 'Parallel'"
        found.append(causes.invalid("spec.podManagementPolicy", policy, why))
    found += _check_stateful_strategy(cast("Json", spec.get("updateStrategy") or {}))
    kept = cast("Json", spec.get("persistentVolumeClaimRetentionPolicy") or {})
    for name in ("whenDeleted", "whenScaled"):
        found += texts.one_of(kept, "spec.persistentVolumeClaimRetentionPolicy", name, ("Retain", "Delete"))
    found += texts.not_negative(spec, "spec", "replicas", "minReadySeconds")
    found += texts.not_negative(cast("Json", spec.get("ordinals") or {}), "spec.ordinals", "start")
    if name := spec.get("serviceName"):
        found += [causes.invalid("spec.serviceName", name, why) for why in names.label(name)]
    for index, each in enumerate(spec.get("volumeClaimTemplates") or ()):
        claim, where = cast("Json", each.get("spec") or {}), f"spec.volumeClaimTemplates[{index}].spec"
        found += check_claim_spec(claim, where)
    with_claims = {**spec, "template": _with_claims(spec)}
    return found + _check_common(with_claims, "statefulset", "StatefulSet", said="", twice=True)


def _with_claims(spec: Json) -> Json:
    """The template as its Pods are made of it: each claim is a volume, and hostname and subdomain are replaced."""
    template = cast("Json", spec.get("template") or {})
    inner = {k: v for k, v in texts.part(template, "spec").items() if k not in ("hostname", "subdomain")}
    claims = {texts.part(each, "metadata").get("name", ""): each for each in spec.get("volumeClaimTemplates") or ()}
    if claims:
        volumes = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claims]
        inner["volumes"] = volumes + [each for each in inner.get("volumes") or () if each.get("name") not in claims]
    return {**template, "spec": inner}


def _check_stateful_strategy(strategy: Json) -> list[Cause]:
    kind, rolling = strategy.get("type", ""), cast("Json | None", strategy.get("rollingUpdate"))
    where = "spec.updateStrategy"
    if kind == "OnDelete":
        if rolling is None:
            return []
        shown = causes.Struct(Partition=rolling.get("partition"), MaxUnavailable=rolling.get("maxUnavailable"))
        return [causes.invalid(f"{where}.rollingUpdate", shown, "only allowed for updateStrategy 'RollingUpdate'")]
    if kind != "RollingUpdate":
        shown = causes.Struct(Type=kind, RollingUpdate=None)
        return [causes.invalid(where, shown, "must be 'RollingUpdate' or 'OnDelete'")]
    return texts.not_negative(rolling or {}, f"{where}.rollingUpdate", "partition")


_STATEFUL: Final = (
    "replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy", "minReadySeconds",
)  # fmt: skip


def check_stateful_change(new: Json, old: Json) -> list[Cause]:
    """What of a StatefulSet cannot change."""
    now, was = ({k: v for k, v in _spec(each).items() if k not in _STATEFUL} for each in (new, old))
    if now == was:
        return []
    listed = ", ".join(f"'{name}'" for name in _STATEFUL[:-1])
    why = f"updates to statefulset spec for fields other than {listed} and 'minReadySeconds' are forbidden"
    return [causes.forbidden("spec", why)]


def check_daemon_set(obj: Json) -> list[Cause]:
    """What is wrong with a DaemonSet."""
    spec = _spec(obj)
    found = _check_common(spec, "daemonset", "DaemonSet")
    found = [each for each in found if each != causes.required("spec.selector")]
    found += texts.not_negative(spec, "spec", "minReadySeconds", "revisionHistoryLimit")
    strategy = cast("Json", spec.get("updateStrategy") or {})
    kind, rolling = strategy.get("type", ""), cast("Json", strategy.get("rollingUpdate") or {})
    if kind == "OnDelete":
        return found
    where = "spec.updateStrategy"
    if kind != "RollingUpdate":
        said = _unsupported(kind, ("RollingUpdate", "OnDelete"))
        return [*found, Cause("FieldValueNotSupported", said, where)]
    where += ".rollingUpdate"
    off, extra = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    found += texts.count_or_percent(f"{where}.maxUnavailable", off) + texts.count_or_percent(f"{where}.maxSurge", extra)
    if texts.is_nothing(off) and texts.is_nothing(extra):
        found.append(causes.required(f"{where}.maxUnavailable", "cannot be 0 when maxSurge is 0"))
    elif not texts.is_nothing(off) and not texts.is_nothing(extra):
        found.append(causes.invalid(f"{where}.maxSurge", extra, "may not be set when maxUnavailable is non-zero"))
    return found + texts.not_over_all(f"{where}.maxUnavailable", off)


def check_replication_controller(obj: Json) -> list[Cause]:
    """What is wrong with a ReplicationController."""
    spec = _spec(obj)
    found = texts.not_negative(spec, "spec", "replicas", "minReadySeconds")
    selector = cast("Json", spec.get("selector") or {})
    if not selector:
        found.append(causes.required("spec.selector"))
    template = cast("Json | None", spec.get("template"))
    if template is None:
        return [*found, causes.required("spec.template")]
    labels = cast("Json", template.get("metadata") or {}).get("labels")
    if selector and not selectors.selects({"matchLabels": selector}, labels or {}):
        found.append(causes.invalid("spec.template.metadata.labels", labels, _NO_MATCH))
    return (
        found + check_template(template, "spec.template") + _check_policy(cast("Json", template.get("spec") or {}), "")
    )


# Statuses


def check_status(obj: Json, counted: tuple[str, ...], bounded: tuple[str, ...], ready: str) -> list[Cause]:
    """What is wrong with the counts of a status: `bounded` are no more than there are replicas."""
    status = cast("Json", obj.get("status") or {})
    found = texts.not_negative(status, "status", *counted)
    replicas = status.get("replicas", 0)
    why = "cannot be greater than status.replicas"
    for name in bounded:
        if (count := status.get(name, 0)) > replicas:
            found.append(causes.invalid(f"status.{name}", count, why))
    available = status.get("availableReplicas", 0)
    if available > status.get("readyReplicas", 0):
        found.append(causes.invalid("status.availableReplicas", available, f"cannot be greater than {ready}"))
    return found
