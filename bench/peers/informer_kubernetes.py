"""kubernetes-client/python's SharedInformer: it lists all at once, keeps the generated models, runs in a thread."""

import threading
from importlib.metadata import version
from typing import Any

from kubernetes import client, config
from kubernetes.informer import ADDED, MODIFIED, SharedInformer

from bench.harness import BenchError
from bench.informer.job import Job
from bench.informer.stage import Stage, stamp_of


def run(job: Job) -> None:
    """Do the job."""
    if not job.objects:
        raise BenchError("kubernetes' SharedInformer cannot tell when it has synced: it has to be told --objects")
    configuration = client.Configuration()
    config.load_kube_config(job.kubeconfig, client_configuration=configuration, persist_config=False)
    with client.ApiClient(configuration) as api:
        stage = Stage(f"kubernetes {version('kubernetes')}")
        listing = _listing(client.CoreV1Api(api), job)
        known, finished = threading.Event(), threading.Event()
        count = 0

        def added(_: object) -> None:
            nonlocal count
            count += 1
            if count == job.objects:
                stage.synced(count)
                known.set()

        stage.begin()
        informer = SharedInformer(listing, namespace=job.namespace or None)
        informer.add_event_handler(ADDED, added)
        informer.add_event_handler(MODIFIED, lambda given: stage.updated(stamp_of(given.metadata.annotations)))
        informer.start()
        known.wait()
        stage.show()
        if job.events:
            stage.follow(job.events, finished.set)
            finished.wait()
        if job.reads:
            _read(job, stage, informer)


def _listing(api: client.CoreV1Api, job: Job) -> Any:
    match job.resource.group, job.resource.plural:
        case "", "pods":
            return api.list_namespaced_pod if job.namespace else api.list_pod_for_all_namespaces
        case "", "configmaps":
            return api.list_namespaced_config_map if job.namespace else api.list_config_map_for_all_namespaces
        case _:
            raise BenchError("kubernetes' SharedInformer is asked for pods and configmaps alone")


def _read(job: Job, stage: Stage, informer: SharedInformer) -> None:
    """Read as its users must: it has no indexes, so a list looks at all that is held."""
    key, _, value = job.label.partition("=")

    def owned(pod: Any) -> bool:
        return any(owner.controller and owner.uid == job.owner for owner in pod.metadata.owner_references or ())

    stage.read(
        job.reads,
        [pod.metadata.name for pod in informer.cache.list()],
        label=lambda: [pod for pod in informer.cache.list() if (pod.metadata.labels or {}).get(key) == value],
        owner=lambda: [pod for pod in informer.cache.list() if owned(pod)],
        get=lambda name: informer.cache.get_by_key(f"{job.namespace}/{name}"),
    )
