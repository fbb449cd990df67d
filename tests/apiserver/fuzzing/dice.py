"""Requests by chance: from nothing, from objects that are right, and from what is known to be hard to take."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import msgspec
from tests.apiserver.fuzzing import hostile
from tests.apiserver.fuzzing.mutated import Corpus
from tests.apiserver.fuzzing.schemas import Shapes
from tests.apiserver.fuzzing.words import (
    ACCEPTS,
    CMS,
    COLLECTIONS,
    DEFINITION,
    DEFINITIONS,
    KEYS,
    OBJECTS,
    PARAMETERS,
    PATHS,
    SCALARS,
    TEXTS,
    TYPES,
    WINGS,
)

from trimtab.apiserver.messages import Request
from trimtab.apiserver.server import ADMIN, Server


class Dice(random.Random):
    """Requests that are not all wrong."""

    def value(self, depth: int = 0) -> Any:
        kind = self.random()
        if depth > 4 or kind < 0.35:
            return self.choice(SCALARS)
        if kind < 0.5:
            return [self.value(depth + 1) for _ in range(self.randrange(3))]
        return {self.choice(KEYS): self.value(depth + 1) for _ in range(self.randrange(5))}

    def body(self) -> bytes:
        kind = self.random()
        if kind < 0.1:
            return self.randbytes(self.randrange(60))
        if kind < 0.15:
            return b"k8s\x00" + self.randbytes(self.randrange(60))
        if kind < 0.2:
            return b"[" * self.choice([10, 5000]) + b'"\\ud800"'
        value = self.value() if kind < 0.4 else self.twisted(self.choice(OBJECTS))
        body = msgspec.json.encode(value)
        return body if kind < 0.9 else body[: self.randrange(len(body) + 1)]

    def twisted(self, obj: Any) -> Any:
        """An object in which something is something else."""
        if isinstance(obj, dict) and obj and self.random() < 0.85:
            key = self.choice(list(obj))
            return {**obj, key: self.twisted(obj[key])}
        if isinstance(obj, list) and obj and self.random() < 0.8:
            return [self.twisted(obj[0]), *obj[1:]]
        return self.value(2)

    def sensible(self, query: str) -> Request:
        """A request that is right but for a detail or two."""
        path, obj = self.choice(COLLECTIONS)
        obj = self.twisted(obj) if self.random() < 0.8 else obj
        kind = self.randrange(5)
        if kind == 0:
            return Request("POST", path, query, {}, msgspec.json.encode(obj), ADMIN)
        name = DEFINITION["metadata"]["name"] if path == DEFINITIONS else "a"
        path = f"{path}/{name}" + self.choice(["", "", "/status", "/scale"])
        if kind == 1:
            return Request("PUT", path, query, {}, msgspec.json.encode(obj), ADMIN)
        media = {"content-type": self.choice(TYPES[2:6])}
        if media["content-type"].endswith("json-patch+json") and "merge" not in media["content-type"]:
            obj = self.twisted(OBJECTS[5])
        if "apply" in media["content-type"]:
            query += "&fieldManager=me&force=1"
        return Request("PATCH", path, query, media, msgspec.json.encode(obj), ADMIN)

    def loose(self) -> Request:
        """Whatever, wherever."""
        if self.random() < 0.7:
            request = self.sensible(self.query() if self.random() < 0.2 else "")
            return replace(request, headers={**request.headers, "accept": self.choice(ACCEPTS)})
        headers = {"content-type": self.choice(TYPES), "accept": self.choice(ACCEPTS)}
        method = self.choice(["GET", "POST", "PUT", "PATCH", "PATCH", "DELETE", "HEAD", "BREW"])
        return Request(method, self.choice(PATHS), self.query(), headers, self.body(), ADMIN)

    def query(self) -> str:
        """Parameters."""
        names = [self.choice(PARAMETERS) for _ in range(self.randrange(4))]
        return "&".join(f"{name}={quote(self.choice(TEXTS), errors='replace')}" for name in names)


class Source:
    """Requests, without an end; those that belong together follow each other."""

    def __init__(self, seed: int) -> None:
        self.dice = Dice(seed)
        self._corpus = Corpus()
        self._shapes = Shapes(Server())
        self._coming: list[Request] = []
        self._places = self._corpus.places()
        self.dice.shuffle(self._places)
        self._hostile: list[Callable[[], list[Request]]] = [
            self._bad_body,
            self._bad_definition,
            self._bad_policy,
            self._bad_patch,
            self._bad_question,
            self._bad_headers,
        ]

    def request(self) -> Request:
        """The next one."""
        while not self._coming:
            kind = self.dice.random()
            if kind < 0.7 and self._places:
                self._coming = [self._corpus.odd(self.dice, *self._places.pop(), ADMIN)]
            elif kind < 0.8:
                self._coming = self._corpus.play(self.dice, ADMIN)
            elif kind < 0.9:
                self._coming = self._any_kind()
            elif kind < 0.95:
                self._coming = [self.dice.loose() for _ in range(10)]
            else:
                self._coming = self.dice.choice(self._hostile)()
        return self._coming.pop(0)

    def _any_kind(self) -> list[Request]:
        """A life of an object of any kind: made, looked at, changed, deleted."""
        dice, kind = self.dice, self.dice.choice(self._shapes.kinds)
        name = dice.choice(["a", "b", "kube-root-ca.crt", "A_", "x" * 300, "a.b", "default", "é"])
        obj = self._shapes.object(dice, kind, name)
        collection, one = self._shapes.path(dice, kind, ""), self._shapes.path(dice, kind, name).replace("é", "%C3%A9")
        media, patch = {"content-type": dice.choice(TYPES[2:6])}, self._shapes.object(dice, kind, name)
        query = dice.query() if dice.random() < 0.3 else ""
        accept = {"accept": dice.choice(ACCEPTS)}
        if "apply" in media["content-type"]:
            query += "&fieldManager=me&force=true"
        body = msgspec.json.encode(obj)
        made = Request("POST", collection, "", {}, body, ADMIN)
        if dice.random() < 0.2:
            sent = {"content-type": "application/vnd.kubernetes.protobuf"}
            made = replace(made, body=hostile.protobuf_body(dice, body), headers=sent)
        other = msgspec.json.encode(self._shapes.object(dice, kind, name))
        return [
            made,
            Request("GET", collection, dice.query(), accept, b"", ADMIN),
            Request("GET", one, "", accept, b"", ADMIN),
            Request("PATCH", one, query, {**media, **accept}, msgspec.json.encode(patch), ADMIN),
            Request("PUT", one, "", {}, other, ADMIN),
            Request("GET", collection, "watch=1&" + dice.query(), accept, b"", ADMIN),
            Request("DELETE", dice.choice([one, one, collection]), dice.query(), {}, b"", ADMIN),
        ]

    def _bad_body(self) -> list[Request]:
        dice, kind = self.dice, self.dice.choice(self._shapes.kinds)
        method = dice.choice(["POST", "POST", "PUT", "PATCH", "DELETE"])
        path = self._shapes.path(dice, kind, "" if method == "POST" else "a")
        way = dice.randrange(3)
        if way == 0:
            body, media = hostile.json_body(dice), "application/json"
        elif way == 1:
            body, media = hostile.yaml_body(dice), "application/yaml"
        else:
            right = msgspec.json.encode(self._shapes.object(dice, kind, "a"))
            body, media = hostile.protobuf_body(dice, right), "application/vnd.kubernetes.protobuf"
        if method == "PATCH":
            media = dice.choice(TYPES[2:6])
        return [Request(method, path, "fieldManager=me", {"content-type": media}, body[: 3 << 20], ADMIN)]

    def _bad_definition(self) -> list[Request]:
        dice, name = self.dice, DEFINITION["metadata"]["name"]
        made = hostile.definition(dice)
        values: list[Any] = [hostile.AS + "!", "a" * 40 + "!", 1, -1, 1e300, None, [], ["a", "a"], {"a": {"a": 1}}]
        values += [[[1]], {"metadata": 1, "kind": []}, [{"a": 1}, {}]]
        wings = [{**OBJECTS[6], "spec": dice.choice(values)} for _ in range(3)]
        return [
            Request("DELETE", f"{DEFINITIONS}/{name}", "", {}, b"", ADMIN),
            Request("POST", DEFINITIONS, "", {}, _encoded(made), ADMIN),
            *(Request("POST", WINGS, "", {}, _encoded(wing), ADMIN) for wing in wings),
            Request("PUT", f"{WINGS}/a", "", {}, _encoded(wings[0]), ADMIN),
            Request("GET", WINGS, dice.query(), {"accept": dice.choice(ACCEPTS)}, b"", ADMIN),
            Request("GET", "/openapi/v3/apis/mythology.trimtab.dev/v1", "", {}, b"", ADMIN),
            Request("DELETE", f"{DEFINITIONS}/{name}", "", {}, b"", ADMIN),
            Request("POST", DEFINITIONS, "", {}, _encoded(DEFINITION), ADMIN),
        ]

    def _bad_policy(self) -> list[Request]:
        dice = self.dice
        base, place = "/apis/admissionregistration.k8s.io/v1", {"apiVersion": "admissionregistration.k8s.io/v1"}
        rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"]}
        condition = {"name": "c", "expression": hostile.expression(dice)}
        one = {"expression": hostile.expression(dice), "messageExpression": hostile.expression(dice)}
        spec = {
            "failurePolicy": dice.choice(["Fail", "Ignore"]),
            "matchConstraints": {"resourceRules": [rule]},
            "variables": [{"name": "x", "expression": hostile.expression(dice)}],
            "validations": [one],
            "matchConditions": [condition] * dice.randrange(3),
            "auditAnnotations": [{"key": "k", "valueExpression": hostile.expression(dice)}],
        }
        policy = {**place, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "p"}, "spec": spec}
        bound = {"policyName": "p", "validationActions": ["Deny", "Warn"][: dice.randrange(1, 3)]}
        binding = {**place, "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": "p"}, "spec": bound}
        config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "policed"}, "data": {"k": hostile.AS}}
        policies, bindings = f"{base}/validatingadmissionpolicies", f"{base}/validatingadmissionpolicybindings"
        return [
            Request("POST", policies, "", {}, _encoded(policy), ADMIN),
            Request("POST", bindings, "", {}, _encoded(binding), ADMIN),
            Request("POST", CMS, "", {}, _encoded(config), ADMIN),
            Request("DELETE", f"{CMS}/policed", "", {}, b"", ADMIN),
            Request("DELETE", f"{bindings}/p", "", {}, b"", ADMIN),
            Request("DELETE", f"{policies}/p", "", {}, b"", ADMIN),
        ]

    def _bad_patch(self) -> list[Request]:
        dice, kind = self.dice, self.dice.choice(self._shapes.kinds)
        path = dice.choice([f"{CMS}/a", f"{WINGS}/a", self._shapes.path(dice, kind, "a")])
        way = dice.randrange(3)
        if way == 0:
            body, media = _encoded(hostile.json_patch(dice)), TYPES[2]
        elif way == 1:
            body, media = _encoded(hostile.strategic_patch(dice)), dice.choice(TYPES[3:6])
        else:
            body, media = hostile.yaml_body(dice), TYPES[5]
        query = "fieldManager=me&force=true" if media == TYPES[5] else ""
        return [Request("PATCH", path, query, {"content-type": media}, body, ADMIN)]

    def _bad_question(self) -> list[Request]:
        dice, kind = self.dice, self.dice.choice(self._shapes.kinds)
        path = self._shapes.path(dice, kind, "")
        selector, token = quote(hostile.selector(dice)), quote(hostile.token(dice))
        queries = [
            f"labelSelector={selector}",
            f"fieldSelector={selector}",
            f"limit=1&continue={token}",
            f"watch=1&labelSelector={selector}",
            f"resourceVersion={token[:40]}&resourceVersionMatch=Exact",
            f"watch=1&timeoutSeconds={'9' * dice.choice([2, 10, 30])}",
            f"limit={'9' * dice.choice([2, 18, 30])}",
            "&".join(["labelSelector=a"] * 5000),
            "&" * 50_000,
            "%" * 1000,
        ]
        return [Request(dice.choice(["GET", "DELETE"]), path, dice.choice(queries), {}, b"", ADMIN)]

    def _bad_headers(self) -> list[Request]:
        dice, kind = self.dice, self.dice.choice(self._shapes.kinds)
        path = self._shapes.path(dice, kind, "")
        accept = dice.choice([*ACCEPTS, ";q=" * 5000, "," * 50_000, "application/json;" * 3000, "a/b;as=" + "x" * 5000])
        given = hostile.headers(dice)
        user = None if "authorization" in given else ADMIN
        media = dice.choice([*TYPES, "application/json; charset=\xff", "/", ";", "a" * 10_000])
        body = _encoded(self._shapes.object(dice, kind, "a"))
        return [
            Request("GET", path, "", {**given, "accept": accept}, b"", user),
            Request("POST", path, "", {**given, "content-type": media, "content-encoding": "gzip"}, body, user),
        ]


def _encoded(value: Any) -> bytes:
    """As JSON; what is nested deeper than Python goes is so in text."""
    try:
        return msgspec.json.encode(value)
    except RecursionError:
        return b"[" * 100_000
