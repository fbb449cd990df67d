"""From what a server answers to the class and the one line of an error."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab import client
from trimtab.client.apierrors import ApiError, error_for, error_from_body
from trimtab.client.request import Request, Target, read
from trimtab.kube.core.v1 import Pod
from trimtab.kube.meta.v1 import Status
from trimtab.kube.reasons import CODES

REQUEST = read("get", Target(Pod.resource, "shop", "web"))


def status(**fields: Any) -> bytes:
    return json.dumps({"kind": "Status", "apiVersion": "v1", "status": "Failure", **fields}).encode()


CLASSES = {"RequestEntityTooLarge": "RequestTooLarge"}


@pytest.mark.parametrize(("reason", "code"), CODES.items())
def test_each_reason_has_its_class(reason: str, code: int) -> None:
    assert len(CODES) == 19
    error = error_from_body(REQUEST, code, status(reason=reason, code=code, message="no"))
    assert type(error) is getattr(client, CLASSES.get(reason, reason))
    assert type(error).reason == reason
    assert error.code == code
    assert str(error).startswith(f"cannot get pods shop/web: {reason} ({code}): no")


@pytest.mark.parametrize(
    ("code", "name"),
    [
        (400, "BadRequest"), (401, "Unauthorized"), (403, "Forbidden"), (405, "MethodNotAllowed"),
        (406, "NotAcceptable"), (409, "Conflict"), (410, "Gone"), (413, "RequestTooLarge"),
        (415, "UnsupportedMediaType"), (422, "Invalid"), (429, "TooManyRequests"), (500, "InternalError"),
        (502, "ServiceUnavailable"), (503, "ServiceUnavailable"), (504, "Timeout"),
        (418, "ApiError"), (599, "ApiError"),
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "body",
    [b"", b"nope", b"<html><h1>Bad Gateway</h1></html>", b"null", b"[1]", b'"x"', b'{"error":"no"}', b"\xff\xfe", b"{"],
)
def test_a_code_alone_will_do(code: int, name: str, body: bytes) -> None:
    error = error_from_body(REQUEST, code, body)
    assert type(error).__name__ == name
    assert error.code == code
    assert error.message == (body.decode("utf-8", "replace") or "the answer has no text")


def test_a_status_without_reason_goes_by_its_code() -> None:
    assert isinstance(error_from_body(REQUEST, 404, status(code=404)), client.NotFound)
    assert isinstance(error_from_body(REQUEST, 404, status()), client.NotFound)  # nor a code: by that of HTTP
    assert isinstance(error_for(REQUEST, Status(code=409, reason="SomethingNew")), client.Conflict)


@pytest.mark.parametrize(
    "body", [b"", b"<!DOCTYPE html>\n<title>404</title>", b"default backend - 404", b'{"detail":"Not Found"}']
)
def test_a_404_of_somebody_else_is_not_an_absence(body: bytes) -> None:
    """A load balancer's page must not make a controller believe that an object was deleted."""
    error = error_from_body(REQUEST, 404, body)
    assert type(error) is client.NotKubernetes
    assert "what answered is no Kubernetes API server (404)" in str(error)
    assert isinstance(error_from_body(REQUEST, 302, b""), client.NotKubernetes)
    # In these words, and no Status, a real one says that it has no such group or version.
    assert type(error_from_body(REQUEST, 404, b"404 page not found\n")) is client.NoSuchResource


def test_invalid_names_the_causes_that_its_message_leaves_out() -> None:
    causes = [
        {"reason": "FieldValueRequired", "field": "spec.image", "message": "Required value"},
        {"reason": "FieldValueInvalid", "field": "spec.size", "message": "Invalid value: -1"},
        {"reason": "X", "message": "of no field"},
    ]
    message = "Widget is invalid: spec.image: Required value"
    error = error_from_body(
        REQUEST, 422, status(reason="Invalid", code=422, message=message, details={"causes": causes})
    )
    assert str(error).endswith(f"{message} [spec.size: Invalid value: -1]")
    assert [cause.field for cause in error.causes] == ["spec.image", "spec.size", None]
    assert error.has_cause("FieldValueInvalid")
    assert not error.has_cause("FieldValueForbidden")


def test_when_to_ask_again() -> None:
    said = status(reason="ServerTimeout", code=500, details={"retryAfterSeconds": 7})
    assert error_from_body(REQUEST, 500, said).retry_after == 7
    assert error_from_body(REQUEST, 500, said, retry_after=3).retry_after == 3  # the header, nearer to the server
    assert error_from_body(REQUEST, 500, status(reason="ServerTimeout", code=500)).retry_after is None


def test_401_says_what_to_look_at() -> None:
    assert "the credentials are missing, expired or not of this cluster" in str(error_from_body(REQUEST, 401, b""))


@given(
    code=st.integers(300, 599),
    message=st.text(),
    field=st.text(max_size=20),
    reason=st.sampled_from(["", *CODES]),
)
def test_every_error_is_one_line(code: int, message: str, field: str, reason: str) -> None:
    body = status(
        code=code, message=message, reason=reason, details={"causes": [{"field": field, "message": f"{message}!"}]}
    )
    for error in (
        error_from_body(REQUEST, code, body),
        error_from_body(REQUEST, code, message.encode("utf-8", "surrogatepass")),
    ):
        assert len(str(error).splitlines()) == 1
        assert str(error).isprintable()
        assert len(str(error)) < 5000


def test_the_request_may_be_anything_that_has_words() -> None:
    assert str(ApiError(Request("get", "GET", "/x", "/x"), Status(code=500))) == (
        "cannot get /x: Unknown (500): no message"
    )
