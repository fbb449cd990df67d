"""The rules for names, labels and annotations, each with the sentence of the API server that says it was broken."""

from __future__ import annotations

import re
from typing import Final

_LABEL_63: Final = 63
_SUBDOMAIN_253: Final = 253

_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_QUALIFIED: Final = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_VALUE: Final = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")

_NO_SUBDOMAIN: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    rf"'{_SUBDOMAIN.pattern}')"
)
_NO_LABEL: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    f"an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '{_LABEL.pattern}')"
)
_NO_NAME_PART: Final = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    f"'{_QUALIFIED.pattern}')"
)
_NO_VALUE: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    f"'{_VALUE.pattern}')"
)


def longer_than(most: int, unit: str = "bytes") -> str:
    """The sentence for what is too long."""
    return f"must be no more than {most} {unit}"


def subdomain(name: str) -> list[str]:
    """What is wrong with a name that has to be a DNS subdomain, as most have to."""
    faults: list[str] = []
    if len(name) > _SUBDOMAIN_253:
        faults.append(longer_than(_SUBDOMAIN_253, "characters"))
    if not _SUBDOMAIN.fullmatch(name):
        faults.append(_NO_SUBDOMAIN)
    return faults


def label(name: str) -> list[str]:
    """What is wrong with a name that has to be one DNS label, such as a namespace's."""
    faults: list[str] = []
    if len(name) > _LABEL_63:
        faults.append(longer_than(_LABEL_63, "characters"))
    if not _LABEL.fullmatch(name):
        if _SUBDOMAIN.fullmatch(name):
            faults.append("must not contain dots")
        else:
            faults.append(_NO_LABEL)
    return faults


def path_segment(name: str) -> list[str]:
    """What is wrong with a name that may be anything but a way out of its place, such as a role's."""
    if name in (".", ".."):
        return [f"may not be '{name}'"]
    return [f"may not contain '{illegal}'" for illegal in "/%" if illegal in name]


def qualified(name: str) -> list[str]:
    """What is wrong with the key of a label or annotation: `app`, or `example.com/app`."""
    prefix, slash, part = name.rpartition("/")
    if "/" in prefix:
        prefixed = " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return [_NO_NAME_PART.replace("name part", "a qualified name") + prefixed]
    faults: list[str] = []
    if slash:
        if not prefix:
            faults.append("prefix part must be non-empty")
        else:
            faults += [f"prefix part {fault}" for fault in subdomain(prefix)]
    if not part:
        faults.append("name part must be non-empty")
    elif len(part) > _LABEL_63:
        faults.append("name part " + longer_than(_LABEL_63))
    if not _QUALIFIED.fullmatch(part):
        faults.append(_NO_NAME_PART)
    return faults


def label_key(name: str) -> list[str]:
    """What is wrong with the key of a label, which is a qualified name."""
    return [fault.replace("a qualified name must", "a valid label key must") for fault in qualified(name)]


def label_value(value: str) -> list[str]:
    """What is wrong with the value of a label."""
    faults: list[str] = []
    if len(value.encode()) > _LABEL_63:
        faults.append(longer_than(_LABEL_63))
    if not _VALUE.fullmatch(value):
        faults.append(_NO_VALUE)
    return faults
