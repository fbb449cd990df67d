"""From JSON names to Python's."""

from __future__ import annotations

import keyword
import re

# Where splitting at capitals does not give the words.
WHOLE = {
    "openAPIV3Schema": "open_api_v3_schema",
    "scaleIO": "scale_io",
    "stubPKCS10Request": "stub_pkcs10_request",
    "$ref": "ref",
    "$schema": "schema",
    "fieldsV1": "fields_v1",
}

# A field `int` would hide the type in the hints of its own class.
TYPES = {"bool", "bytes", "dict", "float", "int", "list", "str"}

WORD = re.compile(
    r"[A-Z]+s(?![a-z])"  # IPs, CIDRs
    r"|[A-Z]+(?=[A-Z][a-z]|$|[0-9])"  # HTTP in HTTPGet, PID in hostPID
    r"|[A-Z]?[a-z]+[0-9]*"
    r"|[A-Z]+[0-9]*"
    r"|[0-9]+"
)


def python_name(name: str) -> str:
    """clusterIPs → cluster_ips, hostPID → host_pid, from → from_."""
    snake = WHOLE.get(name) or "_".join(WORD.findall(name)).lower()
    return f"{snake}_" if keyword.iskeyword(snake) or snake in TYPES else snake


def camel(name: str) -> str:
    """What msgspec's `rename="camel"` makes of a Python name."""
    first, *rest = name.rstrip("_").split("_")
    return first + "".join(word.capitalize() for word in rest)
