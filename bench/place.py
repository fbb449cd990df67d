"""Where contestants meet: a server, the namespace with the population, and the folder for what is built."""

from dataclasses import dataclass
from pathlib import Path

from bench import loading


@dataclass(frozen=True)
class Place:
    """Where contestants meet."""

    kubeconfig: str
    namespace: str
    folder: Path

    def collection(self, resource: str) -> str:
        """Give the path of a resource of the core group."""
        return f"/api/v1/namespaces/{self.namespace}/{resource}"

    async def mean_size(self, resource: str, count: int) -> float:
        """Measure what an object takes in the JSON that the server sends."""
        return await loading.collection_size(self.kubeconfig, self.collection(resource)) / max(count, 1)
