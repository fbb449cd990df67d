"""Named formats: `format.dns1123Label().validate('x')`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from trimtab.apiserver.cel import namerules
from trimtab.apiserver.cel import types as t
from trimtab.apiserver.cel.functions import Library
from trimtab.apiserver.cel.strfmt import FORMATS as _STRFMT
from trimtab.apiserver.cel.uris import UriError, parse_request_uri
from trimtab.apiserver.cel.values import NONE, Optional

FORMATS: Final = Library()


@dataclass(frozen=True, slots=True)
class NamedFormat:
    """A format that texts can be checked against; `pattern_size` is what a check is charged for."""

    name: str
    problems: Callable[[str], list[str]]
    pattern_size: int
    type_name = "kubernetes.NamedFormat"


def _prefix(rule: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    return lambda text: rule(namerules.masked(text))


def _strfmt(name: str, problem: str) -> Callable[[str], list[str]]:
    return lambda text: [] if _STRFMT[name](text) else [problem]


def _uri(text: str) -> list[str]:
    try:
        parse_request_uri(text)
    except UriError as error:
        return [str(error)]
    return []


_ALL: Final = {
    "dns1123Label": NamedFormat("DNS1123Label", namerules.is_label, 30),
    "dns1123Subdomain": NamedFormat("DNS1123Subdomain", namerules.is_subdomain, 60),
    "dns1035Label": NamedFormat("DNS1035Label", namerules.is_label_1035, 30),
    "qualifiedName": NamedFormat("QualifiedName", namerules.is_qualified_name, 60),
    "dns1123LabelPrefix": NamedFormat("DNS1123LabelPrefix", _prefix(namerules.is_label), 30),
    "dns1123SubdomainPrefix": NamedFormat("DNS1123SubdomainPrefix", _prefix(namerules.is_subdomain), 60),
    "dns1035LabelPrefix": NamedFormat("DNS1035LabelPrefix", _prefix(namerules.is_label_1035), 30),
    "labelValue": NamedFormat("LabelValue", namerules.is_label_value, 40),
    "uri": NamedFormat("URI", _uri, 1103),
    "uuid": NamedFormat("uuid", _strfmt("uuid", "does not match the UUID format"), 70),
    "byte": NamedFormat("byte", _strfmt("byte", "invalid base64"), 84),
    "date": NamedFormat("date", _strfmt("date", "invalid date"), 71),
    "datetime": NamedFormat("datetime", _strfmt("datetime", "invalid datetime"), 71),
}


def _constant(named: NamedFormat) -> Callable[[], NamedFormat]:
    return lambda: named


def _named(name: str) -> Optional:
    return Optional(_ALL[name]) if name in _ALL else NONE


def _validate(named: NamedFormat, text: str) -> Optional:
    problems = named.problems(text)
    return Optional(problems) if problems else NONE


for _name, _format in _ALL.items():
    FORMATS.function(f"format.{_name}", f"format.{_name}", [], t.FORMAT, _constant(_format))
FORMATS.function("format.named", "format-named", [t.STRING], t.optional_of(t.FORMAT), _named)
FORMATS.member("validate", "format-validate", [t.FORMAT, t.STRING], t.optional_of(t.list_of(t.STRING)), _validate)
