"""Trimtab's controllers as their users have them."""

import asyncio
from importlib.metadata import version

from bench.cost import Cost, Meter
from bench.reconcile.job import WORKED_ON, Job
from bench.reconcile.settling import Settling
from bench.work import in_loop
from trimtab import App, Context
from trimtab.client import MergePatch, load_config
from trimtab.kube.core.v1 import ConfigMap
from trimtab.manager import Manager


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
    stopping = asyncio.Event()
    costs: list[Cost] = []
    meter = Meter.start()

    def finished() -> None:
        costs.append(meter.stop(settling.wanted, f"trimtab {version('trimtab')}"))
        stopping.set()

    settling.finished = finished
    config = load_config(job.kubeconfig)
    # Like controller-runtime's here: its metrics are counted, and not served.
    await Manager(_app(job, settling), config, namespaces=[job.namespace], listen=False).run(stopping)
    return costs[0]
