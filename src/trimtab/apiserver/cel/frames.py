"""The state of one evaluation: the values of its variables, and what it has cost so far."""

from __future__ import annotations

from typing import Any


class Frame:
    """One evaluation. It is checked against its limit in every turn of a loop, and where a call can be expensive."""

    __slots__ = ("cost", "limit", "variables")

    def __init__(self, variables: list[Any], limit: int) -> None:
        self.variables = variables
        self.cost = 0
        self.limit = limit
