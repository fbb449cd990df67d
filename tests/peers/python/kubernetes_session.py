"""kubernetes-client/python as its users have it: typed objects, watches, every patch type, and the dynamic client."""

import base64
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from kubernetes import client, config, dynamic, utils, watch
from kubernetes.client.exceptions import ApiException

NAMESPACE = sys.argv[1]


@contextmanager
def refused(status: int, why: str) -> Iterator[None]:
    try:
        yield
    except ApiException as error:
        if error.status != status or why not in error.body:
            raise
    else:
        raise AssertionError(f"this was not refused: {why}")


def typed(core: client.CoreV1Api) -> None:
    made = core.create_namespaced_config_map(
        NAMESPACE, client.V1ConfigMap(metadata=client.V1ObjectMeta(name="a", labels={"x": "1"}), data={"k": "v"})
    )
    assert made.metadata.creation_timestamp.tzinfo is not None
    made.metadata.resource_version = None
    with refused(409, "already exists"):
        core.create_namespaced_config_map(NAMESPACE, made)
    patched = core.patch_namespaced_config_map("a", NAMESPACE, {"data": {"l": "w"}})
    assert patched.data == {"k": "v", "l": "w"}
    patched = core.patch_namespaced_config_map("a", NAMESPACE, [{"op": "remove", "path": "/data/k"}])
    assert patched.data == {"l": "w"}
    patched.data = {"m": "x"}
    replaced = core.replace_namespaced_config_map("a", NAMESPACE, patched)
    assert replaced.data == {"m": "x"}
    with refused(409, "the object has been modified"):
        core.replace_namespaced_config_map("a", NAMESPACE, patched)
    secret = client.V1Secret(metadata=client.V1ObjectMeta(generate_name="s-"), string_data={"k": "v"})
    found = core.create_namespaced_secret(NAMESPACE, secret)
    assert base64.b64decode(core.read_namespaced_secret(found.metadata.name, NAMESPACE).data["k"]) == b"v"


def lists(core: client.CoreV1Api) -> None:
    for number in range(5):
        core.create_namespaced_config_map(
            NAMESPACE, client.V1ConfigMap(metadata=client.V1ObjectMeta(name=f"l{number}", labels={"page": "yes"}))
        )
    names, token = [], None
    while True:
        page = core.list_namespaced_config_map(NAMESPACE, label_selector="page=yes", limit=2, _continue=token)
        names += [each.metadata.name for each in page.items]
        if not (token := page.metadata._continue):
            break
    assert names == [f"l{number}" for number in range(5)], names
    core.delete_collection_namespaced_config_map(NAMESPACE, label_selector="page=yes")
    assert not core.list_namespaced_config_map(NAMESPACE, label_selector="page=yes").items


def watches(core: client.CoreV1Api) -> None:
    start = core.list_namespaced_config_map(NAMESPACE).metadata.resource_version

    def write() -> None:
        body = client.V1ConfigMap(metadata=client.V1ObjectMeta(name="w"))
        core.create_namespaced_config_map(NAMESPACE, body)
        core.patch_namespaced_config_map("w", NAMESPACE, {"data": {"k": "v"}})
        core.delete_namespaced_config_map("w", NAMESPACE)

    writer = threading.Thread(target=write)
    writer.start()
    seen = []
    watching = watch.Watch()
    for event in watching.stream(
        core.list_namespaced_config_map, NAMESPACE, resource_version=start, timeout_seconds=20
    ):
        assert isinstance(event["object"], client.V1ConfigMap)
        seen.append((event["type"], event["object"].metadata.name))
        if len(seen) == 3:
            watching.stop()
    writer.join()
    assert seen == [("ADDED", "w"), ("MODIFIED", "w"), ("DELETED", "w")], seen


