"""Asking as somebody else: who is wanted, and whether the asker may.

There are two ways to be allowed. The old one is the verb `impersonate` on users, groups and so on, for all requests;
the constrained one is `impersonate:MODE` on them, together with `impersonate-on:MODE:VERB` on what is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final
from urllib.parse import unquote

from trimtab.apiserver import statuses
from trimtab.apiserver.access.attributes import Attributes, refusal
from trimtab.apiserver.access.rbac import MASTERS, Rbac
from trimtab.apiserver.causes import quoted
from trimtab.apiserver.messages import User
from trimtab.apiserver.statuses import Refused

AUTHENTICATED: Final = "system:authenticated"
_UNAUTHENTICATED: Final = "system:unauthenticated"
_ANONYMOUS: Final = "system:anonymous"
_AUTHENTICATION: Final = "authentication.k8s.io"
_ACCOUNT: Final = "system:serviceaccount:"
_NODE: Final = "system:node:"
_EXTRA: Final = "impersonate-extra-"
_MOST_REMEMBERED: Final = 1000


@dataclass(frozen=True, slots=True)
class Wanted:
    """Who somebody wants to be, as they say it."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])

    @property
    def is_name_only(self) -> bool:
        """Whether nothing but a name is asked for."""
        return not (self.uid or self.groups or self.extra)


def wanted_of(headers: Mapping[str, str]) -> Wanted | None:
    """Who is asked to be; None where nobody is. Refused where all but the name is there."""
    name, uid = headers.get("impersonate-user", ""), headers.get("impersonate-uid", "")
    given = headers.get("impersonate-group")
    groups = () if given is None else tuple(part.strip() for part in given.split(","))
    extra = {
        unquote(key.removeprefix(_EXTRA)): [part.strip() for part in value.split(",")]
        for key, value in headers.items()
        if key.startswith(_EXTRA)
    }
    if name:
        return Wanted(name, uid, groups, extra)
    if uid or groups or extra:
        shown = f'&user.DefaultInfo{{Name:"", UID:{quoted(uid)}, Groups:{_go(groups)}, Extra:{_go_map(extra)}}}'
        raise statuses.bad_request(f"requested {shown} without impersonating a user name")
    return None


class Impersonation:
    """Says whether somebody may be somebody else."""

    def __init__(self, rbac: Rbac) -> None:
        self._rbac = rbac
        self._last: dict[str, str] = {}  # in which mode each was allowed last: that one is tried, and told of, first

    def impersonated(self, asked: Attributes, wanted: Wanted) -> User:
        """The user to go on as; refused where the asker may not be them."""
        user = asked.user
        if MASTERS in user.groups:
            return _completed(wanted)
        modes = _modes(wanted)
        last = self._last.get(user.name)
        if last in modes:
            modes.sort(key=lambda mode: mode != last)
        first: Refused | None = None
        for mode in modes:
            try:
                self._check(asked, wanted, mode)
            except Refused as refused:
                first = first or refused
                continue
            if len(self._last) >= _MOST_REMEMBERED:
                self._last.clear()
            self._last[user.name] = mode
            return _completed(wanted)
        assert first is not None
        raise first

    def _check(self, asked: Attributes, wanted: Wanted, mode: str) -> None:
        verb, group = "impersonate", ""
        if mode:
            self._allow(replace(asked, verb=f"impersonate-on:{mode}:{asked.verb}"))
            verb, group = f"impersonate:{mode}", _AUTHENTICATION
        base = Attributes(asked.user, verb, group, "v1")
        account = _account(wanted.name)
        if account is not None:
            self._allow(replace(base, resource="serviceaccounts", namespace=account[0], name=account[1]))
        elif mode.endswith("node"):
            self._allow(replace(base, resource="nodes", name=wanted.name.removeprefix(_NODE)))
        else:
            self._allow(replace(base, resource="users", name=wanted.name))
        for each in wanted.groups:
            self._allow(replace(base, resource="groups", name=each))
        about = replace(base, group=_AUTHENTICATION)
        for key, values in wanted.extra.items():
            for value in values:
                self._allow(replace(about, resource="userextras", subresource=key, name=value))
        if wanted.uid:
            self._allow(replace(about, resource="uids", name=wanted.uid))

    def _allow(self, asked: Attributes) -> None:
        decision = self._rbac.decide(asked)
        if not decision.allowed:
            raise refusal(asked, decision.reason)


def _modes(wanted: Wanted) -> list[str]:
    if _account(wanted.name) is not None:
        return ["serviceaccount", ""] if wanted.is_name_only else [""]
    if wanted.name.startswith(_NODE):
        return ["arbitrary-node", ""] if wanted.is_name_only else [""]
    return ["user-info", ""]


def _completed(wanted: Wanted) -> User:
    """The user with the groups that everybody of their sort has."""
    groups = wanted.groups
    account = _account(wanted.name)
    if account is not None and not groups:
        groups = account_groups(account[0])
    elif wanted.name.startswith(_NODE) and not groups:
        groups = ("system:nodes",)
    if wanted.name == _ANONYMOUS:
        groups = groups if _UNAUTHENTICATED in groups else (*groups, _UNAUTHENTICATED)
    elif AUTHENTICATED not in groups and _UNAUTHENTICATED not in groups:
        groups = (*groups, AUTHENTICATED)
    return User(wanted.name, groups, wanted.uid, wanted.extra)


def account_groups(namespace: str) -> tuple[str, ...]:
    """The groups of every service account of a namespace."""
    return ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")


def _account(name: str) -> tuple[str, str] | None:
    """The namespace and name of a service account that is meant by a user's name."""
    if not name.startswith(_ACCOUNT):
        return None
    namespace, colon, account = name.removeprefix(_ACCOUNT).partition(":")
    return (namespace, account) if colon and namespace and account and ":" not in account else None


def _go(values: Sequence[str]) -> str:
    return f"[]string{{{', '.join(map(quoted, values))}}}" if values else "[]string(nil)"


def _go_map(values: Mapping[str, Sequence[str]]) -> str:
    if not values:
        return "map[string][]string(nil)"
    inside = ", ".join(f"{quoted(key)}:{_go(each)}" for key, each in sorted(values.items()))
    return f"map[string][]string{{{inside}}}"
