"""What a server has a say in by itself, asked as clients ask: by writing objects."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from tests.apiserver.test_custom_resources import Asking

from trimtab.apiserver.plugins.chain import UnknownPlugin
from trimtab.apiserver.server import Server

Json = dict[str, Any]
PODS = "/api/v1/namespaces/default/pods"
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"


@pytest.fixture
def ask() -> Asking:
    return Asking(Server())


def named(name: str, **more: Any) -> Json:
    return {"metadata": {"name": name}, **more}


def pod(name: str, **spec: Any) -> Json:
    return named(name, spec={"containers": [{"name": "main", "image": "i"}], **spec})


async def test_a_pod_has_the_priority_of_its_class_or_of_the_default(ask: Asking) -> None:
    spec = (await ask("POST", PODS, pod("plain")))["spec"]
    assert (spec["priority"], spec["preemptionPolicy"]) == (0, "PreemptLowerPriority")
    await ask("POST", CLASSES, named("high", value=7, preemptionPolicy="Never"))
    await ask("POST", CLASSES, named("usual", value=3, globalDefault=True))
    spec = (await ask("POST", PODS, pod("high", priorityClassName="high")))["spec"]
    assert (spec["priority"], spec["preemptionPolicy"]) == (7, "Never")
    spec = (await ask("POST", PODS, pod("usual")))["spec"]
    assert (spec["priority"], spec["priorityClassName"]) == (3, "usual")
    for wrong in ({"priorityClassName": "no"}, {"priority": 1}, {"preemptionPolicy": "Never"}):
        assert (await ask("POST", PODS, pod("wrong", **wrong)))["reason"] == "Forbidden"
    assert (await ask("POST", CLASSES, named("second", value=1, globalDefault=True)))["reason"] == "Forbidden"


async def test_an_update_may_leave_out_what_was_set_by_us_and_owns_nothing_of_it(ask: Asking) -> None:
    made = await ask("POST", PODS, pod("a"))
    assert "f:tolerations" not in made["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"]
    changed = await ask("PUT", f"{PODS}/a", pod("a") | {"metadata": {"name": "a", "labels": {"x": "y"}}})
    assert changed["code"] == 200
    assert changed["spec"] == made["spec"]


async def test_tolerations_are_added_unless_the_pod_has_its_own(ask: Asking) -> None:
    def seconds(made: Json) -> list[int | None]:
        return [each.get("tolerationSeconds") for each in made["spec"]["tolerations"]]

    assert seconds(await ask("POST", PODS, pod("a"))) == [300, 300]
    mine = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}
    assert seconds(await ask("POST", PODS, pod("b", tolerations=[mine]))) == [5, 300]
    assert seconds(await ask("POST", PODS, pod("c", tolerations=[{"operator": "Exists"}]))) == [None]


async def test_what_is_new_is_marked_for_those_who_look_after_it(ask: Asking) -> None:
    node = await ask("POST", "/api/v1/nodes", named("n"))
    assert node["spec"]["taints"] == [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    claim = await ask("POST", "/api/v1/namespaces/default/persistentvolumeclaims", named("c", spec=spec))
    assert claim["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]


async def test_the_newest_default_class_is_named(ask: Asking) -> None:
    claims, classes = "/api/v1/namespaces/default/persistentvolumeclaims", "/apis/storage.k8s.io/v1/storageclasses"
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    assert "storageClassName" not in (await ask("POST", claims, named("a", spec=spec)))["spec"]
    mark = {"storageclass.kubernetes.io/is-default-class": "true"}
    for name in ("two", "one", "other"):
        annotations = {} if name == "other" else mark
        made = {"metadata": {"name": name, "annotations": annotations}, "provisioner": "x"}
        assert (await ask("POST", classes, made))["code"] == 201
    assert (await ask("POST", claims, named("b", spec=spec)))["spec"]["storageClassName"] in ("one", "two")
    without = {**spec, "storageClassName": ""}
    assert (await ask("POST", claims, named("c", spec=without)))["spec"]["storageClassName"] == ""


async def test_a_claim_grows_where_its_class_lets_it(ask: Asking) -> None:
    claims, classes = "/api/v1/namespaces/default/persistentvolumeclaims", "/apis/storage.k8s.io/v1/storageclasses"
    for name, grows in (("firm", False), ("growing", True)):
        await ask("POST", classes, {"metadata": {"name": name}, "provisioner": "x", "allowVolumeExpansion": grows})
        resources = {"requests": {"storage": "1Gi"}}
        spec = {"accessModes": ["ReadWriteOnce"], "resources": resources, "storageClassName": name}
        await ask("POST", claims, named(name, spec=spec))
        bigger = {"spec": {"resources": {"requests": {"storage": "2Gi"}}}}
        merge = {"content_type": "application/merge-patch+json"}
        assert (await ask("PATCH", f"{claims}/{name}", bigger, **merge))["reason"] in ("Forbidden", "Invalid")
        await ask("PATCH", f"{claims}/{name}/status", {"status": {"phase": "Bound"}}, **merge)
        changed = await ask("PATCH", f"{claims}/{name}", bigger, **merge)
        assert (changed["code"] == 200) == grows, changed


async def test_nothing_comes_into_a_namespace_that_goes(ask: Asking) -> None:
    assert (await ask("DELETE", "/api/v1/namespaces/default"))["reason"] == "Forbidden"
    cms = "/api/v1/namespaces/gone/configmaps"
    assert (await ask("POST", cms, named("a")))["message"] == 'namespaces "gone" not found'
    await ask("POST", "/api/v1/namespaces", named("gone"))
    assert (await ask("POST", cms, named("a")))["code"] == 201
    await ask("DELETE", "/api/v1/namespaces/gone")
    refused = await ask("POST", cms, named("b"))
    assert refused["details"]["causes"][0]["reason"] == "NamespaceTerminating"


async def test_a_plugin_can_be_left_out() -> None:
    ask = Asking(Server(plugins_off=["Priority"]))
    assert "priority" not in (await ask("POST", PODS, pod("a")))["spec"]
    with pytest.raises(UnknownPlugin, match="no admission plugin 'Prio'"):
        Server(plugins_off=["Prio"])


ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"


async def test_a_pod_gets_the_token_of_its_account_and_what_it_pulls_with() -> None:
    ask = Asking(Server(plugins_on=["ServiceAccount"]))
    refused = await ask("POST", PODS, pod("a"))
    assert (refused["reason"], refused["message"]) == (
        "Forbidden",
        'pods "a" is forbidden: error looking up service account default/default: serviceaccount "default" not found',
    )
    await ask("POST", ACCOUNTS, named("default", imagePullSecrets=[{"name": "registry"}]))
    await ask("POST", ACCOUNTS, named("quiet", automountServiceAccountToken=False))
    spec = (await ask("POST", PODS, pod("a")))["spec"]
    (volume,), (mount,) = spec["volumes"], spec["containers"][0]["volumeMounts"]
    assert (spec["serviceAccountName"], spec["imagePullSecrets"]) == ("default", [{"name": "registry"}])
    assert mount == {"name": volume["name"], "readOnly": True, "mountPath": TOKEN}
    assert [next(iter(each)) for each in volume["projected"]["sources"]] == [
        "serviceAccountToken",
        "configMap",
        "downwardAPI",
    ]
    assert "volumes" not in (await ask("POST", PODS, pod("b", automountServiceAccountToken=False)))["spec"]
    assert "volumes" not in (await ask("POST", PODS, pod("c", serviceAccountName="quiet")))["spec"]
    mine = [{"name": "main", "image": "i", "volumeMounts": [{"name": "v", "mountPath": TOKEN}]}]
    made = await ask("POST", PODS, pod("d", containers=mine, volumes=[{"name": "v", "emptyDir": {}}]))
    assert [each["name"] for each in made["spec"]["volumes"]] == ["v"]


async def test_an_account_can_keep_secrets_from_its_pods() -> None:
    ask = Asking(Server(plugins_on=["ServiceAccount"]))
    metadata = {"name": "default", "annotations": {"kubernetes.io/enforce-mountable-secrets": "true"}}
    await ask("POST", ACCOUNTS, {"metadata": metadata, "secrets": [{"name": "own"}]})
    codes = []
    for secret in ("own", "other"):
        volumes = [{"name": "v", "secret": {"secretName": secret}}]
        codes.append((await ask("POST", PODS, pod(secret, volumes=volumes)))["code"])
    assert codes == [201, 403]


TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount"
RANGES = "/api/v1/namespaces/default/limitranges"


async def test_a_namespace_says_what_containers_get(ask: Asking) -> None:
    limit = {"type": "Container", "default": {"cpu": "1"}, "defaultRequest": {"cpu": "100m"}, "max": {"cpu": "2"}}
    await ask("POST", RANGES, named("l", spec={"limits": [limit]}))
    made = await ask("POST", PODS, pod("a"))
    assert made["spec"]["containers"][0]["resources"] == {"limits": {"cpu": "1"}, "requests": {"cpu": "100m"}}
    note = made["metadata"]["annotations"]["kubernetes.io/limit-ranger"]
    assert note == "LimitRanger plugin set: cpu request for container main; cpu limit for container main"
    assert made["status"]["qosClass"] == "Burstable"
    large = [{"name": "main", "image": "i", "resources": {"limits": {"cpu": "3"}}}]
    refused = await ask("POST", PODS, pod("b", containers=large))
    assert refused["message"].endswith("maximum cpu usage per Container is 2, but limit is 3")


async def test_a_pod_is_measured_by_what_runs_at_the_same_time(ask: Asking) -> None:
    limit = {"type": "Pod", "max": {"memory": "1Gi"}, "maxLimitRequestRatio": {"cpu": "2"}}
    await ask("POST", RANGES, named("l", spec={"limits": [limit]}))

    def using(memory: str, cpu: str = "1", name: str = "main") -> Json:
        limits = {"memory": memory, "cpu": cpu}
        return {"name": name, "image": "i", "resources": {"requests": {"cpu": "1"}, "limits": limits}}

    async def code(**spec: Any) -> int:
        return (await ask("POST", PODS, pod("a", **spec) | {"metadata": {"generateName": "a-"}}))["code"]

    assert await code(containers=[using("512Mi")], initContainers=[using("1Gi", name="before")]) == 201
    stays = {**using("600Mi", name="beside"), "restartPolicy": "Always"}
    assert await code(containers=[using("512Mi")], initContainers=[stays]) == 403
    assert await code(containers=[using("600Mi"), using("600Mi", name="two")]) == 403
    assert await code(containers=[using("512Mi", "3")]) == 403


async def test_a_runtime_brings_its_overhead(ask: Asking) -> None:
    scheduling = {"nodeSelector": {"runtime": "k"}, "tolerations": [{"key": "k", "operator": "Exists"}]}
    runtime = named("k", handler="k", overhead={"podFixed": {"cpu": "10m"}}, scheduling=scheduling)
    assert (await ask("POST", "/apis/node.k8s.io/v1/runtimeclasses", runtime))["code"] == 201
    spec = (await ask("POST", PODS, pod("a", runtimeClassName="k")))["spec"]
    assert (spec["overhead"], spec["nodeSelector"]) == ({"cpu": "10m"}, {"runtime": "k"})
    assert "k" in [each["key"] for each in spec["tolerations"]]
    for wrong in (
        {"runtimeClassName": "no"},
        {"overhead": {"cpu": "1"}},
        {"runtimeClassName": "k", "nodeSelector": {"runtime": "x"}},
    ):
        assert (await ask("POST", PODS, pod("b", **wrong)))["code"] == 403


def request_of(organization: str) -> str:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.ORGANIZATION_NAME, organization)])
    made = x509.CertificateSigningRequestBuilder().subject_name(name).sign(key, hashes.SHA256())
    return base64.b64encode(made.public_bytes(serialization.Encoding.PEM)).decode()


async def test_nobody_becomes_a_master_and_who_approves_has_to_be_allowed_to(ask: Asking) -> None:
    path = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
    about = {"signerName": "kubernetes.io/kube-apiserver-client", "usages": ["client auth"]}
    codes = []
    for group in ("devs", "system:masters"):
        made = named(group.replace(":", "-"), spec={**about, "request": request_of(group)})
        codes.append((await ask("POST", path, made))["code"])
    assert codes == [201, 403]
    rules = [{"apiGroups": ["certificates.k8s.io"], "resources": ["*"], "verbs": ["update", "patch"]}]
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    await ask("POST", f"{rbac}/clusterroles", named("editor", rules=rules))
    binding = {"roleRef": {"kind": "ClusterRole", "name": "editor", "apiGroup": "rbac.authorization.k8s.io"}}
    await ask("POST", f"{rbac}/clusterrolebindings", named("b", subjects=[{"kind": "User", "name": "ann"}], **binding))
    approval = {"status": {"conditions": [{"type": "Approved", "status": "True", "reason": "R", "message": "m"}]}}
    merge = {"content_type": "application/merge-patch+json", "impersonate_user": "ann"}
    refused = await ask("PATCH", f"{path}/devs/approval", approval, **merge)
    assert "not permitted to approve" in refused["message"]
    signer = [{"apiGroups": ["certificates.k8s.io"], "resources": ["signers"], "verbs": ["approve"]}]
    await ask("PUT", f"{rbac}/clusterroles/editor", named("editor", rules=rules + signer))
    assert (await ask("PATCH", f"{path}/devs/approval", approval, **merge))["code"] == 200


QUOTAS = "/api/v1/namespaces/default/resourcequotas"


async def quota(ask: Asking, name: str, hard: Json, **spec: Any) -> None:
    await ask("POST", QUOTAS, named(name, spec={"hard": hard, **spec}))
    status = {"hard": hard, "used": dict.fromkeys(hard, "0")}
    await ask("PATCH", f"{QUOTAS}/{name}/status", {"status": status}, content_type="application/merge-patch+json")


async def used(ask: Asking, name: str) -> Json:
    return (await ask("GET", f"{QUOTAS}/{name}"))["status"]["used"]


def using(name: str, cpu: str) -> Json:
    return pod(name, containers=[{"name": "main", "image": "i", "resources": {"requests": {"cpu": cpu}}}])


async def test_a_quota_is_used_up_and_no_further(ask: Asking) -> None:
    await quota(ask, "q", {"pods": "2", "requests.cpu": "1", "count/configmaps": "1"})
    assert (await ask("POST", f"{PODS}?dryRun=All", using("a", "1")))["code"] == 201
    assert await used(ask, "q") == {"pods": "0", "requests.cpu": "0", "count/configmaps": "0"}
    assert (await ask("POST", PODS, using("a", "600m")))["code"] == 201
    refused = await ask("POST", PODS, using("b", "500m"))
    assert refused["message"].endswith(
        "exceeded quota: q, requested: requests.cpu=500m, used: requests.cpu=600m, limited: requests.cpu=1"
    )
    assert "must specify requests.cpu for: main" in (await ask("POST", PODS, pod("c")))["message"]
    cms = "/api/v1/namespaces/default/configmaps"
    assert [(await ask("POST", cms, named(name)))["code"] for name in "ab"] == [201, 403]
    assert await used(ask, "q") == {"pods": "1", "requests.cpu": "600m", "count/configmaps": "1"}


async def test_a_quota_counts_what_is_in_its_scope(ask: Asking) -> None:
    await quota(ask, "ends", {"pods": "0"}, scopes=["Terminating"])
    await quota(
        ask,
        "usual",
        {"pods": "5"},
        scopeSelector={"matchExpressions": [{"scopeName": "PriorityClass", "operator": "DoesNotExist"}]},
    )
    assert (await ask("POST", PODS, pod("a")))["code"] == 201
    assert (await ask("POST", PODS, pod("b", activeDeadlineSeconds=5)))["code"] == 403
    assert (await used(ask, "usual"), await used(ask, "ends")) == ({"pods": "1"}, {"pods": "0"})


async def test_a_service_uses_ports_when_it_becomes_one_that_has_them(ask: Asking) -> None:
    await quota(ask, "q", {"services.nodeports": "1", "services": "5"})
    services = "/api/v1/namespaces/default/services"
    two = [{"port": 1, "name": "a"}, {"port": 2, "name": "b"}]
    await ask("POST", services, named("one", spec={"ports": two[:1]}))
    await ask("POST", services, named("two", spec={"ports": two}))
    change = {"spec": {"type": "NodePort"}}
    merge = {"content_type": "application/merge-patch+json"}
    codes = [(await ask("PATCH", f"{services}/{name}", change, **merge))["code"] for name in ("two", "one")]
    assert codes == [403, 200]
    assert await used(ask, "q") == {"services.nodeports": "1", "services": "2"}
