"""What an object is: typed kinds, and the values in them.

One generated module for each group-version (`trimtab.kube.core.v1`, `trimtab.kube.apps.v1`), imported when asked for;
by hand, what one computes with: quantities, durations, times, selectors, owner references, conditions.
Nothing here knows of a server.
"""

from trimtab.kube.base import Struct
from trimtab.kube.conditions import find_condition, is_condition_true, remove_condition, set_condition
from trimtab.kube.duration import format_duration, parse_duration
from trimtab.kube.dynamic import Dynamic, dynamic
from trimtab.kube.fieldselectors import FieldSelector
from trimtab.kube.intorstring import scaled
from trimtab.kube.invalid import InvalidValueError
from trimtab.kube.kinds import Resource
from trimtab.kube.objects import Object
from trimtab.kube.owners import controller_of, is_controlled_by, is_owned_by, owner_reference, set_owner
from trimtab.kube.quantity import Quantity
from trimtab.kube.registry import class_for
from trimtab.kube.selectors import Selector
from trimtab.kube.timestamps import format_micro_time, format_time, parse_micro_time, parse_time
from trimtab.kube.wire import decode, encode, from_wire, to_wire

__all__ = [
    "Dynamic",
    "FieldSelector",
    "InvalidValueError",
    "Object",
    "Quantity",
    "Resource",
    "Selector",
    "Struct",
    "class_for",
    "controller_of",
    "decode",
    "dynamic",
    "encode",
    "find_condition",
    "format_duration",
    "format_micro_time",
    "format_time",
    "from_wire",
    "is_condition_true",
    "is_controlled_by",
    "is_owned_by",
    "owner_reference",
    "parse_duration",
    "parse_micro_time",
    "parse_time",
    "remove_condition",
    "scaled",
    "set_condition",
    "set_owner",
    "to_wire",
]
