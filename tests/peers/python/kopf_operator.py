"""An operator as kopf's users write one: handlers of all kinds, results, retries, events."""

from typing import Any

import kopf


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
    settings.persistence.finalizer = "peers.trimtab.dev/kopf"
    settings.posting.level = 20


@kopf.on.create("peers.trimtab.dev", "v1", "gadgets")
def made(spec: kopf.Spec, name: str, patch: kopf.Patch, retry: int, **_: Any) -> dict[str, Any]:
    if not retry:
        raise kopf.TemporaryError("not yet", delay=0.1)
    patch.status["size"] = spec["size"]
    patch.meta.labels["made"] = "yes"
    return {"message": f"made {name}"}


@kopf.on.update("peers.trimtab.dev", "v1", "gadgets", field="spec.size")
def resized(old: int, new: int, body: kopf.Body, patch: kopf.Patch, **_: Any) -> None:
    patch.status["size"] = new
    kopf.info(body, reason="Resized", message=f"from {old} to {new}")


@kopf.on.resume("peers.trimtab.dev", "v1", "gadgets")
def resumed(patch: kopf.Patch, **_: Any) -> None:
    patch.status["resumed"] = True


@kopf.on.delete("peers.trimtab.dev", "v1", "gadgets")
def unmade(name: str, **_: Any) -> None:
    print("unmade", name, flush=True)


@kopf.on.event("configmaps", labels={"watched": kopf.PRESENT})
def happened(event: kopf.RawEvent, name: str, **_: Any) -> None:
    print("event", event["type"], name, flush=True)


@kopf.timer("peers.trimtab.dev", "v1", "gadgets", interval=0.5)
def ticked(patch: kopf.Patch, status: kopf.Status, **_: Any) -> None:
    if not status.get("ticked"):
        patch.status["ticked"] = True
