"""The rules for single texts and numbers that several kinds share, each with the sentence that says it was broken."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias, cast

from trimtab.apiserver import causes, names
from trimtab.apiserver.causes import Cause
from trimtab.kube.quantity import Quantity

Json: TypeAlias = dict[str, Any]

NOT_NEGATIVE: Final = "must be greater than or equal to 0"
IMMUTABLE: Final = "field is immutable"
NO_IP: Final = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
NO_CIDR: Final = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"

_LABEL_63: Final = 63
_SUBDOMAIN_253: Final = 253
_PORTS: Final = (1, 65535)
_LONGEST_PORT_NAME: Final = 15
_CONFIG_KEY: Final = re.compile(r"[-._a-zA-Z0-9]+")
_LABEL_1035: Final = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_OLD_IP: Final = re.compile(r"[0-9]+(\.[0-9]+){3}")
_BYTE: Final = 255
_PERCENT: Final = re.compile(r"[0-9]+%")


def between(low: int, high: int) -> str:
    """The sentence for a number out of bounds."""
    return f"must be between {low} and {high}, inclusive"


def port(field: str, value: int) -> list[Cause]:
    """What is wrong with the number of a port."""
    low, high = _PORTS
    return [] if low <= value <= high else [causes.invalid(field, value, between(low, high))]


def port_name(name: str) -> list[str]:
    """What is wrong with the name of a port, as the names of services are."""
    faults: list[str] = []
    if len(name) > _LONGEST_PORT_NAME:
        faults.append(names.longer_than(_LONGEST_PORT_NAME, "characters"))
    if not re.fullmatch(r"[-a-z0-9]+", name):
        faults.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search(r"[a-z]", name):
        faults.append("must contain at least one letter (a-z)")
    if "--" in name:
        faults.append("must not contain consecutive hyphens")
    if name and (name.startswith("-") or name.endswith("-")):
        faults.append("must not begin or end with a hyphen")
    return faults


def port_or_name(field: str, value: Any) -> list[Cause]:
    """What is wrong with a port that may be named."""
    if isinstance(value, int):
        return port(field, value)
    return [causes.invalid(field, value, why) for why in port_name(value)]


def config_key(key: str) -> list[str]:
    """What is wrong with a key of a ConfigMap or Secret."""
    faults: list[str] = []
    if len(key) > _SUBDOMAIN_253:
        faults.append(names.longer_than(_SUBDOMAIN_253, "characters"))
    if not _CONFIG_KEY.fullmatch(key):
        faults.append(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or "
            f"'KEY_NAME',  or 'key-name', regex used for validation is '{_CONFIG_KEY.pattern}')"
        )
    if key in (".", ".."):
        faults.append(f"must not be '{key}'")
    elif key.startswith(".."):
        faults.append("must not start with '..'")
    return faults


def label_1035(name: str) -> list[str]:
    """What is wrong with a name that must not begin with a digit."""
    faults: list[str] = []
    if len(name) > _LABEL_63:
        faults.append(names.longer_than(_LABEL_63, "characters"))
    if not _LABEL_1035.fullmatch(name):
        faults.append(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
            "character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for "
            f"validation is '{_LABEL_1035.pattern}')"
        )
    return faults


def not_negative(obj: dict[str, Any], path: str, *fields: str) -> list[Cause]:
    """Which of the numbers are below nothing."""
    return [
        causes.invalid(f"{path}.{name}" if path else name, obj[name], NOT_NEGATIVE)
        for name in fields
        if obj.get(name) is not None and obj[name] < 0
    ]


def one_of(obj: dict[str, Any], path: str, name: str, supported: tuple[str, ...]) -> list[Cause]:
    """Whether a field that is set has one of the values that there are."""
    value = obj.get(name)
    return [causes.unsupported(f"{path}.{name}", value, supported)] if value and value not in supported else []


def count_or_percent(field: str, value: Any) -> list[Cause]:
    """What is wrong with a number of things or their share."""
    if isinstance(value, int):
        return [causes.invalid(field, value, NOT_NEGATIVE)] if value < 0 else []
    if _PERCENT.fullmatch(value):
        return []
    why = (
        "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used "
        f"for validation is '{_PERCENT.pattern}')"
    )
    return [causes.invalid(field, value, why)]


def not_over_all(field: str, value: Any) -> list[Cause]:
    """Whether a share is more than all."""
    if isinstance(value, str) and _PERCENT.fullmatch(value) and int(value[:-1][:1000]) > 100:
        return [causes.invalid(field, value, "must not be greater than 100%")]
    return []


def is_nothing(value: Any) -> bool:
    """Whether a number of things, or their share, is none."""
    return value in (0, "0%")


def ip(field: str, value: str) -> list[Cause]:
    """What is wrong with an address."""
    return [] if address(value) is not None else [causes.invalid(field, value, NO_IP)]


def address(value: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The address that a text means."""
    try:
        return ipaddress.ip_address(value)
    except ValueError:
        return None


