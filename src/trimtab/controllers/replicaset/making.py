"""A Pod from a template: what the template says, a name, and an owner."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random
from typing import Any, ClassVar, Final

import msgspec
from msgspec import UNSET, field

from trimtab.controller import Options
from trimtab.kube.base import Struct
from trimtab.kube.core.v1 import Pod
from trimtab.kube.kinds import Resource
from trimtab.kube.meta.v1 import ObjectMeta
from trimtab.kube.objects import Object
from trimtab.kube.owners import owner_reference

_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"  # those of Kubernetes: no vowels, so no words
_LONGEST: Final = 58  # of what comes before them: a Pod's name is its host's name, too


class NewPod(Object):
    """A Pod whose spec is as it stands in the template: fields that are newer than our classes are not lost."""

    resource: ClassVar[Resource] = Pod.resource
    spec: Any = UNSET


class TemplateView(Struct):
    """A template, its spec as it stands there."""

    metadata: ObjectMeta = field(default_factory=ObjectMeta)
    spec: Any = UNSET


class _SpecView(Struct):
    template: TemplateView = field(default_factory=TemplateView)


class Templated(Struct):
    """Of any kind that has a template: just that."""

    spec: _SpecView = field(default_factory=_SpecView)


def dice(_: Options) -> Callable[[], str]:
    """What ends the names, in a run."""
    random = Random()  # noqa: S311  # names keep no secret
    return lambda: "".join(random.choices(_LETTERS, k=5))


def pod_of(template: TemplateView, owner: Object, suffix: str) -> NewPod:
    """A Pod that belongs to the owner.

    Its name is made here, not by the server: if the answer to its creation is lost, it can be asked for by its name.
    """
    prefix = f"{owner.metadata.name}-"
    meta = ObjectMeta(
        name=prefix[:_LONGEST] + suffix,
        namespace=owner.metadata.namespace,
        generate_name=prefix,
        labels=template.metadata.labels,
        annotations=template.metadata.annotations,
        finalizers=template.metadata.finalizers,
        owner_references=[owner_reference(owner)],
    )
    return NewPod(metadata=meta, spec=template.spec)


def renamed(pod: NewPod, suffix: str) -> NewPod:
    """The same under another name."""
    name = (pod.metadata.generate_name or "")[:_LONGEST] + suffix
    return msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, name=name))


def without_suffix(message: str, prefix: str) -> str:
    """A message about a Pod in the words that all of the same owner share: with the name as it was before its end."""
    return re.sub(rf'"{re.escape(prefix[:_LONGEST])}[{_LETTERS}]{{5}}"', f'"{prefix}"', message)
