"""`python -m bench.reconcile.preparing KUBECONFIG NAMESPACE`: count the ConfigMaps; if there are none, make 10,000.

A process of its own: what it takes is no part of what is measured.
"""

import asyncio
import sys

from bench import loading
from bench.population import config_maps
from trimtab.errors import TrimtabError

_WANTED = 10_000


async def prepare(kubeconfig: str, namespace: str) -> int:
    """Count them, or make them."""
    return await loading.collection_count(
        kubeconfig, f"/api/v1/namespaces/{namespace}/configmaps"
    ) or await loading.fill(kubeconfig, namespace, config_maps(_WANTED))


if __name__ == "__main__":
    try:
        print(asyncio.run(prepare(*sys.argv[1:])))
    except TrimtabError as error:
        sys.exit(str(error))
