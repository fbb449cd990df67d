"""Trimtab's controllers as their users have them."""

import asyncio
from importlib.metadata import version

from bench.cost import Cost, Meter
from bench.reconcile.job import WORKED_ON, Job
from bench.reconcile.settling import Settling
from bench.work import in_loop
from trimtab import App, Context
from trimtab.cache import Informers
from trimtab.client import Client, MergePatch, load_config
from trimtab.controller import Controllers
from trimtab.kube.core.v1 import ConfigMap


def run(job: Job) -> Cost:
    """Do the job."""
    return in_loop(_manage(job, Settling(job)), uvloop=job.uvloop)


def _app(job: Job, settling: Settling) -> App:
    app = App("bench")
    value = settling.value

    @app.controller(ConfigMap, workers=job.workers)
    async def reconcile(settings: ConfigMap, ctx: Context) -> None:
        if value and settings.metadata.annotations.get(WORKED_ON) != value:
            await ctx.patch(ConfigMap, ctx.name, MergePatch({"metadata": {"annotations": {WORKED_ON: value}}}))
            return
        settling.settled(ctx.key)

    return app


async def _manage(job: Job, settling: Settling) -> Cost:
    finished = asyncio.Event()
    settling.finished = finished.set
    meter = Meter.start()
    async with Client(load_config(job.kubeconfig)) as client, Informers(client) as informers:
        controllers = Controllers(_app(job, settling), informers, namespaces=[job.namespace])
        controllers.start()
        running = asyncio.create_task(controllers.run())
        await finished.wait()
        cost = meter.stop(settling.wanted, f"trimtab {version('trimtab')}")
        controllers.stop()
        await running
        return cost
