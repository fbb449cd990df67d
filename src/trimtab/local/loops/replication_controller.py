"""As many Pods as a ReplicationController wants: the way of ReplicaSets, by their controller."""

from __future__ import annotations

from typing import Final

from trimtab.controller import App, Context, Requeue, selected_by
from trimtab.controllers.replicaset import GATHER, replicate
from trimtab.controllers.replicaset.memory import Memory, place
from trimtab.kube.apps.v1 import ReplicaSet, ReplicaSetCondition, ReplicaSetSpec, ReplicaSetStatus
from trimtab.kube.core.v1 import Pod, PodSpec, PodTemplateSpec, ReplicationController
from trimtab.kube.meta.v1 import LabelSelector

NAME: Final = "replicationcontroller-controller"

app = App(NAME)


def as_replica_set(rc: ReplicationController) -> ReplicaSet:
    """What it wants, said by a ReplicaSet."""
    conditions = [
        ReplicaSetCondition(
            type=each.type,
            status=each.status,
            reason=each.reason,
            message=each.message,
            last_transition_time=each.last_transition_time,
        )
        for each in rc.status.conditions
    ]
    return ReplicaSet(
        metadata=rc.metadata,
        spec=ReplicaSetSpec(
            replicas=rc.spec.replicas,
            min_ready_seconds=rc.spec.min_ready_seconds,
            selector=LabelSelector(match_labels=rc.spec.selector),
            template=rc.spec.template or PodTemplateSpec(spec=PodSpec(containers=[])),
        ),
        status=ReplicaSetStatus(conditions=conditions),
    )


async def forget(key: str, ctx: Context) -> None:
    """The ReplicationController is gone."""
    ctx.once(Memory).forget(place(ReplicationController, key))


@app.controller(
    ReplicationController,
    name=NAME,
    known_as="replication-controller",
    owns=[Pod],
    watches={Pod: selected_by(lambda rc: rc.spec.selector, orphans=True)},
    workers=5,
    gather=GATHER,
    gone=forget,
)
async def replication_controller(rc: ReplicationController, ctx: Context) -> Requeue | None:
    """Let there be as many Pods as are wanted."""
    return await replicate(ctx, rc, as_replica_set(rc))
