"""What can go wrong on the way to a server and back, in words for people: which server, what, where to look."""

from __future__ import annotations

import os
import socket
import ssl

from trimtab.client.config.model import Config
from trimtab.client.request import Request
from trimtab.client.transport import Broken, TransportError, Unreachable, Untrusted
from trimtab.errors import one_line


class ProxyError(Exception):
    """The proxy does not answer, or will not connect."""


def unreachable(request: Request, config: Config, error: Exception) -> TransportError:
    """No connection came to be."""
    source = config.source
    match error:
        case ssl.SSLCertVerificationError():
            why = one_line(error.verify_message or str(error))
            text = f"its certificate is not trusted ({why}): {_whom_to_ask(config)}"
            return _error(Untrusted, request, config, text)
        case ssl.SSLError():
            text = f"the TLS handshake failed ({_tls(error)}): is this the https port, and {source} right?"
            return _error(Untrusted, request, config, text)
        case ProxyError():
            return _error(Unreachable, request, config, f"{one_line(str(error))}: look at {source}")
        case socket.gaierror():
            return _error(Unreachable, request, config, f"no such host (from {source})")
        case TimeoutError():
            text = f"no connection in time (from {source}): is it the right address, and the network up?"
            return _error(Unreachable, request, config, text)
        case ValueError():
            return _error(Unreachable, request, config, f"this is no URL of a server (from {source})")
        case _:
            return _error(Unreachable, request, config, f"{reason(error)} (from {source}): is the cluster running?")


def broken(request: Request, config: Config, error: Exception) -> TransportError:
    """The connection did not carry the answer to its end."""
    # In TLS 1.3 the server says only after the handshake what it thinks of our certificate.
    if isinstance(error, ssl.SSLError) and "ALERT" in (error.reason or ""):
        return _error(Untrusted, request, config, f"the server ended TLS ({_tls(error)}): is {config.source} right?")
    if isinstance(error, OSError):
        return _error(Broken, request, config, f"the connection broke before the answer was whole ({reason(error)})")
    return _error(Broken, request, config, f"the answer is no HTTP ({one_line(str(error))}): is {config.source} right?")


def _whom_to_ask(config: Config) -> str:
    if config.tls.ca is None:
        return f"{config.source} names no certificate authority, so the system's were asked"
    return f"look at the certificate authority in {config.source}"


def reason(error: Exception) -> str:
    """Why, without the addresses that asyncio puts into the text: those are in the rest of the sentence."""
    number = getattr(error, "errno", None)
    return (os.strerror(number) if number else one_line(str(error)) or type(error).__name__).lower()


def _error(cls: type[TransportError], request: Request, config: Config, text: str) -> TransportError:
    return cls(f"cannot {request}: {config.server}: {text}")


def _tls(error: ssl.SSLError) -> str:
    return one_line(error.reason or str(error)).replace("_", " ").lower()
