"""What `make fuzz` found: each was a crash, a 500, a connection that said no more, or an answer that was none."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress

import msgspec
import pytest

from trimtab.apiserver.http import Listener
from trimtab.apiserver.messages import Answer, Request, Response, Streaming
from trimtab.apiserver.server import ADMIN, Server

CMS = "/api/v1/namespaces/default/configmaps"
CONFIG = b'{"metadata":{"name":"a"}}'


@pytest.fixture
def server() -> Server:
    return Server()


def status_of(answer: Answer) -> tuple[int, str]:
    assert isinstance(answer, Response)
    status = msgspec.json.decode(answer.body)
    assert status["kind"] == "Status"
    return answer.status, status["message"]


@pytest.mark.parametrize("text", ["[" * 100_000, "- " * 50_000 + "a", "{a: " * 100_000, "? " * 50_000, "[" * 501])
@pytest.mark.parametrize("media", ["application/yaml", "application/apply-patch+yaml"])
async def test_yaml_that_is_nested_deep_does_not_overflow_the_stack(server: Server, text: str, media: str) -> None:
    """libyaml's binding takes each level on the stack of C: the process died."""
    applies = "apply" in media
    method, path = ("PATCH", f"{CMS}/a") if applies else ("POST", CMS)
    query = "fieldManager=me" if applies else ""
    code, message = status_of(
        await server.handle(Request(method, path, query, {"content-type": media}, text.encode(), ADMIN))
    )
    assert code == 400
    assert "exceeded max depth" in message


async def test_yaml_that_is_nested_a_little_is_read(server: Server) -> None:
    text = "kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\ndata: " + "{a: " * 400 + "1" + "}" * 400
    answer = await server.handle(Request("POST", CMS, "", {"content-type": "application/yaml"}, text.encode(), ADMIN))
    code, message = status_of(answer)
    assert (code, "depth" in message) == (400, False)  # it is no ConfigMap, and that is all that is wrong


async def test_a_watch_that_cannot_be_shown_as_asked_ends_with_an_error(server: Server) -> None:
    accept = {"accept": "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"}
    answer = await server.handle(Request("GET", CMS, "watch=1&resourceVersion=5", accept, b"", ADMIN))
    assert isinstance(answer, Streaming)
    await server.handle(Request("POST", CMS, "", {}, CONFIG, ADMIN))
    told = msgspec.json.decode(await answer.source.read())
    assert (told["type"], told["object"]["reason"]) == ("ERROR", "NotAcceptable")
    assert await answer.source.read() == b""


async def test_a_binding_to_no_node_is_a_bad_request(server: Server) -> None:
    path = "/api/v1/namespaces/default/pods/a/binding"
    assert (await server.handle(Request("POST", path, "", {}, CONFIG, ADMIN))).status == 400


DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ({"items": {"properties": "x"}}, "JSONSchemaProps.properties of type map[string]v1.JSONSchemaProps"),
        ({"items": {"properties": {"a": "x"}}}, "cannot unmarshal string"),
        ({"items": {"required": 1}}, "JSONSchemaProps.required of type []string"),
        ({"items": ["x"]}, "cannot unmarshal string"),
        ({"additionalProperties": "x"}, "boolean or JSON schema expected"),
        ({"additionalProperties": {"items": {"not": 1}}}, "cannot unmarshal number"),
    ],
)
async def test_wrong_types_deep_in_the_schema_of_a_definition(
    server: Server, schema: dict[str, object], told: str
) -> None:
    within = {"type": "object", "properties": {"a": {"type": "array", **schema}}}
    versions = [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": within}}]
    names = {"plural": "as", "kind": "A"}
    spec = {"group": "x.example", "scope": "Namespaced", "names": names, "versions": versions}
    body = msgspec.json.encode({"metadata": {"name": "as.x.example"}, "spec": spec})
    code, message = status_of(await server.handle(Request("POST", DEFINITIONS, "", {}, body, ADMIN)))
    assert (code, told in message) == (400, True), message


NINES = "9" * 5000


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/apis/apps/v1/namespaces/default/deployments", {"strategy": {"rollingUpdate": {"maxSurge": f"{NINES}%"}}}),
        ("/apis/policy/v1/namespaces/default/poddisruptionbudgets", {"maxUnavailable": f"{NINES}%"}),
    ],
)
async def test_numbers_with_more_digits_than_python_reads(server: Server, path: str, body: object) -> None:
    made = msgspec.json.encode({"metadata": {"name": "a"}, "spec": body})
    assert status_of(await server.handle(Request("POST", path, "", {}, made, ADMIN)))[0] == 422
    code, message = status_of(await server.handle(Request("GET", path, f"labelSelector=a>{NINES}", {}, b"", ADMIN)))
    assert (code, "must be an integer" in message) == (400, True)


async def test_a_grace_of_more_seconds_than_there_are(server: Server) -> None:
    spec = {"containers": [{"name": "c", "image": "i"}], "nodeName": "n"}
    pod = msgspec.json.encode({"metadata": {"name": "a"}, "spec": spec})
    pods = "/api/v1/namespaces/default/pods"
    await server.handle(Request("POST", pods, "", {}, pod, ADMIN))
    body = b'{"gracePeriodSeconds":7000000000000000000}'
    assert (await server.handle(Request("DELETE", f"{pods}/a", "", {}, body, ADMIN))).status == 200


class Failing:
    """What a watch would be told, were there not a fault in it."""

    async def read(self) -> bytes:
        raise KeyError("a fault of ours")

    def close(self) -> None:
        pass


async def test_a_fault_in_the_middle_of_an_answer_ends_the_connection(caplog: pytest.LogCaptureFixture) -> None:
    """It was left open, and waited for what never came."""

    async def handle(_: Request) -> Answer:
        return Streaming(200, Failing())

    listener = Listener(handle)
    await listener.start()
    reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
    writer.write(b"GET /api HTTP/1.1\r\n\r\n")
    async with asyncio.timeout(10):
        with suppress(ConnectionResetError):
            assert (await reader.read(-1)).endswith(b"\r\n\r\n")  # the head, where it arrived at all
    writer.close()
    await listener.stop()
    assert [record.levelno for record in caplog.records] == [logging.ERROR]
