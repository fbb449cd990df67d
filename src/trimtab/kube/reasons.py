"""Why an API server refuses: the reasons that a Status gives, and the HTTP codes that go with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

Reason: TypeAlias = Literal[
    "AlreadyExists", "BadRequest", "Conflict", "Expired", "Forbidden", "Gone", "InternalError", "Invalid",
    "MethodNotAllowed", "NotAcceptable", "NotFound", "RequestEntityTooLarge", "ServerTimeout", "ServiceUnavailable",
    "StorageReadError", "Timeout", "TooManyRequests", "Unauthorized", "UnsupportedMediaType",
]  # fmt: skip

CODES: Final[Mapping[Reason, int]] = {
    "BadRequest": 400, "Unauthorized": 401, "Forbidden": 403, "NotFound": 404, "MethodNotAllowed": 405,
    "NotAcceptable": 406, "AlreadyExists": 409, "Conflict": 409, "Gone": 410, "Expired": 410,
    "RequestEntityTooLarge": 413, "UnsupportedMediaType": 415, "Invalid": 422, "TooManyRequests": 429,
    "InternalError": 500, "ServerTimeout": 500, "StorageReadError": 500, "ServiceUnavailable": 503, "Timeout": 504,
}  # fmt: skip
"""The code with which a server sends each reason."""

OF_BARE_CODE: Final[Mapping[int, Reason]] = {
    400: "BadRequest", 401: "Unauthorized", 403: "Forbidden", 404: "NotFound", 405: "MethodNotAllowed",
    406: "NotAcceptable", 409: "Conflict", 410: "Gone", 413: "RequestEntityTooLarge", 415: "UnsupportedMediaType",
    422: "Invalid", 429: "TooManyRequests", 500: "InternalError", 502: "ServiceUnavailable", 503: "ServiceUnavailable",
    504: "Timeout",
}  # fmt: skip
"""What a code means where a proxy, a webhook or an old server gives no reason."""
