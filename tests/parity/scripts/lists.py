"""Many objects at once."""

from tests.parity.playing import Script
from tests.parity.scripts.making import CMS, PODS, cm, delete, get, pod, post

_FIVE = [post(CMS, cm(name, labels={"n": name, "odd": str(i % 2)})) for i, name in enumerate("abcde")]
SCRIPTS = [
    Script(
        "lists",
        [
            get(CMS),
            *_FIVE,
            get(CMS),
            get(f"{CMS}?labelSelector=n%20in%20(a,b)"),
            get(f"{CMS}?labelSelector=!n"),
            get(f"{CMS}?labelSelector=odd%3D1&limit=1"),
            get(f"{CMS}?fieldSelector=metadata.name%3Dc"),
            get(f"{CMS}?fieldSelector=metadata.name!%3Dc"),
            get(f"{CMS}?fieldSelector=metadata.namespace%3D$NS&limit=2"),
            get(f"{CMS}?resourceVersion=0"),
            get(f"{CMS}?resourceVersion=$2.metadata.resourceVersion&resourceVersionMatch=Exact"),
            get(f"{CMS}?resourceVersion=$2.metadata.resourceVersion&resourceVersionMatch=NotOlderThan"),
            get(f"{CMS}?resourceVersion=$2.metadata.resourceVersion"),
            get(f"{CMS}?resourceVersion=$2.metadata.resourceVersion&limit=1"),
            get(f"{CMS}/a?resourceVersion=0"),
            get(f"{CMS}/a?resourceVersion=1"),
            get(f"{CMS}?limit=0"),
        ],
    ),
    Script(
        "pages",
        [
            *_FIVE,
            get(f"{CMS}?limit=2"),
            delete(f"{CMS}/d"),
            post(CMS, cm("f")),
            get(f"{CMS}?limit=2&continue=$5.metadata.continue"),
            get(f"{CMS}?limit=2&continue=$8.metadata.continue"),
            get(f"{CMS}?continue=$5.metadata.continue"),
            get(f"{CMS}?limit=2&continue=$5.metadata.continue&resourceVersion=5"),
            get(f"{CMS}?limit=2&resourceVersion=0"),
            get(f"{CMS}?limit=500"),
            get(f"{CMS}?limit=2&labelSelector=odd%3D0"),
            get(f"{CMS}?limit=1&labelSelector=odd%3D0&continue=$13.metadata.continue"),
        ],
    ),
    Script(
        "pods by field",
        [
            post(PODS, pod()),
            post(PODS, pod("b") | {"spec": {"nodeName": "n1", "containers": [{"name": "c", "image": "i"}]}}),
            get(f"{PODS}?fieldSelector=spec.nodeName%3Dn1"),
            get(f"{PODS}?fieldSelector=spec.nodeName%3D"),
            get(f"{PODS}?fieldSelector=status.phase%3DPending"),
            get(f"{PODS}?fieldSelector=spec.restartPolicy%3DAlways,metadata.name!%3Da"),
            get(f"{PODS}?fieldSelector=spec.schedulerName%3Ddefault-scheduler"),
            get(f"{PODS}?fieldSelector=spec.foo%3D1"),
        ],
    ),
]
