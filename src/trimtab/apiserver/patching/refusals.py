"""Two refusals that kube-apiserver has for writes alone."""

from __future__ import annotations

from typing import Any

from trimtab.apiserver.statuses import Refused


class Unexplained(Refused):
    """A fault for which kube-apiserver has no reason: it answers 500 with the text of its own error."""

    def __init__(self, message: str) -> None:
        super().__init__("InternalError", message)

    def body(self) -> dict[str, Any]:
        """The Status, in which there is no reason."""
        return {key: value for key, value in super().body().items() if key != "reason"}


def unprocessable() -> Refused:
    """A patch that could be read and not done. The server does not say more."""
    return Refused("Invalid", "the server rejected our request due to an error in our request", empty_details=True)
