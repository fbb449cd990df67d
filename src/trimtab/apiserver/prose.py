"""What `kubectl explain` says of the metadata that all objects have.

The facts of Kubernetes' kinds are made without its descriptions; these few are our own.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

Json: TypeAlias = dict[str, Any]

OBJECT_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_OF_OBJECT_META: Final = {
    "annotations": "Text for tools and people, under keys. Nobody selects objects by it.",
    "creationTimestamp": "CreationTimestamp is a timestamp of the server: when it made the object.",
    "deletionGracePeriodSeconds": "For how many seconds the object may go on after its deletion was asked for.",
    "deletionTimestamp": "When the object has to be gone. The server sets it when somebody deletes the object.",
    "finalizers": "Who has something to do before the object goes. It stays until nobody is left here.",
    "generateName": "What the name begins with, where the server is to make one up.",
    "generation": "How often what is wanted was changed.",
    "labels": "Keys with values by which objects are selected.",
    "managedFields": "Who set which fields, and how: the server keeps it for those who apply.",
    "name": "What the object is called: once in a namespace for each kind, and for ever.",
    "namespace": "Where the object lives, for ever; empty for kinds that live in no namespace.",
    "ownerReferences": "Whose the object is: when all of them are gone, so is it. One of them may manage it.",
    "resourceVersion": "Which version of the object this is: send it back to change just this one, or watch from it.",
    "selfLink": "Nothing: servers set it once.",
    "uid": "What tells the object from all others that had or will have its name. The server sets it.",
}


def described(schemas: Json) -> Json:
    """The schemas with what there is to say of their fields."""
    meta = schemas.get(OBJECT_META)
    if meta is None:
        return schemas
    fields = {
        name: {"description": _OF_OBJECT_META[name], **field} if name in _OF_OBJECT_META else field
        for name, field in meta["properties"].items()
    }
    return {**schemas, OBJECT_META: {**meta, "properties": fields}}
