"""Conversion webhooks without a network: what they are asked, how rarely, and what of their answers counts."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.apiserver.test_custom_resources import DEFINITIONS, WINGS, Asking, wing, with_version

from trimtab.apiserver.admission.calling import Place
from trimtab.apiserver.admission.conversions import Conversions
from trimtab.apiserver.catalogue import Kind
from trimtab.apiserver.custom.converting import Unconverted
from trimtab.apiserver.server import Server
from trimtab.apiserver.surroundings import Surroundings
from trimtab.apiserver.versions import Versions

Json = dict[str, Any]
CONVERSION = {
    "strategy": "Webhook",
    "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": {"url": "https://127.0.0.1:1/convert"}},
}


class Webhook:
    """Stands for one: it answers what `spoil` makes of a good answer."""

    def __init__(self) -> None:
        self.asked: list[Json] = []
        self.spoil: dict[str, Any] = {}
        self.status = 200

    async def __call__(self, place: Place, body: bytes, timeout: float) -> tuple[int, bytes]:  # noqa: ARG002
        review = msgspec.json.decode(body)
        request = review["request"]
        self.asked.append(request)
        made = [{**obj, "apiVersion": request["desiredAPIVersion"], **self.spoil} for obj in request["objects"]]
        response = {"uid": request["uid"], "result": {"status": "Success"}, "convertedObjects": made}
        return self.status, msgspec.json.encode({**review, "response": response})


async def second(server: Server) -> Kind:
    """The second version of a kind of which an object is stored in the first."""
    ask = Asking(server)
    definition = with_version("v2")
    definition["spec"] = {**definition["spec"], "conversion": CONVERSION}
    first, other = definition["spec"]["versions"]
    definition["spec"]["versions"] = [{**first, "storage": True}, {**other, "storage": False}]
    assert (await ask("POST", DEFINITIONS, definition))["code"] == 201
    for name in "ab":
        assert (await ask("POST", WINGS, wing(name, span=2)))["code"] == 201
    kind = server.catalogue.find("mythology.trimtab.dev", "v2", "wings")
    assert kind is not None
    return kind


async def test_all_are_asked_for_at_once_and_none_twice() -> None:
    server, webhook = Server(), Webhook()
    kind = await second(server)
    versions = Versions(Conversions(server.store, Surroundings(), send=webhook))
    stored = [record.data for record in server.store.scan(kind.bucket)]
    for _ in range(2):
        shown = [msgspec.json.decode(data) for data in await versions.served(kind, stored)]
        assert [(obj["apiVersion"], obj["metadata"]["name"]) for obj in shown] == [
            ("mythology.trimtab.dev/v2", "a"),
            ("mythology.trimtab.dev/v2", "b"),
        ]
    assert [len(request["objects"]) for request in webhook.asked] == [2]
    server.close()


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        ({"apiVersion": "x/v9"}, "invalid groupVersion (expected mythology.trimtab.dev/v2, received x/v9)"),
        ({"kind": "Other"}, "invalid kind (expected Wing, received Other)"),
        ({"metadata": {"name": "moved"}}, "must have the same name: a != moved"),
        ({"metadata": []}, "must have the same name: a != "),
    ],
)
async def test_an_answer_that_is_none_is_told_of(spoil: Json, why: str) -> None:
    server, webhook = Server(), Webhook()
    kind = await second(server)
    versions = Versions(Conversions(server.store, Surroundings(), send=webhook))
    webhook.spoil = spoil
    with pytest.raises(Unconverted, match="Kind=Wing returned invalid") as found:
        await versions.served(kind, [next(server.store.scan(kind.bucket)).data])
    assert found.value.message.endswith(why)
    assert "reason" not in found.value.body()
    server.close()


async def test_labels_may_change_and_nothing_else_of_the_metadata() -> None:
    server, webhook = Server(), Webhook()
    kind = await second(server)
    versions = Versions(Conversions(server.store, Surroundings(), send=webhook))
    stored = next(server.store.scan(kind.bucket)).data
    before = msgspec.json.decode(stored)["metadata"]
    wanted = {"name": "a", "namespace": "default", "uid": before["uid"], "labels": {"x": "y"}, "finalizers": ["a.b/c"]}
    webhook.spoil = {"metadata": wanted}
    [shown] = await versions.served(kind, [stored])
    assert msgspec.json.decode(shown)["metadata"] == {**before, "labels": {"x": "y"}}
    server.close()
