"""Trimtab's classes for those who have nothing but bytes."""

from __future__ import annotations

import msgspec

from trimtab.kube.core.v1 import ConfigMap, Pod


class _PageMetadata(msgspec.Struct):
    token: str = msgspec.field(default="", name="continue")


class PodPage(msgspec.Struct):
    """A page of a list."""

    metadata: _PageMetadata
    items: list[Pod]

    @property
    def token(self) -> str:
        """What to ask for the next page with; empty on the last."""
        return self.metadata.token


CONFIG_MAP = msgspec.json.Decoder(ConfigMap)
PODS = msgspec.json.Decoder(PodPage)
