"""Objects that come to be."""

from tests.parity.playing import Script, Step
from tests.parity.scripts.making import CMS, DEPLOYMENTS, PODS, SECRETS, cm, deployment, get, pod, post

YAML = {"Content-Type": "application/yaml"}
SCRIPTS = [
    Script(
        "create",
        [
            post(CMS, cm(data={"k": "v"})),
            post(CMS, cm(data={"k": "v"})),
            get(f"{CMS}/a"),
            post(CMS, cm("") | {"metadata": {"generateName": "gen-"}}),
            post(CMS, {"metadata": {"name": "typeless"}}),
            post(
                f"{CMS}?fieldManager=me",
                cm(
                    "managed",
                    {"k": "v", "l": ""},
                    labels={"a": "b"},
                    annotations={"c": "d"},
                    finalizers=["example.com/x"],
                ),
            ),
            post(CMS, cm("user-agent"), {"User-Agent": "robot/v1.2 (linux)"}),
            post(CMS, cm("binary") | {"binaryData": {"a": "AAEC"}, "immutable": True}),
            post(f"{CMS}?pretty=1", cm("unicode", {"k": "<ü>&\u2028\U0001f600"})),
            post(CMS, cm("dup", finalizers=["example.com/x", "example.com/x"])),
            post(CMS, cm("empty", {}, labels={}, annotations={}, finalizers=[], ownerReferences=[])),
            post(CMS, cm("zero", namespace="")),
            post(CMS, cm("ns", namespace="$NS")),
        ],
    ),
    Script("create twice with a name made", [post(CMS, cm("taken")), post(CMS, cm("taken", generateName="taken-"))]),
    Script(
        "dry run",
        [
            post(f"{CMS}?dryRun=All", cm(data={"k": "v"})),
            get(f"{CMS}/a"),
            post(CMS, cm()),
            post(f"{CMS}?dryRun=All", cm()),
            Step("DELETE", f"{CMS}/a?dryRun=All"),
            get(f"{CMS}/a"),
        ],
    ),
    Script(
        "unknown fields",
        [
            post(CMS, cm("warn") | {"nope": 1, "metadata": {"name": "warn", "nope": {"x": 1}}}),
            post(f"{CMS}?fieldValidation=Strict", cm("strict") | {"nope": 1}),
            post(f"{CMS}?fieldValidation=Ignore", cm("ignore") | {"nope": 1}),
            post(f"{CMS}?fieldValidation=Warn", cm("warn2") | {"nope": 1}),
            post(
                f"{CMS}?fieldValidation=Strict",
                '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"dup"},"data":{"a":"1","a":"2"}}',
            ),
            post(CMS, '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"dup"},"data":{"a":"1","a":"2"}}'),
            post(
                PODS + "?fieldValidation=Strict",
                pod()
                | {
                    "spec": {
                        "containers": [{"name": "c", "image": "i", "nope": 1, "env": [{"name": "a", "what": "x"}]}],
                        "what": 1,
                    }
                },
            ),
            post(PODS, pod("kase") | {"Spec": {}, "spec": {"Containers": [{"name": "c", "image": "i"}]}}),
            post(
                f"{CMS}?fieldValidation=Strict",
                "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: y\ndata: {a: b}\ndata: {c: d}\n",
                YAML,
            ),
        ],
    ),
    Script(
        "yaml",
        [
            post(
                CMS,
                "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: yaml\ndata:\n  a: b\n  c: |\n    two\n    lines\n",
                YAML,
            ),
            post(CMS, "a: [", YAML),
            post(CMS, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: y2\ndata:\n  a: 5\n", YAML),
            post(CMS, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: y3\ndata: {a: yes, b: 'no'}\n", YAML),
            get(f"{CMS}/yaml", Accept="application/yaml"),
            get(f"{CMS}/none", Accept="application/yaml"),
            post(CMS, "x: &a [1]\ny: [*a, *a]\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: y4}\n", YAML),
            post(CMS, "a: 1\n---\nb: 2\n", YAML),
        ],
    ),
    Script(
        "wrong types",
        [
            post(DEPLOYMENTS, deployment() | {"spec": {"replicas": "three"}}),
            post(DEPLOYMENTS, deployment() | {"spec": []}),
            post(DEPLOYMENTS, deployment() | {"spec": {"replicas": 1.5}}),
            post(DEPLOYMENTS, deployment() | {"spec": {"replicas": 1e99}}),
            post(PODS, pod() | {"spec": {"containers": {"a": 1}}}),
            post(PODS, pod() | {"spec": {"containers": [1]}}),
            post(SECRETS, {"metadata": {"name": "s"}, "data": {"a": "not base64"}}),
            post(SECRETS, {"metadata": {"name": "s"}, "data": {"a": "YQ=="}, "stringData": {"b": "c"}}),
            post(
                PODS,
                pod()
                | {"spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "lots"}}}]}},
            ),
            post(
                PODS,
                pod("numbers")
                | {
                    "spec": {
                        "containers": [
                            {"name": "c", "image": "i", "resources": {"requests": {"cpu": 1, "memory": "1024Mi"}}}
                        ]
                    }
                },
            ),
            post(DEPLOYMENTS, deployment("neg", -1)),
            post(DEPLOYMENTS, {"metadata": {"name": "bare"}}),
            post(PODS, {"metadata": {"name": "bare"}}),
        ],
    ),
    Script(
        "defaults",
        [
            post(PODS, pod()),
            post(DEPLOYMENTS, deployment()),
            post(
                "/api/v1/namespaces/$NS/services",
                {"metadata": {"name": "svc"}, "spec": {"selector": {"a": "b"}, "ports": [{"port": 80}]}},
            ),
            post(
                "/apis/batch/v1/namespaces/$NS/jobs",
                {
                    "metadata": {"name": "j"},
                    "spec": {
                        "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
                    },
                },
            ),
            post("/api/v1/namespaces/$NS/serviceaccounts", {"metadata": {"name": "sa"}}),
            post(
                "/apis/coordination.k8s.io/v1/namespaces/$NS/leases",
                {
                    "metadata": {"name": "l"},
                    "spec": {"holderIdentity": "x", "renewTime": "2020-01-01T00:00:00.000000Z"},
                },
            ),
            post(
                "/apis/rbac.authorization.k8s.io/v1/namespaces/$NS/roles",
                {"metadata": {"name": "r"}, "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]},
            ),
            post(
                "/api/v1/namespaces/$NS/events",
                {
                    "metadata": {"name": "e"},
                    "involvedObject": {"namespace": "$NS", "kind": "Pod", "name": "a"},
                    "reason": "R",
                    "message": "m",
                    "type": "Normal",
                },
            ),
            post(
                "/apis/networking.k8s.io/v1/namespaces/$NS/ingresses",
                {
                    "metadata": {"name": "i"},
                    "spec": {
                        "rules": [
                            {
                                "host": "a.b",
                                "http": {
                                    "paths": [
                                        {
                                            "path": "/",
                                            "pathType": "Prefix",
                                            "backend": {"service": {"name": "s", "port": {"number": 80}}},
                                        }
                                    ]
                                },
                            }
                        ]
                    },
                },
            ),
            post(
                "/api/v1/namespaces/$NS/persistentvolumeclaims",
                {
                    "metadata": {"name": "c"},
                    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
                },
            ),
            post(
                "/apis/apps/v1/namespaces/$NS/statefulsets",
                {
                    "metadata": {"name": "st"},
                    "spec": {
                        "serviceName": "s",
                        "selector": {"matchLabels": {"a": "b"}},
                        "template": {
                            "metadata": {"labels": {"a": "b"}},
                            "spec": {"containers": [{"name": "c", "image": "i"}]},
                        },
                    },
                },
            ),
            post(
                "/apis/autoscaling/v2/namespaces/$NS/horizontalpodautoscalers",
                {
                    "metadata": {"name": "h"},
                    "spec": {
                        "maxReplicas": 3,
                        "scaleTargetRef": {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"},
                    },
                },
            ),
            post(
                "/apis/policy/v1/namespaces/$NS/poddisruptionbudgets",
                {"metadata": {"name": "p"}, "spec": {"minAvailable": 1}},
            ),
        ],
    ),
    Script(
        "status on create",
        [
            post(PODS, pod() | {"status": {"phase": "Running"}}),
            post(DEPLOYMENTS, deployment() | {"status": {"replicas": 7}}),
            post(
                "/apis/batch/v1/namespaces/$NS/cronjobs",
                {
                    "metadata": {"name": "c"},
                    "status": {"lastScheduleTime": "2020-01-01T00:00:00Z"},
                    "spec": {
                        "schedule": "* * * * *",
                        "jobTemplate": {
                            "spec": {
                                "template": {
                                    "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}
                                }
                            }
                        },
                    },
                },
            ),
        ],
    ),
]
