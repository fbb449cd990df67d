"""The ways in over sockets: HTTP/1.1 with and without TLS. They turn bytes into requests and answers into bytes."""

from trimtab.apiserver.http.listener import Limits, Listener

__all__ = ["Limits", "Listener"]
