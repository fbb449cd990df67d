"""kubernetes-client/python as its users have it: typed, blocking, in threads."""

from importlib.metadata import version
from typing import Any

from kubernetes import client, config

from bench.cost import Cost
from bench.population import FIELD_MANAGER
from bench.work import Job, run_in_threads

_MERGE = "application/merge-patch+json"


class Peer:
    """CoreV1Api, with as many connections as there are threads (by default there might be fewer)."""

    version = f"kubernetes {version('kubernetes')}"

    def __init__(self, api: client.CoreV1Api, namespace: str) -> None:
        self._api = api
        self._namespace = namespace

    def get(self, name: str) -> object:
        """Get a ConfigMap."""
        return self._api.read_namespaced_config_map(name, self._namespace)

    def patch(self, name: str, patch: dict[str, Any]) -> object:
        """Send it a merge patch."""
        return self._api.patch_namespaced_config_map(
            name, self._namespace, patch, field_manager=FIELD_MANAGER, _content_type=_MERGE
        )

    def list(self, page: int) -> list[Any]:
        """List all Pods of the namespace."""
        pods: list[Any] = []
        token = None
        while True:
            answer = self._api.list_namespaced_pod(self._namespace, limit=page, _continue=token)
            pods += answer.items
            if not (token := answer.metadata._continue):  # noqa: SLF001 (it is called so)
                return pods


def run(job: Job) -> Cost:
    """Do the job."""
    configuration = client.Configuration()
    config.load_kube_config(job.kubeconfig, client_configuration=configuration, persist_config=False)
    configuration.connection_pool_maxsize = job.in_flight
    with client.ApiClient(configuration) as api:
        return run_in_threads(job, Peer(client.CoreV1Api(api), job.namespace))
