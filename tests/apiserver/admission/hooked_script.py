"""What is asked of a server that has webhooks and policies: (method, path, body).

`{hook}` and `{bundle}` are put in.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]
Step = tuple[str, str, Any]

REGISTRATION = "/apis/admissionregistration.k8s.io/v1"
CMS = "/api/v1/namespaces/hooked/configmaps"
ALL_CMS = {"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}
HOOKED = {"matchLabels": {"kubernetes.io/metadata.name": "hooked"}}


def config_map(name: str, data: Json | None = None, **metadata: Any) -> Json:
    made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}}
    return made if data is None else {**made, "data": data}


def hook(name: str, path: str, **more: Any) -> Json:
    return {
        "name": f"{name}.hooks.example",
        "clientConfig": {"url": "{hook}/" + path, "caBundle": "{bundle}"},
        "rules": [ALL_CMS],
        "namespaceSelector": HOOKED,
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        **more,
    }


def configuration(kind: str, name: str, *hooks: Json) -> Step:
    plural = f"{kind.lower()}webhookconfigurations"
    made = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": f"{kind}WebhookConfiguration"}
    return "POST", f"{REGISTRATION}/{plural}", {**made, "metadata": {"name": name}, "webhooks": list(hooks)}


def removed(kind: str, name: str) -> Step:
    return "DELETE", f"{REGISTRATION}/{kind.lower()}webhookconfigurations/{name}", None


def with_hooks(kind: str, *hooks: Json, then: list[Step]) -> Iterator[Step]:
    yield configuration(kind, "c", *hooks)
    yield from then
    yield removed(kind, "c")


def create(name: str = "x", query: str = "", **metadata: Any) -> list[Step]:
    """Create one, and delete it where no webhook is in the way any longer."""
    return [("POST", CMS + query, config_map(name, {"a": "b"}, **metadata))]


GONE: Step = ("DELETE", f"{CMS}/x", None)


def steps() -> Iterator[Step]:
    yield "POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "hooked"}}
    yield from refusing()
    yield from changing()
    yield from choosing()
    yield from policies()


def refusing() -> Iterator[Step]:
    for path in (
        "deny",
        "deny/message",
        "deny/reason",
        "deny/cause",
        "broken",
        "garbage",
        "nouid",
        "noresponse",
        "nokind",
    ):
        yield from with_hooks("Validating", hook("v", path), then=create())
    for path in ("deny/message", "badpatch/none", "badpatch/test", "badpatch/remove", "nopatchtype", "broken"):
        yield from with_hooks("Mutating", hook("m", path), then=create())
    for path in ("broken", "garbage"):
        yield from with_hooks("Validating", hook("v", path, failurePolicy="Ignore"), then=create())
        yield GONE
    yield from with_hooks("Validating", hook("v", "slow", timeoutSeconds=1), then=create())
    yield from with_hooks("Validating", hook("v", "warn"), then=create())
    yield GONE
    service = {"service": {"namespace": "hooked", "name": "nobody"}}
    yield from with_hooks("Validating", hook("v", "", clientConfig=service), then=create())
    nowhere = {"url": "https://127.0.0.1:9/x", "caBundle": "{bundle}"}
    yield from with_hooks("Validating", hook("v", "", clientConfig=nowhere), then=create())
    effects = hook("v", "allow", sideEffects="NoneOnDryRun")
    yield from with_hooks("Validating", effects, then=create(query="?dryRun=All"))
    several = [hook("a", "allow"), hook("b", "deny/message")]
    yield from with_hooks("Validating", *several, then=create())


def changing() -> Iterator[Step]:
    yield from with_hooks("Mutating", hook("m", "label/k=v"), then=create())
    yield GONE
    two = [hook("a", "label/k=1", reinvocationPolicy="IfNeeded"), hook("b", "label/l=2")]
    yield from with_hooks("Mutating", *two, then=create())
    yield GONE
    yield configuration("Mutating", "z", hook("z", "label/k=z"))
    yield configuration("Mutating", "a", hook("a", "label/k=a"))
    yield from create()
    yield "PUT", f"{CMS}/x", config_map("x", {"a": "c"})
    yield removed("Mutating", "z")
    yield removed("Mutating", "a")
    yield GONE


def choosing() -> Iterator[Step]:
    deny = "deny/message"
    rules = [{**ALL_CMS, "operations": ["UPDATE", "DELETE"]}]
    yield from with_hooks(
        "Validating", hook("v", deny, rules=rules), then=[*create(), ("PUT", f"{CMS}/x", config_map("x")), GONE]
    )
    yield GONE
    for rule in (
        {**ALL_CMS, "resources": ["*"]}, {**ALL_CMS, "resources": ["*/*"]}, {**ALL_CMS, "resources": ["configmaps/*"]},
        {**ALL_CMS, "scope": "Cluster"}, {**ALL_CMS, "apiGroups": ["apps"]}, {**ALL_CMS, "apiVersions": ["*"]},
    ):  # fmt: skip
        yield from with_hooks("Validating", hook("v", deny, rules=[rule]), then=create(query="?dryRun=All"))
    other = {"matchLabels": {"nobody": "here"}}
    yield from with_hooks("Validating", hook("v", deny, namespaceSelector=other), then=create(query="?dryRun=All"))
    by_object = {"matchExpressions": [{"key": "held", "operator": "Exists"}]}
    then = [*create(query="?dryRun=All"), *create(query="?dryRun=All", labels={"held": "y"})]
    yield from with_hooks("Validating", hook("v", deny, objectSelector=by_object), then=then)
    for expression in (
        "request.userInfo.username == 'nobody'", "object.metadata.name == 'x'", "object.data.nothing == 'x'",
        "authorizer.group('').resource('pods').namespace('hooked').check('list').allowed()",
    ):  # fmt: skip
        conditions = [{"name": "c", "expression": expression}]
        yield from with_hooks(
            "Validating", hook("v", deny, matchConditions=conditions), then=create(query="?dryRun=All")
        )


def policy(name: str, *validations: Json, **spec: Any) -> Step:
    made = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy"}
    match = {"resourceRules": [ALL_CMS], "namespaceSelector": HOOKED}
    whole = {"matchConstraints": match, "validations": list(validations), "failurePolicy": "Fail", **spec}
    return "POST", f"{REGISTRATION}/validatingadmissionpolicies", {**made, "metadata": {"name": name}, "spec": whole}


def bound(name: str, to: str, **spec: Any) -> Step:
    made = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding"}
    whole = {"policyName": to, "validationActions": ["Deny"], **spec}
    where = f"{REGISTRATION}/validatingadmissionpolicybindings"
    return "POST", where, {**made, "metadata": {"name": name}, "spec": whole}


def with_policy(given: Step, *bindings: Step, then: list[Step]) -> Iterator[Step]:
    yield given
    yield from bindings
    yield from then
    for _, path, body in bindings:
        yield "DELETE", f"{path}/{body['metadata']['name']}", None
    yield "DELETE", f"{given[1]}/{given[2]['metadata']['name']}", None


def policies() -> Iterator[Step]:
    dry = create(query="?dryRun=All")
    for validation in (
        {"expression": "object.data.a == 'c'"},
        {"expression": "object.data.a == 'c'", "message": "a has to be c"},
        {"expression": "object.data.a == 'c'", "message": "m", "reason": "Forbidden"},
        {"expression": "object.data.a == 'c'", "messageExpression": "'a is ' + object.data.a"},
        {"expression": "object.data.a == 'c'", "messageExpression": "string(object.data.nothing)", "message": "m"},
        {"expression": "object.data.nothing == 'c'"},
        {"expression": "object.data.a == 'b' && request.operation == 'CREATE' && oldObject == null"},
        {"expression": "request.name == 'x' && request.resource.resource == 'configmaps'"},
        {"expression": "namespaceObject.metadata.name == 'hooked'"},
        {"expression": "authorizer.requestResource.check('create').allowed()"},
        {"expression": "has(object.metadata.labels)", "reason": "RequestEntityTooLarge"},
    ):
        yield from with_policy(policy("p", validation), bound("b", "p"), then=dry)
    variables = [
        {"name": "a", "expression": "object.data.a"},
        {"name": "twice", "expression": "variables.a + variables.a"},
    ]
    given = policy(
        "p",
        {"expression": "variables.twice == 'b'", "messageExpression": "'was ' + variables.twice"},
        variables=variables,
    )
    yield from with_policy(given, bound("b", "p"), then=dry)
    false = {"expression": "false", "message": "never"}
    for actions in (["Warn"], ["Audit"], ["Warn", "Audit"]):
        yield from with_policy(policy("p", false), bound("b", "p", validationActions=actions), then=dry)
    broken = {"expression": "object.data.nothing == 'c'"}
    yield from with_policy(policy("p", broken, failurePolicy="Ignore"), bound("b", "p"), then=dry)
    conditions = [{"name": "c", "expression": "object.metadata.name != 'x'"}]
    yield from with_policy(policy("p", false, matchConditions=conditions), bound("b", "p"), then=dry)
    yield "POST", CMS, config_map("params", {"wanted": "z"}, labels={"is": "params"})
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    given = policy("p", {"expression": "object.data.a == params.data.wanted", "message": "not wanted"}, paramKind=kind)
    refs: list[Json] = [
        {"name": "params", "namespace": "hooked", "parameterNotFoundAction": "Deny"},
        {"name": "nothing", "namespace": "hooked", "parameterNotFoundAction": "Deny"},
        {"name": "nothing", "namespace": "hooked", "parameterNotFoundAction": "Allow"},
        {"selector": {"matchLabels": {"is": "params"}}, "parameterNotFoundAction": "Deny"},
    ]
    for ref in refs:
        yield from with_policy(given, bound("b", "p", paramRef=ref), then=dry)
    match = {"objectSelector": {"matchLabels": {"no": "one"}}}
    yield from with_policy(policy("p", false), bound("b", "p", matchResources=match), then=dry)
