"""Addresses and ports of Services: each has one holder at most, whoever asks at the same time, and none is lost."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.apiserver.test_custom_resources import Asking

from trimtab.apiserver.allotting import Pool
from trimtab.apiserver.calls import Call
from trimtab.apiserver.server import Server
from trimtab.apiserver.storage import Database, Store
from trimtab.apiserver.surroundings import Surroundings

Json = dict[str, Any]
SERVICES = "/api/v1/namespaces/default/services"
MERGE = {"content_type": "application/merge-patch+json"}


def service(name: str, **spec: Any) -> Json:
    return {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}], **spec}}


def balancer(name: str, **spec: Any) -> Json:
    return service(name, type="LoadBalancer", externalTrafficPolicy="Local", **spec)


def held(items: list[Json]) -> tuple[Counter[str], Counter[int]]:
    """Who holds what, as it stands in the Services."""
    addresses, ports = Counter[str](), Counter[int]()
    for item in items:
        spec = item["spec"]
        addresses.update(each for each in spec.get("clusterIPs", []) if each != "None")
        ports.update({each["nodePort"] for each in spec.get("ports", []) if "nodePort" in each})
        if "healthCheckNodePort" in spec:
            ports[spec["healthCheckNodePort"]] += 1
    return addresses, ports


class Slow:
    """Admission that takes its time, so that others come in between."""

    async def mutate(self, call: Call, operation: str, new: Json | None, old: Json | None) -> Json | None:
        del call, operation, old
        return new

    async def validate(self, call: Call, operation: str, new: Json | None, old: Json | None) -> None:
        del call, operation, new, old
        for _ in range(3):
            await asyncio.sleep(0)


async def test_each_has_its_own_whoever_asks_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Pool, "find", _lowest)  # so that all want the same
    ask = Asking(Server(admission=Slow()))
    made = await asyncio.gather(*(ask("POST", SERVICES, balancer(f"s{number}")) for number in range(20)))
    assert {each["code"] for each in made} == {201}
    addresses, ports = held(made)
    assert (len(addresses), len(ports)) == (20, 40)
    assert {*addresses.values(), *ports.values()} == {1}
    wanted = service("x", clusterIP="10.0.9.9"), service("y", clusterIP="10.0.9.9")
    both = await asyncio.gather(*(ask("POST", SERVICES, each) for each in wanted))
    assert sorted(each["code"] for each in both) == [201, 422]


def _lowest(pool: Pool, chosen: Any) -> int:
    taken = set(chosen)
    return next(each for each in pool._numbers if pool.is_free(each, "") and each not in taken)


@pytest.mark.parametrize("seed", range(5))
async def test_what_goes_is_free_and_what_stays_is_held(seed: int) -> None:
    dice = random.Random(seed)
    server = Server(surroundings=Surroundings(dice=random.Random(seed)))
    ask = Asking(server)
    for step in range(120):
        name = f"s{dice.randrange(8)}"
        match dice.randrange(5):
            case 0:
                await ask("DELETE", f"{SERVICES}/{name}")
            case 1:
                kind = dice.choice(["ClusterIP", "NodePort", "LoadBalancer"])
                await ask("PATCH", f"{SERVICES}/{name}", {"spec": {"type": kind}}, **MERGE)
            case 2:
                port = 30000 + dice.randrange(4)
                await ask("PATCH", f"{SERVICES}/{name}", {"spec": {"ports": [{"port": 80, "nodePort": port}]}}, **MERGE)
            case 3:
                address = f"10.0.0.{dice.randrange(2, 5)}"
                await ask("POST", SERVICES, balancer(name, clusterIP=address))
            case _:
                await ask("POST", SERVICES, service(name, type="NodePort"))
        if not step % 30:
            server.store.compact(server.store.revision)
        addresses, ports = held((await ask("GET", SERVICES))["items"])
        assert not {*addresses.values(), *ports.values()} - {1}
    items = (await ask("GET", SERVICES))["items"]
    for item in items:
        await ask("DELETE", f"{SERVICES}/{item['metadata']['name']}")
    addresses, ports = held(items)
    for number, (address, port) in enumerate(zip(addresses, [*ports, 0, 0, 0, 0, 0, 0, 0, 0], strict=False)):
        again = service(f"n{number}", type="NodePort", clusterIP=address, ports=[{"port": 1, "nodePort": port or None}])
        assert (await ask("POST", SERVICES, again))["code"] == 201


async def test_what_is_held_is_held_right_after_a_restart(tmp_path: Path) -> None:
    server = Server(Store(Database(tmp_path / "objects.db")))
    made = await Asking(server)("POST", SERVICES, balancer("a"))
    server.close()
    server = Server(Store(Database(tmp_path / "objects.db")))
    ask = Asking(server)
    for spec in (
        {"clusterIP": made["spec"]["clusterIP"]},
        {"type": "NodePort", "ports": [{"port": 80, "nodePort": made["spec"]["ports"][0]["nodePort"]}]},
        {"type": "NodePort", "ports": [{"port": 80, "nodePort": made["spec"]["healthCheckNodePort"]}]},
    ):
        assert "already allocated" in (await ask("POST", SERVICES, service("b", **spec)))["message"]
    server.close()


async def test_a_change_keeps_what_was_given_and_gives_back_what_has_no_use() -> None:
    ask = Asking(Server())
    two = [{"port": 53, "name": "t"}, {"port": 53, "name": "u", "protocol": "UDP"}]
    spec = (await ask("POST", SERVICES, balancer("a", ports=two)))["spec"]
    assert spec["ports"][0]["nodePort"] == spec["ports"][1]["nodePort"]
    same = (await ask("PUT", f"{SERVICES}/a", balancer("a", ports=two)))["spec"]
    assert same == spec
    for change in ({"externalTrafficPolicy": "Cluster"}, {"type": "ClusterIP"}):
        spec = (await ask("PATCH", f"{SERVICES}/a", {"spec": change}, **MERGE))["spec"]
        assert "healthCheckNodePort" not in spec
    assert not any("nodePort" in each for each in spec["ports"])
    assert spec["clusterIP"] == same["clusterIP"]


def test_the_last_one_is_found_and_then_none() -> None:
    pool = Pool(range(100, 400), 50, random.Random(1))
    given = []
    while (number := pool.find(())) is not None:
        pool.hold([number], "k")
        given.append(number)
    assert sorted(given) == list(range(100, 400))
    assert set(given[-50:]) == set(range(100, 150))  # those are for who asks for one
    pool.release([123], "k")
    assert pool.find(()) == 123
    assert pool.find([123]) is None
