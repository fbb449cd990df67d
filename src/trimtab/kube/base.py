"""`Struct`: the base of every typed object and of its parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, dataclass_transform

import msgspec


@dataclass_transform(kw_only_default=True, field_specifiers=(msgspec.field,))
class StructMeta(msgspec.StructMeta):
    """Makes every Struct keyword-only: msgspec asks for that in each class anew."""

    def __new__(  # noqa: PYI034  # Self has no meaning in a metaclass
        cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], *, kw_only: bool = True, **options: Any
    ) -> StructMeta:
        """Make the class."""
        return super().__new__(cls, name, bases, namespace, kw_only=kw_only, **options)

    if not TYPE_CHECKING:  # a type checker takes the arguments from the fields, unless it sees this

        def __call__(self, *args: Any, **fields: Any) -> Any:
            """Make an instance; an error names the class."""
            try:
                return super().__call__(*args, **fields)
            except TypeError as error:
                from difflib import get_close_matches  # noqa: PLC0415  # only a mistake should cost it

                unknown = next((name for name in fields if name not in self.__struct_fields__), "")
                near = get_close_matches(unknown, self.__struct_fields__, n=1)
                hint = f"; did you mean {near[0]!r}?" if near else ""
                raise TypeError(f"{self.__name__}: {error}{hint}") from None


class Struct(
    msgspec.Struct, metaclass=StructMeta, omit_defaults=True, repr_omit_defaults=True, rename="camel", gc=False
):
    """A part of an object: fields with Python names, sent under their JSON names, and only where they were set.

    An absent list, map or nested value reads as an empty one of its own, so that
    `for c in pod.status.conditions` needs no guard; an absent scalar reads as None.
    Not tracked by the cyclic collector: objects of Kubernetes are trees.
    """
