"""kopf as a controller: a handler sees each body and patches it. Its defaults are as its users have them.

Its number of workers is left alone: each works on one object, and stays with it until five seconds have passed without
an event, so 16 of them would take an hour for 10,000 objects.
"""

import asyncio
import logging
import os
from importlib.metadata import version
from typing import Any

import kopf

from bench.cost import Cost, Meter
from bench.harness import BenchError
from bench.reconcile.job import WORKED_ON, Job
from bench.reconcile.settling import Settling


def run(job: Job) -> Cost:
    """Do the job."""
    logging.getLogger("kopf").setLevel(logging.WARNING)
    os.environ["KUBECONFIG"] = job.kubeconfig
    # Not asyncio.run: that would end the operator first, which takes minutes with so many workers at rest.
    return asyncio.new_event_loop().run_until_complete(_operate(job, Settling(job)))


async def _operate(job: Job, settling: Settling) -> Cost:
    registry = kopf.OperatorRegistry()
    finished = asyncio.Event()
    settling.finished = finished.set
    value = settling.value

    @kopf.on.login(registry=registry)
    def login(**given: Any) -> object:
        return kopf.login_with_kubeconfig(**given)

    @kopf.on.startup(registry=registry)
    def start(settings: kopf.OperatorSettings, **_: object) -> None:
        settings.posting.enabled = False

    @kopf.on.event("configmaps", registry=registry)
    async def reconcile(name: str, body: kopf.Body, patch: kopf.Patch, **_: object) -> None:
        if value and body.metadata.annotations.get(WORKED_ON) != value:
            patch.metadata.annotations[WORKED_ON] = value
            return
        settling.settled(name)

    meter = Meter.start()
    operator = asyncio.create_task(
        kopf.operator(registry=registry, standalone=True, clusterwide=False, namespaces=[job.namespace])
    )
    operator.add_done_callback(lambda _: finished.set())
    await finished.wait()
    cost = meter.stop(settling.wanted, f"kopf {version('kopf')}")
    if operator.done():
        raise BenchError(f"kopf ended: {operator.exception()}")
    return cost
