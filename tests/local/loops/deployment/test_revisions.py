"""What annotations say of revisions."""

from __future__ import annotations

from trimtab.kube.core.v1 import ConfigMap
from trimtab.kube.meta.v1 import ObjectMeta
from trimtab.local.loops.deployment.revisions import REVISION, revision_of


def test_a_revision_may_be_as_large_as_there_is() -> None:
    said = ObjectMeta(name="a", annotations={REVISION: "3546343826724305832"})
    assert revision_of(ConfigMap(metadata=said)) == 3546343826724305832
