"""The flow schemas and levels that always have to be, how they have to be, and how the server shows such specs."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

Json: TypeAlias = dict[str, Any]

_ALL: Final = {
    "resourceRules": [
        {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "clusterScope": True, "namespaces": ["*"]}
    ],
    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
}


def _of_groups(*groups: str) -> list[Json]:
    return [{"subjects": [{"kind": "Group", "group": {"name": name}} for name in groups], **_ALL}]


SCHEMAS: Final[dict[str, Json]] = {
    "exempt": {
        "priorityLevelConfiguration": {"name": "exempt"},
        "matchingPrecedence": 1,
        "rules": _of_groups("system:masters"),
    },
    "catch-all": {
        "priorityLevelConfiguration": {"name": "catch-all"},
        "matchingPrecedence": 10000,
        "distinguisherMethod": {"type": "ByUser"},
        "rules": _of_groups("system:unauthenticated", "system:authenticated"),
    },
}
CATCH_ALL: Final[Json] = {
    "type": "Limited",
    "limited": {"nominalConcurrencyShares": 5, "lendablePercent": 0, "limitResponse": {"type": "Reject"}},
}

_NOTHING: Final[Json] = {}
_NAMED: Final = {"name": ("Name", "", None)}
_SUBJECT: Final = {
    "kind": ("Kind", "", None),
    "user": ("User", None, _NAMED),
    "group": ("Group", None, _NAMED),
    "serviceAccount": ("ServiceAccount", None, {"namespace": ("Namespace", "", None), **_NAMED}),
}
_RESOURCES: Final = {
    "verbs": ("Verbs", None, None),
    "apiGroups": ("APIGroups", None, None),
    "resources": ("Resources", None, None),
    "clusterScope": ("ClusterScope", False, None),
    "namespaces": ("Namespaces", None, None),
}
_URLS: Final = {"verbs": ("Verbs", None, None), "nonResourceURLs": ("NonResourceURLs", None, None)}
SCHEMA: Final[Any] = {
    "priorityLevelConfiguration": ("PriorityLevelConfiguration", _NOTHING, _NAMED),
    "matchingPrecedence": ("MatchingPrecedence", 0, None),
    "distinguisherMethod": ("DistinguisherMethod", None, {"type": ("Type", "", None)}),
    "rules": (
        "Rules",
        None,
        {
            "subjects": ("Subjects", None, _SUBJECT),
            "resourceRules": ("ResourceRules", None, _RESOURCES),
            "nonResourceRules": ("NonResourceRules", None, _URLS),
        },
    ),
}
_QUEUES: Final = {
    "queues": ("Queues", 0, None),
    "handSize": ("HandSize", 0, None),
    "queueLengthLimit": ("QueueLengthLimit", 0, None),
}
_SHARES: Final = ("NominalConcurrencyShares", None, None)
_LENT: Final = ("LendablePercent", None, None)
LEVEL: Final[Any] = {
    "type": ("Type", "", None),
    "limited": (
        "Limited",
        None,
        {
            "nominalConcurrencyShares": _SHARES,
            "limitResponse": (
                "LimitResponse",
                _NOTHING,
                {"type": ("Type", "", None), "queuing": ("Queuing", None, _QUEUES)},
            ),
            "lendablePercent": _LENT,
            "borrowingLimitPercent": ("BorrowingLimitPercent", None, None),
        },
    ),
    "exempt": ("Exempt", None, {"nominalConcurrencyShares": _SHARES, "lendablePercent": _LENT}),
}
