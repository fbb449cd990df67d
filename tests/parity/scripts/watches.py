"""What happens, told as it does: each watch here begins in the past and ends after a second."""

from tests.parity.playing import Script
from tests.parity.scripts.making import CMS, PODS, cm, delete, get, patch, pod, post, put

_W = "watch=1&timeoutSeconds=1"
SCRIPTS = [
    Script(
        "events",
        [
            post(CMS, cm(data={"k": "v"}, labels={"x": "1"})),
            patch(f"{CMS}/a", {"data": {"k": "w"}}),
            put(f"{CMS}/a", cm(data={"k": "w"}, labels={"x": "2"})),
            patch(f"{CMS}/a", {"metadata": {"labels": {"x": "1"}}}),
            delete(f"{CMS}/a"),
            get(f"{CMS}?{_W}&resourceVersion=$0.metadata.resourceVersion"),
            get(f"{CMS}?{_W}&resourceVersion=$0.metadata.resourceVersion&labelSelector=x%3D1"),
            get(f"{CMS}?{_W}&resourceVersion=$0.metadata.resourceVersion&labelSelector=x%3D2"),
            get(f"{CMS}?{_W}&resourceVersion=$0.metadata.resourceVersion&fieldSelector=metadata.name%3Db"),
            get(f"{CMS}?{_W}&resourceVersion=$0.metadata.resourceVersion&allowWatchBookmarks=true"),
            get(f"{CMS}?{_W}&resourceVersion=1&allowWatchBookmarks=true"),
            get(f"{CMS}?{_W}&resourceVersion=999999999"),
        ],
    ),
    Script(
        "from now",
        [
            post(CMS, cm()),
            get(f"{CMS}?{_W}"),
            get(f"{CMS}?{_W}&resourceVersion=0"),
            get(f"{CMS}?{_W}&resourceVersion=0&fieldSelector=metadata.name%3Da"),
            get("/api/v1/watch/namespaces/$NS/configmaps?timeoutSeconds=1&resourceVersion=0"),
            get("/api/v1/watch/namespaces/$NS/configmaps/a?timeoutSeconds=1&resourceVersion=0"),
            get(f"{CMS}/a?{_W}"),
        ],
    ),
    Script(
        "initial events",
        [
            post(CMS, cm()),
            post(CMS, cm("b", labels={"x": "1"})),
            get(f"{CMS}?{_W}&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"),
            get(
                f"{CMS}?{_W}&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&labelSelector=x%3D1&resourceVersion=0"
            ),
            get(f"{CMS}?{_W}&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"),
            get(f"{CMS}?{_W}&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"),
            get(f"{CMS}?{_W}&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=0"),
            get(
                f"{CMS}?{_W}&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&resourceVersion=999999999"
            ),
        ],
    ),
    Script(
        "with finalizers",
        [
            post(CMS, cm(finalizers=["a.b/c"])),
            delete(f"{CMS}/a"),
            patch(f"{CMS}/a", {"metadata": {"finalizers": []}}),
            get(f"{CMS}?{_W}&resourceVersion=$0.metadata.resourceVersion"),
        ],
    ),
    Script(
        "nothing changed",
        [
            post(CMS, cm(data={"k": "v"})),
            patch(f"{CMS}/a", {"data": {"k": "v"}}),
            put(f"{CMS}/a", cm(data={"k": "v"})),
            get(f"{CMS}?{_W}&resourceVersion=$0.metadata.resourceVersion"),
        ],
    ),
    Script(
        "forms",
        [
            post(PODS, pod()),
            patch(f"{PODS}/a", {"metadata": {"labels": {"x": "1"}}}),
            get(
                f"{PODS}?{_W}&resourceVersion=$0.metadata.resourceVersion",
                Accept="application/json;as=Table;v=v1;g=meta.k8s.io",
            ),
            get(
                f"{PODS}?{_W}&resourceVersion=$0.metadata.resourceVersion",
                Accept="application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
            ),
            get(f"{PODS}?{_W}&resourceVersion=0", Accept="application/yaml"),
            get(
                f"{PODS}?{_W}&resourceVersion=0&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
                Accept="application/json;as=Table;v=v1;g=meta.k8s.io",
            ),
        ],
    ),
]