def workloads(api: client.ApiClient) -> None:
    apps = client.AppsV1Api(api)
    template = client.V1PodTemplateSpec(
        metadata=client.V1ObjectMeta(labels={"app": "web"}),
        spec=client.V1PodSpec(containers=[client.V1Container(name="web", image="nginx")]),
    )
    spec = client.V1DeploymentSpec(selector=client.V1LabelSelector(match_labels={"app": "web"}), template=template)
    body = client.V1Deployment(metadata=client.V1ObjectMeta(name="web"), spec=spec)
    made = apps.create_namespaced_deployment(NAMESPACE, body)
    assert made.spec.replicas == 1
    container = {"name": "side", "image": "busybox"}  # a strategic merge patch, which merges containers by name
    patched = apps.patch_namespaced_deployment(
        "web", NAMESPACE, {"spec": {"template": {"spec": {"containers": [container]}}}}
    )
    assert {each.name for each in patched.spec.template.spec.containers} == {"web", "side"}
    scale = apps.patch_namespaced_deployment_scale("web", NAMESPACE, {"spec": {"replicas": 3}})
    assert scale.spec.replicas == 3
    status = apps.patch_namespaced_deployment_status("web", NAMESPACE, {"status": {"replicas": 2}})
    assert (status.status.replicas, status.spec.replicas) == (2, 3)
    body.spec.selector.match_labels = {"app": "other"}
    with refused(422, "does not match template"):
        apps.create_namespaced_deployment(NAMESPACE, body)
    assert apps.delete_namespaced_deployment("web", NAMESPACE)["status"] == "Success"


def any_kind(api: client.ApiClient) -> None:
    found = dynamic.DynamicClient(api)
    definitions = found.resources.get(api_version="apiextensions.k8s.io/v1", kind="CustomResourceDefinition")
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"n": {"type": "integer"}}}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "sprockets", "singular": "sprocket", "kind": "Sprocket", "listKind": "SprocketList"}
    definitions.create(
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "sprockets.python.trimtab.dev"},
            "spec": {"group": "python.trimtab.dev", "scope": "Namespaced", "names": names, "versions": [version]},
        }
    )
    for event in definitions.watch(name="sprockets.python.trimtab.dev", timeout=20):
        conditions = event["object"].to_dict().get("status", {}).get("conditions", [])
        if {"Established": "True"}.items() <= {each["type"]: each["status"] for each in conditions}.items():
            break
    found.resources.invalidate_cache()
    sprockets = found.resources.get(api_version="python.trimtab.dev/v1", kind="Sprocket")
    body = {"apiVersion": "python.trimtab.dev/v1", "kind": "Sprocket", "metadata": {"name": "a"}, "spec": {"n": 1}}
    sprockets.create(body, namespace=NAMESPACE)
    body["spec"] = {"n": 2}
    applied = sprockets.server_side_apply(
        body, name="a", namespace=NAMESPACE, field_manager="session", force_conflicts=True
    )
    assert applied.spec.n == 2
    merged = {"metadata": {"labels": {"x": "y"}}}
    patched = sprockets.patch(merged, "a", NAMESPACE, content_type="application/merge-patch+json")
    assert patched.metadata.labels.x == "y"
    assert [each.metadata.name for each in sprockets.get(namespace=NAMESPACE, label_selector="x=y").items] == ["a"]
    sprockets.delete("a", NAMESPACE)


def accesses(api: client.ApiClient, core: client.CoreV1Api) -> None:
    account = client.V1ServiceAccount(metadata=client.V1ObjectMeta(name="robot"))
    core.create_namespaced_service_account(NAMESPACE, account)
    wanted = client.AuthenticationV1TokenRequest(spec=client.V1TokenRequestSpec(audiences=[]))
    token = core.create_namespaced_service_account_token("robot", NAMESPACE, wanted).status.token
    settings = client.Configuration.get_default_copy()
    settings.cert_file = settings.key_file = None
    settings.api_key = {"authorization": f"Bearer {token}"}
    with client.ApiClient(settings) as robot, refused(403, "cannot list resource"):
        client.CoreV1Api(robot).list_namespaced_config_map(NAMESPACE)
    attributes = client.V1ResourceAttributes(namespace=NAMESPACE, verb="get", resource="pods")
    review = client.V1SelfSubjectAccessReview(spec=client.V1SelfSubjectAccessReviewSpec(resource_attributes=attributes))
    assert client.AuthorizationV1Api(api).create_self_subject_access_review(review).status.allowed


def from_a_file(api: client.ApiClient) -> None:
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {"ports": [{"port": 80}]}}
    ((made,),) = (utils.create_from_dict(api, service, namespace=NAMESPACE),)
    assert made.spec.type == "ClusterIP"


def main() -> None:
    config.load_kube_config()
    with client.ApiClient() as api:
        core = client.CoreV1Api(api)
        assert client.VersionApi(api).get_code().major == "1"
        typed(core)
        lists(core)
        watches(core)
        workloads(api)
        any_kind(api)
        accesses(api, core)
        from_a_file(api)
    print("all is well")


if __name__ == "__main__":
    main()
