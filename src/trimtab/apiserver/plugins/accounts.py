"""ServiceAccount: a Pod runs as an account of its namespace, and its containers find a token for it.

Somebody has to make the account `default` in each namespace: a controller. Where nobody does, this plugin is left out,
or no Pod could be made.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver.objects import decode
from trimtab.apiserver.plugins.attempt import Attempt
from trimtab.apiserver.plugins.plugin import Means, Plugin

Json: TypeAlias = dict[str, Any]

_DEFAULT: Final = "default"
_MIRROR: Final = "kubernetes.io/config.mirror"
_ENFORCES: Final = "kubernetes.io/enforce-mountable-secrets"
_TRUE: Final = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_VOLUME: Final = "kube-api-access-"
_PLACE: Final = "/var/run/secrets/kubernetes.io/serviceaccount"
_LIFETIME: Final = 3607  # the one that tells a token's issuer that it is for a volume
_KINDS: Final = {"initContainers": "init container", "containers": "container"}


class ServiceAccount(Plugin):
    """Gives Pods their account."""

    buckets = frozenset({"pods"})

    def __init__(self, means: Means) -> None:
        super().__init__(means)
        self._around = means.around

    def admit(self, attempt: Attempt) -> None:
        """Name the account, bring its token in, and what it pulls images with."""
        if attempt.operation != "CREATE" or attempt.subresource or _is_mirror(attempt.obj):
            return
        spec = attempt.spec
        if not spec.get("serviceAccountName"):
            spec["serviceAccountName"] = spec["serviceAccount"] = _DEFAULT
        account = self._account(attempt)
        if _wants_token(spec, account):
            self._mount(spec)
        secrets = cast("list[Json]", account.get("imagePullSecrets") or [])
        if secrets and not spec.get("imagePullSecrets"):
            spec["imagePullSecrets"] = [{"name": each.get("name", "")} for each in secrets]

    def validate(self, attempt: Attempt) -> None:
        """Refuse an account that is not there, and secrets that an account keeps from its Pods."""
        about = attempt.operation, attempt.subresource
        if about not in (("CREATE", ""), ("UPDATE", "ephemeralcontainers")):
            return
        debugging = bool(attempt.subresource)
        spec = attempt.spec
        if _is_mirror(attempt.obj) and not debugging:
            if spec.get("serviceAccountName"):
                raise attempt.forbidden("a mirror pod may not reference service accounts")
            return
        account = self._account(attempt)
        annotations = cast("Json", account["metadata"].get("annotations") or {})
        if annotations.get(_ENFORCES) not in _TRUE:
            return
        kinds = {"ephemeralContainers": "ephemeral container"} if debugging else _KINDS
        if why := next(_kept_secrets(spec, account, kinds), ""):
            raise attempt.forbidden(why)

    def _account(self, attempt: Attempt) -> Json:
        name, namespace = attempt.spec.get("serviceAccountName", ""), attempt.namespace
        if not name:
            raise attempt.forbidden(f"no service account specified for pod {namespace}/{attempt.name}")
        record = self.store.get("serviceaccounts", f"{namespace}/{name}")
        if record is None:
            raise attempt.forbidden(
                f'error looking up service account {namespace}/{name}: serviceaccount "{name}" not found'
            )
        return decode(record.data)

    def _mount(self, spec: Json) -> None:
        """Bring the token into each container that has nothing at its place."""
        volumes = cast("list[Json]", spec.get("volumes") or [])
        there = next((each["name"] for each in volumes if each.get("name", "").startswith(_VOLUME)), "")
        name, needed = there or _VOLUME + self._around.suffix(), False
        for field in _KINDS:
            for container in cast("list[Json]", spec.get(field) or []):
                mounts = cast("list[Json]", container.get("volumeMounts") or [])
                if all(each.get("mountPath") != _PLACE for each in mounts):
                    container["volumeMounts"] = [*mounts, {"name": name, "readOnly": True, "mountPath": _PLACE}]
                    needed = True
        if needed and not there:
            spec["volumes"] = [*volumes, {"name": name, "projected": _token()}]


def _token() -> Json:
    field = {"apiVersion": "v1", "fieldPath": "metadata.namespace"}
    return {
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": _LIFETIME, "path": "token"}},
            {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": field}]}},
        ],
        "defaultMode": 0o644,
    }


def _is_mirror(pod: Json) -> bool:
    return _MIRROR in cast("Json", pod["metadata"].get("annotations") or {})


def _wants_token(spec: Json, account: Json) -> bool:
    """The Pod's wish goes before that of its account."""
    for each in (spec, account):
        if (wish := each.get("automountServiceAccountToken")) is not None:
            return wish
    return True


def _kept_secrets(spec: Json, account: Json, kinds: dict[str, str]) -> Iterator[str]:
    """Which secrets a Pod refers to that its account does not."""
    own = {each.get("name") for each in cast("list[Json]", account.get("secrets") or [])}
    who = f"service account {account['metadata']['name']} does not reference that"
    if "containers" in kinds:
        for volume in cast("list[Json]", spec.get("volumes") or []):
            name = cast("Json", volume.get("secret") or {}).get("secretName")
            if name and name not in own:
                yield f'volume with secret.secretName="{name}" is not allowed because {who} secret'
    for field, kind in kinds.items():
        for container in cast("list[Json]", spec.get(field) or []):
            for how, name in _secrets_of(container):
                if name not in own:
                    about = f"{kind} {container.get('name', '')} with {how}"
                    yield f'{about} referencing secret.secretName="{name}" is not allowed because {who} secret'
    if "containers" in kinds:
        pulls = {each.get("name") for each in cast("list[Json]", account.get("imagePullSecrets") or [])}
        for index, each in enumerate(cast("list[Json]", spec.get("imagePullSecrets") or [])):
            if each.get("name") not in pulls:
                about = f'imagePullSecrets[{index}].name="{each.get("name", "")}"'
                yield f"{about} is not allowed because {who} imagePullSecret"


def _secrets_of(container: Json) -> Iterator[tuple[str, str]]:
    for variable in cast("list[Json]", container.get("env") or []):
        ref = cast("Json", cast("Json", variable.get("valueFrom") or {}).get("secretKeyRef") or {})
        if ref:
            yield f"envVar {variable.get('name', '')}", ref.get("name", "")
    for source in cast("list[Json]", container.get("envFrom") or []):
        ref = cast("Json", source.get("secretRef") or {})
        if ref:
            yield "envFrom", ref.get("name", "")
