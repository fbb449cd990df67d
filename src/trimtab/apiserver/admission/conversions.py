"""Conversion webhooks: asking for objects of a custom kind in another version. Not admission, but called like it."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeAlias, cast

import msgspec

from trimtab.apiserver import reading
from trimtab.apiserver.admission.calling import CallFailed, Place, post
from trimtab.apiserver.admission.places import place_at
from trimtab.apiserver.custom.converting import ConversionFailed
from trimtab.apiserver.custom.definition import Definition
from trimtab.apiserver.custom.equality import part
from trimtab.apiserver.messages import JSON, YAML
from trimtab.apiserver.storage import Store
from trimtab.apiserver.surroundings import Surroundings

Json: TypeAlias = dict[str, Any]
Post: TypeAlias = Callable[[Place, bytes, float], Awaitable[tuple[int, bytes]]]

_TIMEOUT: Final = 30  # seconds
_REVIEWS: Final = ("v1", "v1beta1")
_GROUP: Final = "apiextensions.k8s.io"


class Conversions:
    """Asks them."""

    def __init__(self, store: Store, around: Surroundings, *, send: Post = post) -> None:
        self._store = store
        self._around = around
        self._send = send

    async def __call__(self, definition: Definition, api_version: str, objects: list[Json]) -> list[Any]:
        """What the webhook of a definition makes of objects. Raises ConversionFailed."""
        webhook = part(definition.conversion, "webhook")
        version = next((each for each in webhook.get("conversionReviewVersions") or () if each in _REVIEWS), "")
        if not version:
            raise ConversionFailed("no supported conversion review versions")
        uid = self._around.uid()
        request = {"uid": uid, "desiredAPIVersion": api_version, "objects": objects}
        review = {"kind": "ConversionReview", "apiVersion": f"{_GROUP}/{version}", "request": request}
        client = part(webhook, "clientConfig")
        try:
            place = place_at(client, _bundle(client), _TIMEOUT, self._store)
            status, body = await self._send(place, msgspec.json.encode(review), _TIMEOUT)
        except CallFailed as error:
            raise ConversionFailed(str(error)) from error
        if not 200 <= status <= 206:
            raise ConversionFailed(_refusal(status))
        return _objects(body, uid, version)


def _bundle(client: Json) -> bytes:
    try:
        return base64.b64decode(client.get("caBundle") or "", validate=True)
    except (binascii.Error, ValueError):
        return b""


def _refusal(status: int) -> str:
    """What a client of Kubernetes says of an answer that is no Status."""
    said = {
        400: "the server rejected our request for an unknown reason",
        401: "the server has asked for the client to provide credentials",
        403: "unknown",
        404: "the server could not find the requested resource",
        405: "the server does not allow this method on the requested resource",
        429: "the server has received too many requests and has asked us to try again later",
        503: "the server is currently unable to handle the request",
    }
    if status >= 500 and status not in said:
        return 'an error on the server ("unknown") has prevented the request from succeeding'
    return said.get(status, f"the server responded with the status code {status} but did not return more information")


def _objects(body: bytes, uid: str, version: str) -> list[Any]:
    """Read an answer. Raises ConversionFailed where it is none to this question, or says that it failed."""
    try:
        given = reading.parse(body, JSON if body.lstrip().startswith(b"{") else YAML)
    except reading.Unreadable as error:
        raise ConversionFailed(f"couldn't get version/kind; {error}") from error
    if not isinstance(given, dict):
        said = f"json: cannot unmarshal {reading.json_type(given)} into Go value of type {reading.GO_TYPE_META}"
        raise ConversionFailed(f"couldn't get version/kind; json parse error: {said}")
    review = cast("Json", given)
    response: Any = review.get("response")
    if version == "v1":
        wanted, got = f"{_GROUP}/v1, Kind=ConversionReview", f"{review.get('apiVersion')}, Kind={review.get('kind')}"
        if wanted != got:
            raise ConversionFailed(f"expected webhook response of {wanted}, got {got}")
    if not isinstance(response, dict):
        raise ConversionFailed("no response provided")
    answer = cast("Json", response)
    if version == "v1" and answer.get("uid") != uid:
        raise ConversionFailed(f'expected response.uid="{uid}", got "{answer.get("uid") or ""}"')
    result = part(answer, "result")
    if result.get("status") != "Success":
        shown = result.get("status") or ""
        raise ConversionFailed(result.get("message") or f"response.result.status was '{shown}', not 'Success'")
    made: Any = answer.get("convertedObjects") or []
    if not isinstance(made, list):
        raise ConversionFailed("response.convertedObjects is no list")
    return cast("list[Any]", made)
