"""The rules for names that Kubernetes knows, and its sentences for what breaks them."""

from __future__ import annotations

import re
from typing import Final

LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
SUBDOMAIN: Final = LABEL + "(\\." + LABEL + ")*"
LABEL_1035: Final = "[a-z]([-a-z0-9]*[a-z0-9])?"
_KEY: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE: Final = "(" + _KEY + ")?"

_LABEL_RULE: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character"
)
_SUBDOMAIN_RULE: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character"
)
_LABEL_1035_RULE: Final = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character"
)
_KEY_RULE: Final = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
)
_VALUE_RULE: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character"
)
LONGEST_LABEL: Final = 63
LONGEST_SUBDOMAIN: Final = 253


def _regex_error(rule: str, pattern: str, *examples: str) -> str:
    listed = ", ".join([f"e.g. '{examples[0]}'", *(f" or '{example}'" for example in examples[1:])])
    return f"{rule} ({listed}, regex used for validation is '{pattern}')"


def _too_long(most: int) -> str:
    return f"must be no more than {most} characters"


def _whole(pattern: str, value: str) -> bool:
    return re.fullmatch(pattern, value) is not None


def is_label(value: str) -> list[str]:
    """What is wrong with a DNS label (RFC 1123)."""
    errors = [_too_long(LONGEST_LABEL)] if len(value.encode()) > LONGEST_LABEL else []
    if not _whole(LABEL, value):
        if _whole(SUBDOMAIN, value):
            errors.append("must not contain dots")
        else:
            errors.append(_regex_error(_LABEL_RULE, LABEL, "my-name", "123-abc"))
    return errors


def is_subdomain(value: str) -> list[str]:
    """What is wrong with a DNS subdomain (RFC 1123)."""
    errors = [_too_long(LONGEST_SUBDOMAIN)] if len(value.encode()) > LONGEST_SUBDOMAIN else []
    if not _whole(SUBDOMAIN, value):
        errors.append(_regex_error(_SUBDOMAIN_RULE, SUBDOMAIN, "example.com"))
    return errors


def is_label_1035(value: str) -> list[str]:
    """What is wrong with a DNS label (RFC 1035)."""
    errors = [_too_long(LONGEST_LABEL)] if len(value.encode()) > LONGEST_LABEL else []
    if not _whole(LABEL_1035, value):
        errors.append(_regex_error(_LABEL_1035_RULE, LABEL_1035, "my-name", "abc-123"))
    return errors


def is_qualified_name(value: str) -> list[str]:
    """What is wrong with the key of a label: a name, or a subdomain and a name."""
    errors: list[str] = []
    prefix, slash, name = value.partition("/")
    if not slash:
        name = value
    elif "/" in name:
        rule = f"a valid label key {_KEY_RULE}"
        text = _regex_error(rule, _KEY, "MyName", "my.name", "123-abc")
        return [f"{text} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"]
    elif not prefix:
        errors.append("prefix part must be non-empty")
    else:
        errors.extend(f"prefix part {error}" for error in is_subdomain(prefix))
    if not name:
        errors.append("name part must be non-empty")
    elif len(name.encode()) > LONGEST_LABEL:
        errors.append(f"name part {_too_long(LONGEST_LABEL)}")
    if not _whole(_KEY, name):
        errors.append("name part " + _regex_error(_KEY_RULE, _KEY, "MyName", "my.name", "123-abc"))
    return errors


def is_label_value(value: str) -> list[str]:
    """What is wrong with the value of a label."""
    errors = [_too_long(LONGEST_LABEL)] if len(value.encode()) > LONGEST_LABEL else []
    if not _whole(_VALUE, value):
        errors.append(_regex_error(_VALUE_RULE, _VALUE, "MyValue", "my_value", "12345"))
    return errors


def masked(prefix: str) -> str:
    """What a generated name begins with, as the name that it could become."""
    return prefix[:-2] + "a" if len(prefix) > 1 and prefix.endswith("-") else prefix
