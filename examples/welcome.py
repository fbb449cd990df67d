"""A first controller: every namespace gets a ConfigMap that welcomes whoever works there."""

import asyncio

from trimtab.client import ApiError, Client, TransportError, run
from trimtab.kube.core.v1 import ConfigMap, Namespace
from trimtab.kube.meta.v1 import ObjectMeta


async def reconcile(client: Client, namespace: Namespace) -> None:
    """Make the cluster match one namespace, whatever happened to it."""
    if namespace.metadata.deletion_timestamp:
        return
    name = namespace.metadata.name
    welcome = ConfigMap(
        metadata=ObjectMeta(name="welcome", namespace=name),
        data={"text": f"Welcome to {name}, in use since {namespace.metadata.creation_timestamp:%F}."},
    )
    await client.apply(welcome, force=True)  # also where somebody has changed the text by hand
    print(f"{name} is welcoming", flush=True)


async def main() -> None:
    """Look at every namespace there is, then at each that changes; whatever ends a watch, the next begins with all."""
    async with Client(field_manager="welcome") as client:
        while True:
            try:
                async with client.watch(Namespace) as events:
                    async for event in events:
                        if event.type != "DELETED":
                            await reconcile(client, event.object)
            except (ApiError, TransportError) as error:
                print(f"{error}; again in a second", flush=True)
                await asyncio.sleep(1)


run(main())
