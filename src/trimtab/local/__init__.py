"""A cluster in the process: the embedded API server, the loops of a controller manager, a scheduler, simulated nodes.

`Cluster` is all of it, `LocalTransport` the way in for our own client, without sockets.
"""

from typing import TYPE_CHECKING, Any

from trimtab.local.transport import LocalTransport

if TYPE_CHECKING:
    from trimtab.local.cluster import Cluster

__all__ = ["Cluster", "LocalTransport"]


def __getattr__(name: str) -> Any:
    if name == "Cluster":  # it brings the manager along, which a client without sockets does not need
        from trimtab.local.cluster import Cluster  # noqa: PLC0415

        return Cluster
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