def is_cidr(value: str) -> bool:
    """Whether a text means a range of addresses."""
    try:
        ipaddress.ip_network(value, strict=False)
    except ValueError:
        return False
    return "/" in value


# Parts of objects


def part(obj: Json, name: str) -> Json:
    """The struct under a name, empty where there is none."""
    return cast("Json", obj.get(name) or {})


def spec_of(obj: Json) -> Json:
    """What is wanted of an object."""
    return part(obj, "spec")


def numbered(obj: Json, path: str, name: str) -> list[tuple[str, Any]]:
    """The items of a list, each with where it stands."""
    where = f"{path}.{name}" if path else name
    return [(f"{where}[{index}]", each) for index, each in enumerate(cast("list[Any]", obj.get(name) or []))]


def needed(obj: Json, path: str, *fields: str) -> list[Cause]:
    """Which of the fields are not set."""
    return [causes.required(f"{path}.{name}" if path else name) for name in fields if not obj.get(name)]


def follows(field: str, value: Any, rule: Callable[[str], list[str]]) -> list[Cause]:
    """What a rule says of a text."""
    return [causes.invalid(field, value, why) for why in rule(value)]


def needed_following(obj: Json, path: str, name: str, rule: Callable[[str], list[str]]) -> list[Cause]:
    """A text that has to be there, and to follow a rule."""
    value = obj.get(name)
    field = f"{path}.{name}" if path else name
    return follows(field, value, rule) if value else [causes.required(field)]


def given_following(obj: Json, path: str, name: str, rule: Callable[[str], list[str]]) -> list[Cause]:
    """A text that follows a rule if it is there."""
    value = obj.get(name)
    return follows(f"{path}.{name}" if path else name, value, rule) if value else []


def unchanged(field: str, new: Any, old: Any) -> list[Cause]:
    """Whether a field is what it was; nothing and what is empty are the same."""
    return [] if (new or None) == (old or None) else [causes.invalid(field, new, IMMUTABLE)]


def one_of_needed(field: str, value: Any, supported: Sequence[str]) -> list[Cause]:
    """Whether a field that has to be set has one of the values that there are."""
    return [] if value in supported else [causes.unsupported(field, value, supported)]


def lower_qualified(value: str) -> list[str]:
    """What is wrong with the name of a provisioner, in whichever letters."""
    return names.qualified(value.lower())


def amount(field: str, text: str) -> list[Cause]:
    """Whether an amount is below nothing."""
    return [causes.invalid(field, text, NOT_NEGATIVE)] if Quantity(text) < Quantity(0) else []


def more_than_nothing(field: str, text: str) -> list[Cause]:
    """Whether an amount is nothing, or less."""
    return [causes.invalid(field, text, "must be greater than zero")] if Quantity(text) <= Quantity(0) else []


def strict_ip(field: str, value: str) -> list[Cause]:
    """What is wrong with an address in a field that no old object has in another form."""
    if address(value) is not None:
        return []
    return [causes.invalid(field, value, "must not have leading 0s" if is_old_ip(value) else NO_IP)]


def is_old_ip(value: str) -> bool:
    """Whether a text is an address but for zeros that lead."""
    return bool(_OLD_IP.fullmatch(value)) and all(int(each) <= _BYTE for each in value.split("."))


def strict_cidr(field: str, value: str) -> list[Cause]:
    """What is wrong with a range of addresses in a field that no old object has in another form."""
    if not is_cidr(value):
        return [causes.invalid(field, value, NO_CIDR)]
    if str(ipaddress.ip_network(value, strict=False)) != str(ipaddress.ip_interface(value)):
        return [causes.invalid(field, value, "must not have bits set beyond the prefix length")]
    return []
