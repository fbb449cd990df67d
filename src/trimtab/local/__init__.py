"""A cluster in the process: the embedded API server for our own client, without sockets."""

from trimtab.local.transport import LocalTransport

__all__ = ["LocalTransport"]
