"""Owner references: which object another belongs to, and is deleted with."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol

from trimtab.kube.invalid import InvalidValueError
from trimtab.kube.meta.v1 import OwnerReference

if TYPE_CHECKING:
    from trimtab.kube.kinds import Resource
    from trimtab.kube.meta.v1 import ObjectMeta


class Owned(Protocol):
    """What may have owners: any object, even one of which only the metadata was read."""

    @property
    def metadata(self) -> ObjectMeta:
        """Which object it is."""
        ...


class Owner(Owned, Protocol):
    """What may own: an object whose kind is known."""

    resource: ClassVar[Resource]


def controller_of(obj: Owned) -> OwnerReference | None:
    """Return the reference to the one owner that manages `obj`, if it has one."""
    return next((each for each in obj.metadata.owner_references if each.controller), None)


def is_controlled_by(obj: Owned, owner: Owned) -> bool:
    """Tell whether `owner` manages `obj`. It goes by uid: a namesake made later is another object."""
    controller = controller_of(obj)
    return controller is not None and controller.uid == owner.metadata.uid


def is_owned_by(obj: Owned, owner: Owned) -> bool:
    """Tell whether `owner` is among the owners of `obj`, by uid."""
    return any(each.uid == owner.metadata.uid for each in obj.metadata.owner_references)


def owner_reference(owner: Owner, *, controller: bool = True, block_owner_deletion: bool = True) -> OwnerReference:
    """Make a reference to `owner`, which must exist already. `set_owner` also checks who may carry it."""
    if not owner.metadata.uid:
        raise InvalidValueError(f"{_name(owner)} has no uid, so it cannot own yet: create it and use what comes back")
    return OwnerReference(
        api_version=owner.resource.api_version,
        kind=owner.resource.kind,
        name=owner.metadata.name,
        uid=owner.metadata.uid,
        controller=controller,
        block_owner_deletion=block_owner_deletion,
    )


def set_owner(obj: Owner, owner: Owner, *, controller: bool = True, block_owner_deletion: bool = True) -> bool:
    """Make `obj` belong to `owner`, and tell whether that changed anything.

    Raises where Kubernetes would take the owner for gone and delete `obj`, and where another manages `obj` already.
    """
    _check_namespaces(obj, owner)
    reference = owner_reference(owner, controller=controller, block_owner_deletion=block_owner_deletion)
    manager = controller_of(obj)
    if controller and manager is not None and manager.uid != reference.uid:
        raise InvalidValueError(
            f"{_name(owner)} cannot manage {_name(obj)}, for {manager.kind} {manager.name} does already: "
            "give it another name, or set controller=False"
        )
    references = obj.metadata.owner_references
    position = next((i for i, each in enumerate(references) if each.uid == reference.uid), len(references))
    changed = references[position : position + 1] != [reference]
    references[position : position + 1] = [reference]
    return changed


def _check_namespaces(obj: Owner, owner: Owner) -> None:
    namespace = owner.metadata.namespace
    if not namespace or obj.metadata.namespace == namespace:
        return
    if not obj.resource.namespaced:
        raise InvalidValueError(
            f"{_name(owner)} is in a namespace and cannot own {_name(obj)}, which is in none: use a finalizer or labels"
        )
    raise InvalidValueError(
        f"{_name(owner)} cannot own {_name(obj)}, which is not in its namespace: "
        f"put it into {namespace!r}, or use a finalizer or labels"
    )


def _name(obj: Owner) -> str:
    meta = obj.metadata
    name = meta.name or meta.generate_name or "(unnamed)"
    return f"{obj.resource.kind} {meta.namespace}/{name}" if meta.namespace else f"{obj.resource.kind} {name}"
