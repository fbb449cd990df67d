"""HorizontalPodAutoscalers scale nothing here: simulated Pods use nothing that could be measured, and this says so."""

from __future__ import annotations

from typing import Final

from trimtab.controller import App, Context
from trimtab.kube.autoscaling.v2 import HorizontalPodAutoscaler

app = App("horizontal-pod-autoscaler-controller")

_REASON: Final = "FailedGetResourceMetric"
_SAID: Final = (
    "unable to fetch metrics from resource metrics API: simulated Pods use nothing that could be measured, so nothing "
    "is scaled here; kubectl scale does"
)


@app.controller(HorizontalPodAutoscaler, name=app.name, known_as="horizontal-pod-autoscaler")
async def autoscaling(scaler: HorizontalPodAutoscaler, ctx: Context) -> None:
    """Tell once why nothing comes of it."""
    if scaler.metadata.deletion_timestamp is None:
        ctx.event("Warning", _REASON, _SAID, action="Scaling")
