"""Policies of the cluster that change what is written, and who is asked a second time."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trimtab.apiserver import warned
from trimtab.apiserver.admission.rounds import Rounds
from trimtab.apiserver.messages import Request, Response, User
from trimtab.apiserver.server import ADMIN, Server

Json = dict[str, Any]
REGISTRATION = "/apis/admissionregistration.k8s.io/v1"
CMS = "/api/v1/namespaces/default/configmaps"
MATCH = {
    "resourceRules": [
        {"operations": ["CREATE", "UPDATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}
    ],
    "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}},
}


class Asking:
    def __init__(self, user: User = ADMIN) -> None:
        self.server = Server()
        self.user = user

    async def __call__(self, method: str, path: str, body: Any = None, user: User | None = None) -> tuple[int, Json]:
        data = b"" if body is None else json.dumps(body).encode()
        headers = {"content-type": "application/json", "user-agent": "me/1"}
        answer = await self.server.handle(Request(method, path, "", headers, data, user or self.user))
        assert isinstance(answer, Response)
        return answer.status, json.loads(answer.body)

    async def policy(self, name: str, *mutations: Json, again: bool = False, **spec: Any) -> None:
        whole = {"matchConstraints": MATCH, "mutations": list(mutations), **spec}
        whole["reinvocationPolicy"] = "IfNeeded" if again else "Never"
        made = await self(
            "POST", f"{REGISTRATION}/mutatingadmissionpolicies", {"metadata": {"name": name}, "spec": whole}
        )
        assert made[0] == 201, made
        bound = {"metadata": {"name": name}, "spec": {"policyName": name}}
        assert (await self("POST", f"{REGISTRATION}/mutatingadmissionpolicybindings", bound))[0] == 201

    async def create(self, name: str, **data: str) -> tuple[int, Json]:
        return await self("POST", CMS, {"metadata": {"name": name}, "data": data})


def part(expression: str) -> Json:
    return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}


def patch(expression: str) -> Json:
    return {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}


async def test_parts_are_merged_and_patches_applied_in_turn() -> None:
    ask = Asking()
    await ask.policy(
        "p",
        part("Object{data: {'more': variables.n}, metadata: Object.metadata{labels: {'a/b': 'c'}}}"),
        patch("[JSONPatch{op: 'remove', path: '/metadata/labels/' + jsonpatch.escapeKey('a/b')}, "
              "JSONPatch{op: 'copy', from: '/data/more', path: '/data/again'}]"),
        variables=[{"name": "n", "expression": "object.metadata.name + string(size(object.data))"}],
    )  # fmt: skip
    status, made = await ask.create("x", k="v")
    assert status == 201
    assert made["data"] == {"k": "v", "more": "x1", "again": "x1"}
    assert "labels" not in made["metadata"] or made["metadata"]["labels"] == {}
    owned = [list(entry["fieldsV1"].get("f:data", {})) for entry in made["metadata"]["managedFields"]]
    assert owned == [[".", "f:k"]]  # what a policy adds is nobody's


async def test_who_wants_to_sees_again_what_others_changed() -> None:
    """The first counts, once more after the second has changed the object; the second does not want to see it again."""
    ask = Asking()
    count = "Object{data: {'%s': string(int(object.data[?'%s'].orValue('0')) + 1)}}"
    await ask.policy("a", part(count % ("a", "a")), again=True)
    await ask.policy("b", part(count % ("b", "b")))
    assert (await ask.create("x", k="v"))[1]["data"] == {"k": "v", "a": "2", "b": "1"}


@pytest.mark.parametrize(
    ("mutation", "status", "said"),
    [
        (patch("[JSONPatch{op: 'remove', path: '/a/b'}]"), 403, 'doc is missing path: "/a/b": missing value'),
        (patch("[JSONPatch{op: 'add', path: '/data', value: {'a': 1}}]"), 500, "cannot unmarshal number"),
        (part("Object{metadata: Object.spec{labels: {'a': 'b'}}}"), 403, 'unexpected type name "Object.spec"'),
        (part("Object{metadata: Object.metadata{nope: 1}}"), 403, "field not declared in schema"),
        (
            part("Object{metadata: Object.metadata{ownerReferences: [Object.metadata.ownerReferences{uid: 'x'}]}}"),
            403, "may not mutate atomic arrays, maps or structs: .metadata.ownerReferences[0]",
        ),
        (part("Object{data: {'a': string([0, 1, 2].map(x, [0, 1].map(y, 1 / (x - y))).size())}}"), 403, "by zero"),
    ],
)  # fmt: skip
async def test_what_cannot_be_done_is_refused_or_ignored(mutation: Json, status: int, said: str) -> None:
    ask = Asking()
    await ask.policy("p", mutation)
    got, refused = await ask.create("x", k="v")
    assert (got, said in refused.get("message", "")) == (status, True), refused
    if status == 403:
        assert refused["message"].startswith("policy 'p' with binding 'p' denied request: ")
        lenient = Asking()
        await lenient.policy("p", mutation, failurePolicy="Ignore")
        assert (await lenient.create("x", k="v"))[1]["data"] == {"k": "v"}


async def test_rules_that_cost_too_much_together_are_given_up() -> None:
    ask = Asking()
    dear = "range.map(x, range.map(y, x + y)).size() >= 0".replace("range", "variables.r")
    numbers = ", ".join(map(str, range(250)))
    spec = {
        "matchConstraints": MATCH,
        "variables": [{"name": "r", "expression": f"[{numbers}]"}],
        "validations": [{"expression": dear}] * 40,
    }
    await ask("POST", f"{REGISTRATION}/validatingadmissionpolicies", {"metadata": {"name": "p"}, "spec": spec})
    bound = {"metadata": {"name": "p"}, "spec": {"policyName": "p", "validationActions": ["Deny"]}}
    await ask("POST", f"{REGISTRATION}/validatingadmissionpolicybindings", bound)
    status, refused = await ask.create("x")
    assert status == 422
    assert refused["message"].endswith("out of cost budget, no further validation rules will be run")


async def test_a_policy_does_not_read_for_who_may_not() -> None:
    ask = Asking()
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    rule = {"apiGroups": ["admissionregistration.k8s.io"], "resources": ["*"], "verbs": ["*"]}
    await ask("POST", f"{rbac}/clusterroles", {"metadata": {"name": "r"}, "rules": [rule]})
    subject = {"kind": "User", "name": "jane", "apiGroup": "rbac.authorization.k8s.io"}
    ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "r"}
    await ask("POST", f"{rbac}/clusterrolebindings", {"metadata": {"name": "r"}, "roleRef": ref, "subjects": [subject]})
    jane = User("jane", ("system:authenticated",))
    spec = {"matchConstraints": MATCH, "validations": [{"expression": "true"}]}
    given = {"metadata": {"name": "p"}, "spec": {**spec, "paramKind": {"apiVersion": "v1", "kind": "Secret"}}}
    where = f"{REGISTRATION}/validatingadmissionpolicies"
    status, refused = await ask("POST", where, given, jane)
    assert (status, refused["details"]["causes"][0]["field"]) == (422, "spec.paramKind")
    assert (await ask("POST", where, {"metadata": {"name": "p"}, "spec": spec}, jane))[0] == 201


@settings(max_examples=200)
@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=6))
def test_those_are_due_again_after_whom_others_changed_something(some: list[tuple[bool, bool]]) -> None:
    """Each of some changes the object or does not, and wants to see it again or does not."""
    rounds, value = Rounds(), 0
    rounds.begin({"v": value})
    for number, (changes, again) in enumerate(some):
        if changes:
            value += 1
            rounds.changed()
        if again:
            rounds.asked(number)
    rounds.end({"v": value})
    rounds.again = True
    rounds.begin({"v": value})
    due = {number for number in range(len(some)) if not rounds.skips(number)}
    assert due == {n for n, (_, again) in enumerate(some) if again and any(c for c, _ in some[n + 1 :])}
    assert rounds.wanted == any(changes for changes, _ in some)


def test_warnings_are_told_once_and_cut_where_there_are_too_many() -> None:
    assert warned.headers(['a "b"', 'a "b"', "", "line\nbreak"]) == [("Warning", '299 - "a \\"b\\""')]
    many = [f"{n:03}" + "x" * 997 for n in range(30)]
    told = [value.removeprefix('299 - "').removesuffix('"') for _, value in warned.headers(many)]
    assert told == [text[:256] for text in many[:16]]
