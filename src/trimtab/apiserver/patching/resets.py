"""What an endpoint puts back whatever was sent: nobody comes to own these fields by writing there.

No server tells it; it was read off the behaviour of Kubernetes 1.36.
"""

from __future__ import annotations

from typing import Final

from trimtab.apiserver.patching.fieldsets import Node, of

_STATUS: Final = of(("f:status",))
_SPEC: Final = of(("f:spec",))
_SPEC_AND_METADATA: Final = of(("f:spec",), ("f:metadata",))

# Kinds whose status endpoint puts back the metadata too, as that of every custom resource does.
_WITH_METADATA: Final = frozenset(
    {
        *("PodGroup", "ServiceCIDR", "StorageVersionMigration", "ResourceClaim", "DeviceTaintRule"),
        *("ResourcePoolStatusRequest", "StorageVersion", "VolumeAttachment", "FlowSchema"),
        *("PriorityLevelConfiguration", "ValidatingAdmissionPolicy"),
    }
)

_SPECIAL: Final[dict[tuple[str, str], Node]] = {
    ("CustomResourceDefinition", "status"): of(("f:spec",)),
    ("Deployment", "status"): of(("f:spec",), ("f:metadata", "f:labels")),
    ("Pod", "status"): of(("f:spec",), ("f:metadata", "f:deletionTimestamp"), ("f:metadata", "f:ownerReferences")),
    ("CertificateSigningRequest", ""): of(("f:spec",), ("f:status",)),
    ("CertificateSigningRequest", "status"): of(("f:spec",), ("f:status", "f:conditions")),
    ("CertificateSigningRequest", "approval"): of(("f:spec",), ("f:status", "f:certificate")),
}


def resets_of(group: str, api_version: str, kind: str, subresource: str, *, has_status: bool = True) -> dict[str, Node]:
    """By API version, what a write to the endpoint of a kind puts back.

    `has_status` says whether the kind has a status endpoint; without one, nothing is put back.
    """
    if not has_status:
        return {}
    fields = _SPECIAL.get((kind, subresource))
    if fields is None:
        if subresource == "":
            fields = _STATUS
        elif subresource == "status":
            built_in = "." not in group or group.endswith(".k8s.io")
            fields = _SPEC if built_in and kind not in _WITH_METADATA else _SPEC_AND_METADATA
        else:
            return {}
    return {api_version: fields}
