"""What the server does beside its verbs: time, reviews, chance."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from tests.apiserver.test_custom_resources import DEFINITION, DEFINITIONS, WINGS, Asking, wing

from trimtab.apiserver.messages import User
from trimtab.apiserver.server import Server
from trimtab.apiserver.surroundings import Surroundings

CMS = "/api/v1/namespaces/default/configmaps"


class Clock:
    def __init__(self) -> None:
        self.time = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.time


async def test_the_past_is_forgotten_with_time() -> None:
    clock = Clock()
    server = Server(surroundings=Surroundings(now=clock, dice=random.Random(1)))
    ask = Asking(server)
    first = await ask("POST", CMS, {"metadata": {"name": "a"}})
    version = first["metadata"]["resourceVersion"]
    await ask("POST", CMS, {"metadata": {"name": "b"}})
    old = f"{CMS}?resourceVersion={version}&resourceVersionMatch=Exact"
    for minutes, code in ((4, 200), (2, 200), (6, 410)):
        clock.time += timedelta(minutes=minutes)
        await ask("GET", "/healthz")
        assert (await ask("GET", old))["code"] == code
    assert len((await ask("GET", CMS))["items"]) == 2


async def test_the_same_dice_make_the_same_server() -> None:
    async def run() -> list[Any]:
        ask = Asking(Server(surroundings=Surroundings(now=Clock(), dice=random.Random(7))))
        made = [await ask("POST", CMS, {"metadata": {"generateName": "a-"}, "data": {"n": str(n)}}) for n in range(3)]
        return [*made, await ask("GET", CMS)]

    assert await run() == await run()


async def test_reviews_are_answered_and_never_stored() -> None:
    server = Server()
    server.identities.add_token("t", User("ann", ("devs",)))
    ask = Asking(server)
    revision = server.store.revision
    token = "/apis/authentication.k8s.io/v1/tokenreviews"
    assert (await ask("POST", token, {"spec": {"token": "t"}}))["status"]["user"]["username"] == "ann"
    assert "authenticated" not in (await ask("POST", token, {"spec": {"token": "no"}}))["status"]
    me = await ask("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {})
    assert me["status"]["userInfo"]["username"] == "kubernetes-admin"
    access = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
    asked = {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}
    assert (await ask("POST", access, asked))["status"] == {"allowed": True}
    assert (await ask("POST", access, {"spec": {}}))["code"] == 422
    binding = {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}}
    assert (await ask("POST", "/api/v1/namespaces/default/bindings", binding))["code"] == 404
    assert server.store.revision == revision


async def test_objects_that_go_with_their_definition_are_told_of_in_order() -> None:
    server = Server()
    ask = Asking(server)
    await ask("POST", DEFINITIONS, DEFINITION)
    made = await ask("POST", WINGS, wing(span=2))
    await ask("DELETE", f"{DEFINITIONS}/wings.mythology.trimtab.dev")
    records = server.store.bucket("wings.mythology.trimtab.dev").read(0, 10)
    assert records is not None
    versions = [msgspec.json.decode(record.data)["metadata"]["resourceVersion"] for record in records]
    assert [record.gone for record in records] == [False, True]
    assert versions == [made["metadata"]["resourceVersion"], str(records[1].revision)]
