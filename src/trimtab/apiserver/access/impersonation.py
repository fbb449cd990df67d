"""Asking as somebody else: who is wanted, and whether the asker may.

There are two ways to be allowed. The old one is the verb `impersonate` on users, groups and so on, for all requests;
the constrained one is `impersonate:MODE` on them, together with `impersonate-on:MODE:VERB` on what is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final
from urllib.parse import unquote

from trimtab.apiserver import names, statuses
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
_ON_NODE: Final = "authentication.kubernetes.io/node-name"
_ASSOCIATED: Final = "associated-node"
_MANY: Final = 4  # checks of one sort, before which it is asked whether all of that sort are allowed
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
    groups = () if given is None else tuple(given.split("\n"))
    extra = {
        unquote(key.removeprefix(_EXTRA)): value.split("\n") for key, value in headers.items() if key.startswith(_EXTRA)
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
        modes = _modes(wanted, user)
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
            return _completed(wanted, mode)
        assert first is not None
        raise first

    def _check(self, asked: Attributes, wanted: Wanted, mode: str) -> None:
        verb, group = "impersonate", ""
        if mode:
            self._allow(replace(asked, verb=f"impersonate-on:{mode}:{asked.verb}"))
            verb, group = f"impersonate:{mode}", _AUTHENTICATION
        base = Attributes(asked.user, verb, group, "v1")
        account, node = _account(wanted.name), _node(wanted.name)
        if account is not None:
            self._allow(replace(base, resource="serviceaccounts", namespace=account[0], name=account[1]))
        elif mode and node:
            # who may be the node that they are on, may be any that they come to be on
            name = "*" if mode == _ASSOCIATED else node
            self._allow(replace(base, resource="nodes", name=name))
        else:
            self._allow(replace(base, resource="users", name=wanted.name))
        about = replace(base, group=_AUTHENTICATION)
        if wanted.uid:
            self._allow(replace(about, resource="uids", name=wanted.uid))
        self._check_groups(replace(base, resource="groups"), wanted.groups, constrained=bool(mode))
        self._check_extra(replace(about, resource="userextras"), wanted.extra, constrained=bool(mode))

    def _check_groups(self, asked: Attributes, groups: Sequence[str], *, constrained: bool) -> None:
        if constrained and "" in groups:
            raise refusal(asked, "impersonating the empty string group is not allowed")
        if constrained and MASTERS in groups:
            why = f"impersonating the {MASTERS} group is not allowed"
            raise refusal(replace(asked, name=MASTERS), why)
        if constrained and len(groups) >= _MANY and self._rbac.decide(replace(asked, name="*")).allowed:
            return
        for each in groups:
            self._allow(replace(asked, name=each))

    def _check_extra(self, asked: Attributes, extra: Mapping[str, Sequence[str]], *, constrained: bool) -> None:
        if constrained and (wrong := _wrong_extra(extra)):
            raise refusal(asked, wrong)
        many = constrained and sum(max(1, len(values)) for values in extra.values()) >= _MANY
        if many and self._rbac.decide(replace(asked, subresource="*", name="*")).allowed:
            return
        for key, values in extra.items():
            for value in values:
                self._allow(replace(asked, subresource=key, name=value))

    def _allow(self, asked: Attributes) -> None:
        decision = self._rbac.decide(asked)
        if not decision.allowed:
            raise refusal(asked, decision.reason)


def _modes(wanted: Wanted, user: User) -> list[str]:
    """In which modes somebody may be wanted, in the order in which they are tried; "" is the old one."""
    node = _node(wanted.name)
    if _account(wanted.name) is not None:
        return ["serviceaccount", ""] if wanted.is_name_only else [""]
    if not node:
        return ["user-info", ""]
    if not wanted.is_name_only:
        return [""]
    on = user.extra.get(_ON_NODE, ())
    associated = _account(user.name) is not None and list(on) == [node]
    return [_ASSOCIATED, "arbitrary-node", ""] if associated else ["arbitrary-node", ""]


def _wrong_extra(extra: Mapping[str, Sequence[str]]) -> str:
    for key, values in extra.items():
        if not key:
            return "impersonating the empty string key in extra is not allowed"
        if key != key.lower():
            return f"impersonating a non-lowercase key in extra is not allowed: {quoted(key)}"
        if not values:
            return "impersonating empty values in extra is not allowed"
        if "" in values:
            return "impersonating the empty string value in extra is not allowed"
    return ""


def _completed(wanted: Wanted, mode: str) -> User:
    """The user with the groups that everybody of their sort has."""
    groups = wanted.groups
    account = _account(wanted.name)
    if account is not None and not groups:
        groups = account_groups(account[0])
    elif mode and _node(wanted.name):
        groups = ("system:nodes",)
    if wanted.name == _ANONYMOUS:
        groups = groups if _UNAUTHENTICATED in groups else (*groups, _UNAUTHENTICATED)
    elif AUTHENTICATED not in groups and _UNAUTHENTICATED not in groups:
        groups = (*groups, AUTHENTICATED)
    return User(wanted.name, groups, wanted.uid, wanted.extra)


def _node(name: str) -> str:
    """The node that is meant by a user's name, "" where none is."""
    node = name.removeprefix(_NODE) if name.startswith(_NODE) else ""
    return "" if names.subdomain(node) else node


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
