"""The refusals that writes alone have."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from trimtab.apiserver.statuses import Refused, bad_request

_P = ParamSpec("_P")
_R = TypeVar("_R")


class Unexplained(Refused):
    """A fault of a request for which kube-apiserver has no reason: it answers 500 with the text of its own error.

    The text is the same here, but it is told as what it is: nobody has to try again what cannot work.
    """

    def __init__(self, message: str) -> None:
        super().__init__("BadRequest", message)


def unprocessable() -> Refused:
    """A patch that could be read and not done. The server does not say more."""
    return Refused("Invalid", "the server rejected our request due to an error in our request", empty_details=True)


def not_too_deep(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Have a function that follows values as deep as they go refuse those that go deeper than Python does."""

    @wraps(function)
    def bounded(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            return function(*args, **kwargs)
        except RecursionError:
            raise bad_request("json: exceeded max depth") from None

    return bounded
