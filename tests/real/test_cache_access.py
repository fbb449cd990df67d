"""Informers of somebody who may not read: they say so, wait, and go on when they may."""

import asyncio
import logging
from typing import Any

import pytest

from trimtab.cache import Informers, NotSynced
from trimtab.client import Client, load_config
from trimtab.kube.core.v1 import ConfigMap
from trimtab.kube.meta.v1 import ObjectMeta
from trimtab.kube.rbac.v1 import PolicyRule, Role, RoleBinding, RoleRef, Subject
from trimtab.testing.control_plane import ControlPlane

from .cache_helpers import Witness, config_map, kept, truth, until


async def grant(client: Client, user: str, *verbs: str) -> None:
    rule = PolicyRule(api_groups=[""], resources=["configmaps"], verbs=[*verbs])
    await client.apply(Role(metadata=ObjectMeta(name="reader"), rules=[rule]))
    subject = Subject(kind="User", name=user, api_group="rbac.authorization.k8s.io")
    ref = RoleRef(api_group="rbac.authorization.k8s.io", kind="Role", name="reader")
    await client.apply(RoleBinding(metadata=ObjectMeta(name="reader"), subjects=[subject], role_ref=ref))


async def test_a_role_that_is_missing_and_then_granted(
    client: Client, control_plane: ControlPlane, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "trimtab.cache")
    await client.create(config_map("a"))
    config = load_config(control_plane.kubeconfig("nobody", groups=()))
    async with Client(config) as nobody, Informers(nobody, random=lambda: 0.0) as informers:
        informer = informers.informer(ConfigMap, namespaces=client.namespace)
        witness = Witness(informer)
        with pytest.raises(NotSynced) as failed:
            await informers.synced(0.5)
        said = str(failed.value)
        assert said.startswith(f"not read within 0.5 s: configmaps in {client.namespace} (cannot ")
        assert 'Forbidden (403): configmaps is forbidden: User "nobody" cannot ' in said
        assert "\n" not in said
        [health] = informers.health()
        assert (health.synced, "Forbidden" in health.problem) == (False, True)
        with pytest.raises(NotSynced, match="Forbidden"):
            informer.lister.list()
        assert witness.told == []

        await grant(client, "nobody", "list", "watch")
        await informers.synced(20)
        await until(lambda: ("add", "a") in witness.told)
        await client.create(config_map("b"))
        await until(lambda: ("add", "b") in witness.told)
        assert kept(informer) == await truth(client, ConfigMap, namespace=client.namespace)
        assert informers.health()[0].problem == ""
    # What keeps on being in the way is told of once for each verb.
    assert 1 <= len([record for record in caplog.records if "Forbidden" in record.getMessage()]) <= 2


async def test_a_namespace_that_may_not_be_read_is_left_out(client: Client, control_plane: ControlPlane) -> None:
    await client.create(config_map("a"))
    await grant(client, "guest", "list", "watch")
    async with (
        Client(load_config(control_plane.kubeconfig("guest", groups=()))) as guest,
        Informers(guest) as informers,
    ):
        informer = informers.informer(ConfigMap, namespaces=[client.namespace, "default"])
        witness = Witness(informer)
        await until(lambda: sorted(health.synced for health in informers.health()) == [False, True])
        await until(lambda: witness.told == [("add", "a")])
        assert not informer.has_synced
        waiting = [asyncio.create_task(informers.synced(20)), asyncio.create_task(informer.synced())]
        informer.look_in([client.namespace])
        async with asyncio.timeout(10):
            await asyncio.gather(*waiting)
        assert informer.has_synced
        assert witness.registration.has_synced
        assert [obj.metadata.name for obj in informer.lister.list()] == ["a"]

        # Closed and asked for again, it begins anew.
        informer.close()
        again = informers.informer(ConfigMap, namespaces=client.namespace)
        assert not again.has_synced
        await informers.synced(20)
        assert [obj.metadata.name for obj in again.lister.list()] == ["a"]


async def test_a_role_that_may_list_and_not_watch(client: Client, control_plane: ControlPlane) -> None:
    await client.create(config_map("a"))
    await grant(client, "lister", "list")
    config: Any = load_config(control_plane.kubeconfig("lister", groups=()))
    async with Client(config) as reader, Informers(reader, random=lambda: 0.0) as informers:
        informer = informers.informer(ConfigMap, namespaces=client.namespace)
        witness = Witness(informer)
        await informers.synced(20)
        await until(lambda: ("add", "a") in witness.told)
        # It is in no good order: what changes from here on is not seen.
        await until(lambda: 'cannot watch resource "configmaps"' in informers.health()[0].problem)
        await grant(client, "lister", "list", "watch")
        await client.create(config_map("b"))
        await until(lambda: ("add", "b") in witness.told)
        await until(lambda: informers.health()[0].problem == "")
        assert witness.faults == []
