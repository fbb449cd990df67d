"""What a Pod may not do at the levels `baseline` and `restricted` of the Pod Security Standards, by their versions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver.causes import quoted

Json: TypeAlias = dict[str, Any]
Verdict: TypeAlias = tuple[str, str] | None
"""What is wrong, and where; None where nothing is."""
_Check: TypeAlias = Callable[[Json, Json, int], Verdict]

LATEST: Final = 36
"""The minor version whose rules `latest` means."""

_CAPABILITIES: Final = frozenset(
    (
        "AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "SETFCAP",
        "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT",
    )
)  # fmt: skip
_VOLUMES: Final = frozenset(
    (
        "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim", "projected",
        "secret",
    )
)  # fmt: skip
_SYSCTLS: Final = {
    "kernel.shm_rmid_forced": 0, "net.ipv4.ip_local_port_range": 0, "net.ipv4.tcp_syncookies": 0,
    "net.ipv4.ping_group_range": 0, "net.ipv4.ip_unprivileged_port_start": 0, "net.ipv4.ip_local_reserved_ports": 27,
    "net.ipv4.tcp_keepalive_time": 29, "net.ipv4.tcp_fin_timeout": 29, "net.ipv4.tcp_keepalive_intvl": 29,
    "net.ipv4.tcp_keepalive_probes": 29, "net.ipv4.tcp_rmem": 32, "net.ipv4.tcp_wmem": 32,
}  # fmt: skip
"""Those that are safe, and since which version."""
_SELINUX: Final = ("", "container_t", "container_init_t", "container_kvm_t")
_APPARMOR: Final = "container.apparmor.security.beta.kubernetes.io/"
_PROFILES: Final = ("RuntimeDefault", "Localhost")


def violations(level: str, minor: int, metadata: Json, spec: Json) -> list[tuple[str, str]]:
    """What a Pod does that it may not at a level, and where."""
    if level == "privileged":
        return []
    return [found for check in _checks(level, minor) if (found := check(metadata, spec, minor))]


def _containers(spec: Json) -> list[Json]:
    lists = ("initContainers", "containers", "ephemeralContainers")
    return [each for name in lists for each in cast("list[Json]", spec.get(name) or [])]


def _context(holder: Json) -> Json:
    return cast("Json", holder.get("securityContext") or {})


def _named(names: Sequence[str], one: str = "container") -> str:
    return f"{_plural(one, names)} {_joined(names)}"


def _joined(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def _plural(one: str, some: Sequence[object] | set[str], many: str = "") -> str:
    return one if len(some) == 1 else many or f"{one}s"


def _setters(spec: Json, is_bad: Callable[[Json], bool]) -> str:
    """Who sets something bad: the Pod, some containers, or both."""
    bad = [each["name"] for each in _containers(spec) if is_bad(_context(each))]
    who = ["pod"] if is_bad(_context(spec)) else []
    return " and ".join([*who, *([_named(bad)] if bad else [])])


def _in_user_namespace(spec: Json, minor: int) -> bool:
    return minor >= 35 and spec.get("hostUsers") is False


def _is_windows(spec: Json, minor: int) -> bool:
    return minor >= 25 and cast("Json", spec.get("os") or {}).get("name") == "windows"


# Baseline


def _app_armor(metadata: Json, spec: Json, _: int) -> Verdict:
    def kind(context: Json) -> str | None:
        profile = cast("Json | None", context.get("appArmorProfile"))
        return None if profile is None else profile.get("type", "")

    setters = _setters(spec, lambda context: kind(context) not in (None, *_PROFILES))
    holders = (_context(each) for each in (spec, *_containers(spec)))
    values = sorted({each for context in holders if (each := kind(context)) is not None and each not in _PROFILES})
    annotations = cast("dict[str, str]", metadata.get("annotations") or {})
    noted = sorted(
        f"{key}={quoted(value)}"
        for key, value in annotations.items()
        if key.startswith(_APPARMOR) and value not in ("", "runtime/default") and not value.startswith("localhost/")
    )
    who = " and ".join(filter(None, (setters, _plural("annotation", noted) if noted else "")))
    all_values = [*values, *noted]
    if not who:
        return None
    return _plural("forbidden AppArmor profile", all_values), (
        f"{who} must not set AppArmor profile type to {_joined(all_values)}"
    )


def _added(_: Json, spec: Json, __: int) -> Verdict:
    bad = {each["name"]: _capabilities(each, "add") - _CAPABILITIES for each in _containers(spec)}
    names, given = [name for name, each in bad.items() if each], set[str]().union(*bad.values())
    if not names:
        return None
    why = f"{_named(names)} must not include {_joined(sorted(given))} in securityContext.capabilities.add"
    return "non-default capabilities", why


def _capabilities(container: Json, what: str) -> set[str]:
    return set(cast("Json", _context(container).get("capabilities") or {}).get(what) or ())


def _host_namespaces(_: Json, spec: Json, __: int) -> Verdict:
    shared = [f"{name}=true" for name in ("hostNetwork", "hostPID", "hostIPC") if spec.get(name)]
    return ("host namespaces", ", ".join(shared)) if shared else None


def _host_paths(_: Json, spec: Json, __: int) -> Verdict:
    names = [each["name"] for each in cast("list[Json]", spec.get("volumes") or []) if each.get("hostPath") is not None]
    return ("hostPath volumes", _named(names, "volume")) if names else None


def _host_ports(_: Json, spec: Json, __: int) -> Verdict:
    used = {
        each["name"]: {
            str(port["hostPort"]) for port in cast("list[Json]", each.get("ports") or []) if port.get("hostPort")
        }
        for each in _containers(spec)
    }
    return _using("hostPort", "hostPort", used, quote=False)


def _host_probes(_: Json, spec: Json, __: int) -> Verdict:
    used: dict[str, set[str]] = {}
    for each in sorted(_containers(spec), key=lambda each: each["name"]):
        used[each["name"]] = {handler["host"] for handler in _handlers(each) if handler.get("host")}
    return _using("probe or lifecycle host", "probe or lifecycle host", used, quote=True)


def _handlers(container: Json) -> list[Json]:
    lifecycle = cast("Json", container.get("lifecycle") or {})
    holders = [container.get(name) for name in ("livenessProbe", "readinessProbe", "startupProbe")]
    holders += [lifecycle.get(name) for name in ("postStart", "preStop")]
    given = [cast("Json", each or {}) for each in holders]
    return [cast("Json", each.get(how) or {}) for each in given for how in ("httpGet", "tcpSocket")]


def _using(reason: str, what: str, used: dict[str, set[str]], *, quote: bool) -> Verdict:
    names, all_used = [name for name, each in used.items() if each], set[str]().union(*used.values())
    if not names:
        return None
    shown = _joined(sorted(all_used)) if quote else ", ".join(sorted(all_used))
    return reason, f"{_named(names)} {_plural('uses', names, 'use')} {_plural(what, all_used)} {shown}"


def _privileged(_: Json, spec: Json, __: int) -> Verdict:
    names = [each["name"] for each in _containers(spec) if _context(each).get("privileged")]
    return ("privileged", f"{_named(names)} must not set securityContext.privileged=true") if names else None


def _proc_mount(_: Json, spec: Json, minor: int) -> Verdict:
    return None if _in_user_namespace(spec, minor) else _any_proc_mount(_, spec, minor)


def _any_proc_mount(_: Json, spec: Json, __: int) -> Verdict:
    given = {each["name"]: _context(each).get("procMount") for each in _containers(spec)}
    bad = {name: kind for name, kind in given.items() if kind not in (None, "Default")}
    if not bad:
        return None
    kinds = _joined(sorted(set(map(str, bad.values()))))
    return "procMount", f"{_named(list(bad))} must not set securityContext.procMount to {kinds}"


def _selinux(_: Json, spec: Json, minor: int) -> Verdict:
    allowed = (*_SELINUX, "container_engine_t") if minor >= 31 else _SELINUX

    def options(context: Json) -> Json:
        return cast("Json", context.get("seLinuxOptions") or {})

    def is_bad(context: Json) -> bool:
        given = options(context)
        return given.get("type", "") not in allowed or bool(given.get("user")) or bool(given.get("role"))

    who = _setters(spec, is_bad)
    if not who:
        return None
    all_options = [options(_context(each)) for each in (spec, *_containers(spec))]
    types = sorted({each.get("type", "") for each in all_options} - set(allowed))
    data = [_named(types, "type")] if types else []
    data += [f"{name} may not be set" for name in ("user", "role") if any(each.get(name) for each in all_options)]
    return "seLinuxOptions", f"{who} set forbidden securityContext.seLinuxOptions: {'; '.join(data)}"


def _seccomp_kind(context: Json) -> str | None:
    profile = cast("Json | None", context.get("seccompProfile"))
    return None if profile is None else profile.get("type", "")


def _seccomp(_: Json, spec: Json, __: int) -> Verdict:
    who = _setters(spec, lambda context: _seccomp_kind(context) not in (None, *_PROFILES))
    if not who:
        return None
    kinds = {_seccomp_kind(_context(each)) for each in (spec, *_containers(spec))} - {None, *_PROFILES}
    values = _joined(sorted(map(str, kinds)))
    return "seccompProfile", f"{who} must not set securityContext.seccompProfile.type to {values}"


def _sysctls(_: Json, spec: Json, minor: int) -> Verdict:
    given = [each.get("name", "") for each in cast("list[Json]", _context(spec).get("sysctls") or [])]
    bad = [name for name in given if _SYSCTLS.get(name, LATEST + 1) > minor]
    return ("forbidden sysctls", ", ".join(bad)) if bad else None


def _host_process(_: Json, spec: Json, __: int) -> Verdict:
    who = _setters(spec, lambda context: bool(cast("Json", context.get("windowsOptions") or {}).get("hostProcess")))
    return ("hostProcess", f"{who} must not set securityContext.windowsOptions.hostProcess=true") if who else None


# Restricted


def _escalation(_: Json, spec: Json, minor: int) -> Verdict:
    names = [each["name"] for each in _containers(spec) if _context(each).get("allowPrivilegeEscalation") is not False]
    if not names or _is_windows(spec, minor):
        return None
    why = f"{_named(names)} must set securityContext.allowPrivilegeEscalation=false"
    return "allowPrivilegeEscalation != false", why


def _dropped(_: Json, spec: Json, minor: int) -> Verdict:
    if _is_windows(spec, minor):
        return None
    containers = _containers(spec)
    missing = [each["name"] for each in containers if "ALL" not in _capabilities(each, "drop")]
    added = {each["name"]: _capabilities(each, "add") - {"NET_BIND_SERVICE"} for each in containers}
    adding = [name for name, each in added.items() if each]
    details = [f'{_named(missing)} must set securityContext.capabilities.drop=["ALL"]'] if missing else []
    if adding:
        given = _joined(sorted(set[str]().union(*added.values())))
        details.append(f"{_named(adding)} must not include {given} in securityContext.capabilities.add")
    return ("unrestricted capabilities", "; ".join(details)) if details else None


def _volumes(_: Json, spec: Json, __: int) -> Verdict:
    bad: list[str] = []
    kinds: set[str] = set()
    for volume in cast("list[Json]", spec.get("volumes") or []):
        given = [name for name, value in volume.items() if name != "name" and value is not None]
        if not _VOLUMES.intersection(given):
            bad.append(volume["name"])
            kinds.update(given[:1] or ["unknown"])
    if not bad:
        return None
    about = f"{_named(bad, 'volume')} {_plural('uses', bad, 'use')} {_plural('restricted volume type', kinds)}"
    return "restricted volume types", f"{about} {_joined(sorted(kinds))}"


def _non_root(_: Json, spec: Json, minor: int) -> Verdict:
    if _in_user_namespace(spec, minor):
        return None
    if who := _setters(spec, lambda context: context.get("runAsNonRoot") is False):
        return "runAsNonRoot != true", f"{who} must not set securityContext.runAsNonRoot=false"
    if _context(spec).get("runAsNonRoot"):
        return None
    names = [each["name"] for each in _containers(spec) if _context(each).get("runAsNonRoot") is None]
    if not names:
        return None
    return "runAsNonRoot != true", f"pod or {_named(names)} must set securityContext.runAsNonRoot=true"


def _root(_: Json, spec: Json, minor: int) -> Verdict:
    who = _setters(spec, lambda context: context.get("runAsUser") == 0)
    return ("runAsUser=0", f"{who} must not set runAsUser=0") if who and not _in_user_namespace(spec, minor) else None


def _seccomp_set(metadata: Json, spec: Json, minor: int) -> Verdict:
    if _is_windows(spec, minor):
        return None
    if found := _seccomp(metadata, spec, minor):
        return found
    if _seccomp_kind(_context(spec)) is not None:
        return None
    names = [each["name"] for each in _containers(spec) if _seccomp_kind(_context(each)) is None]
    kinds = '"RuntimeDefault" or "Localhost"'
    why = f"pod or {_named(names)} must set securityContext.seccompProfile.type to {kinds}"
    return ("seccompProfile", why) if names else None


_ALWAYS: Final = 1 << 30
_BASELINE: Final[tuple[tuple[int, _Check], ...]] = (
    (0, _app_armor), (0, _added), (0, _host_namespaces), (0, _host_paths), (0, _host_ports), (34, _host_probes),
    (0, _privileged), (0, _proc_mount), (0, _selinux), (19, _seccomp), (0, _sysctls), (0, _host_process),
)  # fmt: skip
"""With the minor version since which each is looked at, in the order in which they are told."""
_OVERRIDDEN: Final[dict[_Check, int]] = {_added: 22, _host_paths: 0, _proc_mount: 35, _seccomp: 19}
"""Since when the level `restricted` has a stricter one in their place."""
_RESTRICTED: Final[tuple[tuple[int, _Check], ...]] = (
    (8, _escalation), (22, _dropped), (35, _any_proc_mount), (0, _volumes), (0, _non_root), (23, _root),
    (19, _seccomp_set),
)  # fmt: skip


def _checks(level: str, minor: int) -> list[_Check]:
    found = [check for since, check in _BASELINE if minor >= since]
    if level == "restricted":
        found = [check for check in found if minor < _OVERRIDDEN.get(check, _ALWAYS)]
        found += [check for since, check in _RESTRICTED if minor >= since]
    return found
