"""Objects that go."""

from tests.parity.playing import Script, Step
from tests.parity.scripts.making import CMS, DEPLOYMENTS, PODS, SECRETS, cm, delete, deployment, get, pod, post

JOB = {
    "metadata": {"name": "j"},
    "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}},
}
SCRIPTS = [
    Script("delete", [post(CMS, cm(data={"k": "v"})), delete(f"{CMS}/a"), delete(f"{CMS}/a"), get(f"{CMS}/a")]),
    Script(
        "what kinds answer",
        [
            post(SECRETS, {"metadata": {"name": "s"}}),
            delete(f"{SECRETS}/s"),
            post("/api/v1/namespaces/$NS/services", {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}}),
            delete("/api/v1/namespaces/$NS/services/s"),
            post("/api/v1/namespaces/$NS/serviceaccounts", {"metadata": {"name": "s"}}),
            delete("/api/v1/namespaces/$NS/serviceaccounts/s"),
            post(DEPLOYMENTS, deployment()),
            delete(f"{DEPLOYMENTS}/a"),
            post("/apis/batch/v1/namespaces/$NS/jobs", JOB),
            delete("/apis/batch/v1/namespaces/$NS/jobs/j"),
            post(
                "/api/v1/namespaces/$NS/replicationcontrollers",
                {
                    "metadata": {"name": "r"},
                    "spec": {
                        "selector": {"a": "b"},
                        "template": {
                            "metadata": {"labels": {"a": "b"}},
                            "spec": {"containers": [{"name": "c", "image": "i"}]},
                        },
                    },
                },
            ),
            delete("/api/v1/namespaces/$NS/replicationcontrollers/r"),
            post(
                "/api/v1/namespaces/$NS/persistentvolumeclaims",
                {
                    "metadata": {"name": "c"},
                    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
                },
            ),
            delete("/api/v1/namespaces/$NS/persistentvolumeclaims/c"),
            post("/apis/rbac.authorization.k8s.io/v1/namespaces/$NS/roles", {"metadata": {"name": "r"}}),
            delete("/apis/rbac.authorization.k8s.io/v1/namespaces/$NS/roles/r"),
            post("/apis/coordination.k8s.io/v1/namespaces/$NS/leases", {"metadata": {"name": "l"}}),
            delete("/apis/coordination.k8s.io/v1/namespaces/$NS/leases/l"),
            post(
                "/apis/networking.k8s.io/v1/namespaces/$NS/networkpolicies",
                {"metadata": {"name": "n"}, "spec": {"podSelector": {}}},
            ),
            delete("/apis/networking.k8s.io/v1/namespaces/$NS/networkpolicies/n"),
            post("/api/v1/namespaces/$NS/resourcequotas", {"metadata": {"name": "q"}}),
            delete("/api/v1/namespaces/$NS/resourcequotas/q"),
            post(
                "/api/v1/namespaces/$NS/podtemplates",
                {
                    "metadata": {"name": "t"},
                    "template": {
                        "metadata": {"labels": {"a": "b"}},
                        "spec": {"containers": [{"name": "c", "image": "i"}]},
                    },
                },
            ),
            delete("/api/v1/namespaces/$NS/podtemplates/t"),
        ],
    ),
    Script(
        "pods",
        [
            post(PODS, pod()),
            delete(f"{PODS}/a"),
            get(f"{PODS}/a"),
            post(PODS, pod("b") | {"spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]}}),
            delete(f"{PODS}/b"),
            get(f"{PODS}/b"),
            delete(f"{PODS}/b", {"gracePeriodSeconds": 5}),
            delete(f"{PODS}/b", {"gracePeriodSeconds": 0}),
            get(f"{PODS}/b"),
            post(
                PODS,
                pod("c")
                | {
                    "spec": {
                        "nodeName": "n",
                        "terminationGracePeriodSeconds": 0,
                        "containers": [{"name": "c", "image": "i"}],
                    }
                },
            ),
            delete(f"{PODS}/c"),
            get(f"{PODS}/c"),
            post(PODS, pod("d") | {"spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]}}),
            delete(f"{PODS}/d?gracePeriodSeconds=7"),
            post(
                PODS,
                pod("e")
                | {
                    "status": {"phase": "Succeeded"},
                    "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]},
                },
            ),
            delete(f"{PODS}/e"),
        ],
    ),
    Script(
        "preconditions",
        [
            post(CMS, cm()),
            delete(f"{CMS}/a", {"preconditions": {"uid": "other"}}),
            delete(f"{CMS}/a", {"preconditions": {"resourceVersion": "1"}}),
            delete(
                f"{CMS}/a",
                {"preconditions": {"uid": "$0.metadata.uid", "resourceVersion": "$0.metadata.resourceVersion"}},
            ),
            get(f"{CMS}/a"),
        ],
    ),
    Script(
        "propagation",
        [
            post(CMS, cm("f")),
            delete(f"{CMS}/f", {"propagationPolicy": "Foreground"}),
            get(f"{CMS}/f"),
            delete(f"{CMS}/f", {"propagationPolicy": "Background"}),
            get(f"{CMS}/f"),
            post(CMS, cm("o")),
            delete(f"{CMS}/o", {"propagationPolicy": "Orphan"}),
            get(f"{CMS}/o"),
            post(CMS, cm("b")),
            delete(f"{CMS}/b?propagationPolicy=Background"),
            post(CMS, cm("od")),
            delete(f"{CMS}/od", {"orphanDependents": False}),
            post(CMS, cm("ot")),
            delete(f"{CMS}/ot", {"orphanDependents": True}),
            post(CMS, cm("x", finalizers=["foregroundDeletion", "orphan"])),
            delete(f"{CMS}/x"),
            post(CMS, cm("y", finalizers=["orphan"])),
            delete(f"{CMS}/y", {"propagationPolicy": "Foreground"}),
            get(f"{CMS}/y"),
        ],
    ),
    Script(
        "deletecollection",
        [
            post(CMS, cm("a", labels={"x": "1"})),
            post(CMS, cm("b", labels={"x": "2"})),
            post(CMS, cm("c", labels={"x": "1"}, finalizers=["a.b/c"])),
            delete(f"{CMS}?labelSelector=x%3D1"),
            get(CMS),
            delete(f"{CMS}?dryRun=All"),
            delete(f"{CMS}?fieldSelector=metadata.name%3Db"),
            get(CMS),
            delete(CMS),
            get(CMS),
            delete(SECRETS, {"propagationPolicy": "Nope"}),
        ],
    ),
    Script(
        "namespaces",
        [
            post("/api/v1/namespaces", {"metadata": {"name": "$NS-x"}}),
            delete("/api/v1/namespaces/$NS-x"),
            post("/api/v1/namespaces/$NS-x/configmaps", cm()),
            delete("/api/v1/namespaces/$NS-x"),
            get("/api/v1/namespaces/$NS-x"),
            Step(
                "PUT", "/api/v1/namespaces/$NS-x/finalize", {"metadata": {"name": "$NS-x"}, "spec": {"finalizers": []}}
            ),
            get("/api/v1/namespaces/$NS-x"),
            delete("/api/v1/namespaces/default"),
            delete("/api/v1/namespaces/kube-system"),
        ],
    ),
]
