"""Talking to an API server: configuration, credentials, transport, requests, errors, discovery.

What belongs here is one request and its answer. What is remembered between requests, such as objects, does not.
"""

from trimtab.client.apierrors import (
    AlreadyExists,
    ApiError,
    BadRequest,
    Conflict,
    Expired,
    Forbidden,
    Gone,
    InternalError,
    Invalid,
    MethodNotAllowed,
    NoSuchResource,
    NotAcceptable,
    NotFound,
    NotKubernetes,
    RequestTooLarge,
    ServerTimeout,
    ServiceUnavailable,
    StorageReadError,
    Timeout,
    TooManyRequests,
    Unauthorized,
    UnsupportedMediaType,
)
from trimtab.client.client import Client
from trimtab.client.config.errors import ConfigError
from trimtab.client.config.loading import load_config
from trimtab.client.config.model import Config, Impersonate
from trimtab.client.conflicts import retry_on_conflict
from trimtab.client.discovery import Discovery, ServedResource, UnknownKind
from trimtab.client.http import HttpTransport
from trimtab.client.listing import ObjectList
from trimtab.client.patches import JSONPatch, MergePatch, Patch, StrategicMergePatch
from trimtab.client.program import run
from trimtab.client.reader import Reader, Version
from trimtab.client.request import Request, Target
from trimtab.client.retry import Retry
from trimtab.client.transport import (
    Broken,
    Closed,
    Response,
    Stalled,
    Stream,
    Transport,
    TransportError,
    Unreachable,
    Untrusted,
)
from trimtab.client.watching import Bookmark, Frame, Watch, WatchEvent

__all__ = [
    "AlreadyExists",
    "ApiError",
    "BadRequest",
    "Bookmark",
    "Broken",
    "Client",
    "Closed",
    "Config",
    "ConfigError",
    "Conflict",
    "Discovery",
    "Expired",
    "Forbidden",
    "Frame",
    "Gone",
    "HttpTransport",
    "Impersonate",
    "InternalError",
    "Invalid",
    "JSONPatch",
    "MergePatch",
    "MethodNotAllowed",
    "NoSuchResource",
    "NotAcceptable",
    "NotFound",
    "NotKubernetes",
    "ObjectList",
    "Patch",
    "Reader",
    "Request",
    "RequestTooLarge",
    "Response",
    "Retry",
    "ServedResource",
    "ServerTimeout",
    "ServiceUnavailable",
    "Stalled",
    "StorageReadError",
    "StrategicMergePatch",
    "Stream",
    "Target",
    "Timeout",
    "TooManyRequests",
    "Transport",
    "TransportError",
    "Unauthorized",
    "UnknownKind",
    "Unreachable",
    "UnsupportedMediaType",
    "Untrusted",
    "Version",
    "Watch",
    "WatchEvent",
    "load_config",
    "retry_on_conflict",
    "run",
]
