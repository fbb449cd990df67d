"""A first controller: every namespace gets a ConfigMap that welcomes whoever works there."""

from trimtab.client import Client, run
from trimtab.kube.core.v1 import ConfigMap, Namespace
from trimtab.kube.meta.v1 import ObjectMeta


async def reconcile(client: Client, namespace: Namespace) -> None:
    """Make the cluster match one namespace, whatever happened to it."""
    if namespace.metadata.deletion_timestamp:
        return
    name = namespace.metadata.name
    await client.apply(
        ConfigMap(
            metadata=ObjectMeta(name="welcome", namespace=name),
            data={"text": f"Welcome to {name}, in use since {namespace.metadata.creation_timestamp:%F}."},
        )
    )
    print(f"{name} is welcoming", flush=True)


async def main() -> None:
    """Look at every namespace there is, then at each that changes; a watch that ended begins anew with all of them."""
    async with Client(field_manager="welcome") as client:
        while True:
            async with client.watch(Namespace) as events:
                async for event in events:
                    if event.type != "DELETED":
                        await reconcile(client, event.object)


run(main())
