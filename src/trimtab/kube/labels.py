"""The rules for the keys and values of labels."""

from __future__ import annotations

import re
from typing import Final

from trimtab.kube.invalid import InvalidValueError

_LONGEST_NAME: Final = 63
_LONGEST_PREFIX: Final = 253
_NAME: Final = re.compile(r"[A-Za-z0-9](?:[-_.A-Za-z0-9]*[A-Za-z0-9])?")
_SUBDOMAIN: Final = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")
_NAME_RULE: Final = "letters, digits, '-', '_' and '.', with a letter or digit at both ends"


def check_label_key(key: str) -> None:
    """Raise unless `key` may name a label or annotation: `app`, or `example.com/app`."""
    prefix, slash, name = key.rpartition("/")
    if slash and (len(prefix) > _LONGEST_PREFIX or not _SUBDOMAIN.fullmatch(prefix)):
        raise InvalidValueError(
            f"label key {key!r} is invalid: what stands before '/' must be a lowercase DNS name of at most "
            f"{_LONGEST_PREFIX} characters, as in example.com/app"
        )
    if len(name) > _LONGEST_NAME:
        raise InvalidValueError(
            f"label key {key!r} is invalid: its name has {len(name)} characters, at most {_LONGEST_NAME} are allowed"
        )
    if not _NAME.fullmatch(name):
        raise InvalidValueError(f"label key {key!r} is invalid: its name must be of {_NAME_RULE}")


def check_label_value(key: str, value: str) -> None:
    """Raise unless `value` may be the value of a label; the empty text may."""
    if len(value) > _LONGEST_NAME:
        raise InvalidValueError(
            f"value {value!r} of label {key!r} is invalid: it has {len(value)} characters, "
            f"at most {_LONGEST_NAME} are allowed"
        )
    if value and not _NAME.fullmatch(value):
        raise InvalidValueError(f"value {value!r} of label {key!r} is invalid: it must be empty, or of {_NAME_RULE}")
