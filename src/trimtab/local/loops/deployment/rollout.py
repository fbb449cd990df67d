"""One look at a Deployment: what it has, and the writes that bring it forward."""

from __future__ import annotations

from typing import Any, Final

from trimtab.client import AlreadyExists, ApiError, MergePatch
from trimtab.controller import Context
from trimtab.controllers.replicaset.making import Templated, TemplateView
from trimtab.controllers.replicaset.pods import ENDED, PodView
from trimtab.errors import TrimtabError
from trimtab.kube.apps.v1 import Deployment, ReplicaSet
from trimtab.kube.conditions import find_condition
from trimtab.kube.core.v1 import Pod
from trimtab.kube.wire import to_wire
from trimtab.local.loops.deployment import progress, revisions
from trimtab.local.loops.deployment.progress import PROGRESSING, Counts
from trimtab.local.loops.deployment.sizes import ROLLING, Sized, bounds_of, grown, shared_out, shrunk

_SCALED: Final = "ScalingReplicaSet"


class Collision(TrimtabError):
    """Another template has this one's hash, and so the name of its ReplicaSet."""


class Rollout:
    """A Deployment with its ReplicaSets, as the cache has them; what is written shows there at once."""

    def __init__(self, deployment: Deployment, ctx: Context) -> None:
        self.deployment = deployment
        self.bounds = bounds_of(deployment)
        self.new: ReplicaSet | None = None
        self._ctx = ctx
        self._conditions = list(deployment.status.conditions)
        self._read()

    def _read(self) -> None:
        ctx = self._ctx
        self.sets = ctx.list(ReplicaSet, namespace=ctx.namespace, owner=self.deployment)
        self.template = self._template(Deployment, self.deployment.metadata.name)
        templates = {each.metadata.uid: self._template(ReplicaSet, each.metadata.name) for each in self.sets}
        self.new = revisions.find_new(self.sets, templates, self.template)

    def _template(self, kind: type[Deployment | ReplicaSet], name: str) -> TemplateView:
        return self._ctx.get(kind, name, view=Templated).spec.template

    @property
    def old(self) -> list[ReplicaSet]:
        """The ReplicaSets of other templates, the oldest first."""
        new = self.new.metadata.uid if self.new is not None else ""
        return sorted((each for each in self.sets if each.metadata.uid != new), key=revisions.by_age)

    def note_pause(self) -> None:
        """Tell that it is paused, or goes on."""
        self._conditions = progress.with_pause(self.deployment, self._conditions, self._ctx.now())

    def is_scaled(self) -> bool:
        """Whether it was scaled since its ReplicaSets were."""
        desired = [revisions.number_of(each, revisions.DESIRED) for each in self.sets if each.spec.replicas]
        return any(each is not None and each != self.bounds.replicas for each in desired)

    # The new ReplicaSet

    async def find(self, *, create: bool) -> None:
        """Have the new ReplicaSet at hand, with what is to be written down at it; make it where there is none."""
        old = self.old
        if self.new is None and not create:
            return
        wanted = revisions.annotations_of(self.deployment, self.new, old, self.bounds.most)
        if self.new is None:
            await self._create(wanted)
        else:
            await self._update(self.new, wanted)
        assert self.new is not None
        await self._write_notes(self.new)

    async def _update(self, new: ReplicaSet, annotations: dict[str, str]) -> None:
        minimum = self.deployment.spec.min_ready_seconds or 0
        spec = {} if (new.spec.min_ready_seconds or 0) == minimum else {"minReadySeconds": minimum}
        if annotations or spec:
            await self._patch(new, annotations, spec)
        if progress.deadline_of(self.deployment) is not None and find_condition(self._conditions, PROGRESSING) is None:
            self._note("True", progress.FOUND, f'Found new replica set "{new.metadata.name}"')

    async def _create(self, annotations: dict[str, str]) -> None:
        ctx, total = self._ctx, sum(each.spec.replicas or 0 for each in self.sets)
        replicas = grown(self.bounds, Sized("", 0), total) if self._is_rolling else self.bounds.replicas
        made = revisions.new_replica_set(self.deployment, self.template, replicas, annotations)
        name = made.metadata.name
        try:
            await ctx.create(made)
        except AlreadyExists:
            self._read()  # the cache may have been behind
            if self.new is not None:
                return
            await ctx.patch_status(collision_count=self.deployment.status.collision_count + 1)
            raise Collision(f"another ReplicaSet is called {name}") from None
        except ApiError as error:
            if not error.has_cause("NamespaceTerminating"):
                text = f'Failed to create new replica set "{name}": {error.message}'
                self._note("False", progress.NOT_CREATED, text)
                ctx.event("Warning", progress.NOT_CREATED, text)
                await self.tell(only_counts=True)
            raise
        if replicas:
            ctx.event("Normal", _SCALED, f"Scaled up replica set {name} from 0 to {replicas}")
        self._note("True", progress.CREATED, f'Created new replica set "{name}"')
        self._read()

    async def _write_notes(self, new: ReplicaSet) -> None:
        """Tell which revision it is, and that there is a new ReplicaSet: whoever watches sees that before its Pods."""
        revision = new.metadata.annotations.get(revisions.REVISION, "")
        body: dict[str, Any] = {}
        if revision and self.deployment.metadata.annotations.get(revisions.REVISION) != revision:
            body["metadata"] = {"annotations": {revisions.REVISION: revision}}
        if self._conditions != list(self.deployment.status.conditions):
            body["status"] = {"conditions": [to_wire(each) for each in self._conditions]}
        if body:
            body.setdefault("metadata", {})["uid"] = self.deployment.metadata.uid
            patch = MergePatch(body)  # beside the status, where annotations make no new generation
            await self._ctx.patch(Deployment, self.deployment.metadata.name, patch, subresource="status")

    def _note(self, status: progress.ConditionStatus, reason: str, message: str) -> None:
        if progress.deadline_of(self.deployment) is not None:
            now = self._ctx.now()
            self._conditions = progress.put(self._conditions, PROGRESSING, status, reason, message, now)

    # Sizes

    @property
    def _is_rolling(self) -> bool:
        return self.deployment.spec.strategy.type in (None, ROLLING)

    async def grow(self) -> bool:
        """Scale the new ReplicaSet as far as may be; whether that changed anything."""
        assert self.new is not None
        size, wanted = _sized(self.new), self.bounds.replicas
        if size.replicas < wanted and self._is_rolling:
            wanted = grown(self.bounds, size, sum(each.spec.replicas or 0 for each in self.sets))
        return await self._resize(self.new, wanted, always=False)

    async def shrink(self) -> bool:
        """Scale the old ReplicaSets down as far as may be; whether that changed anything."""
        assert self.new is not None
        sizes = shrunk(self.bounds, _sized(self.new), list(map(_sized, self.old)))
        for rs in self.old:
            if rs.metadata.name in sizes:
                await self._resize(rs, sizes[rs.metadata.name])
        return bool(sizes)

    async def empty_old(self) -> bool:
        """Scale the old ReplicaSets to nothing; whether that changed anything."""
        filled = [each for each in self.old if each.spec.replicas]
        for rs in filled:
            await self._resize(rs, 0)
        return bool(filled)

    def old_pods_run(self) -> bool:
        """Whether there are Pods of old ReplicaSets, even such as are about to go."""
        if any(each.status.replicas for each in self.old):
            return True
        ctx = self._ctx
        return any(
            pod.status.phase not in ENDED
            for rs in self.old
            for pod in ctx.list(Pod, namespace=ctx.namespace, owner=rs, view=PodView)
        )

    async def scale(self) -> None:
        """Bring the ReplicaSets to the size that the Deployment has now, each to its share."""
        active = [each for each in self.sets if each.spec.replicas]
        if len(active) <= 1:
            only = active[0] if active else self.new or (self.old[-1] if self.old else None)
            if only is not None:
                await self._resize(only, self.bounds.replicas)
        elif self._is_saturated():
            await self.empty_old()
        elif self._is_rolling:
            sizes = shared_out(self.bounds, map(_sized, active), self.deployment.status.replicas)
            for rs in active:
                await self._resize(rs, sizes[rs.metadata.name])

    def _is_saturated(self) -> bool:
        new, wanted = self.new, self.bounds.replicas
        if new is None or revisions.number_of(new, revisions.DESIRED) is None:
            return False
        return (
            new.spec.replicas == revisions.number_of(new, revisions.DESIRED) == new.status.available_replicas == wanted
        )

    async def _resize(self, rs: ReplicaSet, replicas: int, *, always: bool = True) -> bool:
        """Scale a ReplicaSet, and write down what its Deployment wanted then; whether its size changed.

        Unless `always`, nothing is written down at one that has its size already.
        """
        wanted = {revisions.DESIRED: str(self.bounds.replicas), revisions.MOST: str(self.bounds.most)}
        said = {key: value for key, value in wanted.items() if rs.metadata.annotations.get(key) != value}
        before = 1 if rs.spec.replicas is None else rs.spec.replicas
        if before != replicas or (said and always):
            await self._patch(rs, said, {"replicas": replicas} if before != replicas else {})
        if before == replicas:
            return False
        way, name = "up" if replicas > before else "down", rs.metadata.name
        self._ctx.event("Normal", _SCALED, f"Scaled {way} replica set {name} from {before} to {replicas}")
        return True

    async def _patch(self, rs: ReplicaSet, annotations: dict[str, str], spec: dict[str, int]) -> None:
        meta = {"resourceVersion": rs.metadata.resource_version, "annotations": annotations}
        await self._ctx.patch(ReplicaSet, rs.metadata.name, MergePatch({"metadata": meta, "spec": spec}))
        self._read()

    # The end of a look

    def is_complete(self) -> bool:
        """Whether the rollout is done, as the status says."""
        status = self.deployment.status
        counts = Counts(status.replicas, status.updated_replicas, 0, status.available_replicas, 0, 0)
        is_seen = status.observed_generation >= (self.deployment.metadata.generation or 0)
        return is_seen and progress.is_complete(self.deployment, counts)

    async def clean_up(self) -> None:
        """Delete the ReplicaSets that nobody has to remember."""
        for rs in revisions.superfluous(self.old, self.deployment.spec.revision_history_limit):
            await self._ctx.delete(ReplicaSet, rs.metadata.name, uid=rs.metadata.uid)

    async def tell(self, *, only_counts: bool = False) -> float | None:
        """Write the status; in how many seconds the deadline of the rollout will have passed."""
        now, counts = self._ctx.now(), progress.counts_of(self.sets, self.new)
        conditions = progress.with_availability(self._conditions, self.bounds, counts, now)
        if not only_counts:
            conditions = progress.with_progress(self.deployment, conditions, counts, self.new, now)
            conditions = progress.with_failures(conditions, self.new, self.old, now)
        await self._ctx.patch_status(
            **counts.fields(), observed_generation=self.deployment.metadata.generation, conditions=conditions
        )
        return None if only_counts else progress.look_again_in(self.deployment, conditions, counts, now)


def _sized(rs: ReplicaSet) -> Sized:
    made, name = revisions.by_age(rs)
    return Sized(
        name=name,
        replicas=1 if rs.spec.replicas is None else rs.spec.replicas,
        available=rs.status.available_replicas,
        made=made.isoformat(),
        most=revisions.number_of(rs, revisions.MOST) or 0,
    )
