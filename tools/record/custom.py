"""What a real server makes of definitions and of their objects."""

from __future__ import annotations

from server import Server


def record(_server: Server) -> None:
    """Nothing yet."""
