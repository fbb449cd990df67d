"""The same in other forms."""

from tests.parity.playing import Script
from tests.parity.scripts.making import CMS, DEPLOYMENTS, PODS, cm, deployment, get, pod, post

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
PARTIALS = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
SCRIPTS = [
    Script(
        "tables",
        [
            post(CMS, cm(data={"k": "v"})),
            get(CMS, Accept=TABLE),
            get(f"{CMS}/a", Accept=TABLE),
            get(f"{CMS}?includeObject=Object", Accept=TABLE),
            get(f"{CMS}?includeObject=None", Accept=TABLE),
            get(f"{CMS}?includeObject=Nope", Accept=TABLE),
            get(f"{CMS}/none", Accept=TABLE),
            post(f"{CMS}", cm("b"), {"Accept": TABLE}),
            get(f"{CMS}?limit=1", Accept=TABLE),
            get(CMS, Accept="application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"),
            post(PODS, pod()),
            get(PODS, Accept=TABLE),
            post(DEPLOYMENTS, deployment()),
            get(DEPLOYMENTS, Accept=TABLE),
            get("/api/v1/namespaces/$NS", Accept=TABLE),
            post("/apis/rbac.authorization.k8s.io/v1/namespaces/$NS/roles", {"metadata": {"name": "r"}}),
            get("/apis/rbac.authorization.k8s.io/v1/namespaces/$NS/roles", Accept=TABLE),
            get("/api/v1/namespaces/$NS/services", Accept=TABLE),
            get("/apis/apps/v1/namespaces/$NS/deployments/a/scale", Accept=TABLE),
            get("/version", Accept=TABLE),
        ],
    ),
    Script(
        "metadata alone",
        [
            post(CMS, cm(data={"k": "v"})),
            get(f"{CMS}/a", Accept=PARTIAL),
            get(CMS, Accept=PARTIALS),
            get(CMS, Accept=PARTIAL),
            get(f"{CMS}/a", Accept=PARTIALS),
            get(f"{CMS}?limit=1", Accept=PARTIALS),
        ],
    ),
    Script(
        "discovery",
        [
            get("/version"),
            get("/healthz"),
            get("/livez"),
            get("/readyz"),
            get("/readyz?verbose"),
            get("/livez/ping"),
            get("/api"),
            get("/api/"),
            get("/apis/apps"),
            get("/apis/apps/"),
            get("/apis/apps/v1"),
            get("/api/v1"),
            get("/apis/apps/v1/"),
            get("/"),
            get("/apis"),
            get("/api", Accept="application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"),
            get("/apis", Accept="application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"),
            get("/apis", Accept="application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"),
            get(
                "/apis", Accept="application/json;g=apidiscovery.k8s.io;v=v9;as=APIGroupDiscoveryList,application/json"
            ),
            get("/openapi/v3"),
            get("/version", Accept="application/yaml"),
            get("/.well-known/openid-configuration"),
        ],
    ),
]
