from collections import Counter
from typing import Any

import msgspec
import pytest
from bench.machine import cpu_model
from bench.population import Made, config_maps, large, pod, pods, pods_by_name, settings, settings_name
from bench.serverless import fields, served_pods

from trimtab.kube.core.v1 import ConfigMap, Pod


def test_pods_differ_as_those_of_a_cluster_do_and_are_the_same_at_every_run() -> None:
    made = list(pods(400))
    assert len({one.name for one in made}) == 400
    assert made == [pod(number, 400) for number in range(400)]
    assert len({status["containerID"] for one in made for status in statuses(one)}) == 800
    images = {(status["image"], status["imageID"]) for one in made for status in statuses(one)}
    assert len(images) == 2 * len({one.owner for one in made})


def test_pods_of_a_replica_set_are_alike_and_one_replica_set_is_large() -> None:
    made = list(pods(2000))
    sizes = Counter(one.owner for one in made)
    owner, size = large(2000)
    assert sizes[owner.uid] == size == 100
    assert max(sizes[uid] for uid in sizes if uid != owner.uid) <= 30
    found = [one for one in made if one.manifest["metadata"]["labels"]["pod-template-hash"] == owner.digest]
    assert {one.owner for one in found} == {owner.uid}
    assert len(found) == size
    assert {tuple(c["args"]) for one in found for c in one.manifest["spec"]["containers"][:1]} == {
        tuple(owner.spec["containers"][0]["args"])
    }


@pytest.mark.parametrize("count", [0, 1, 7, 100, 1234])
def test_there_are_as_many_as_are_asked_for(count: int) -> None:
    by_name = [one.name for one in pods_by_name(count)]
    assert len(by_name) == count
    assert sorted(by_name) == sorted(one.name for one in pods(count))
    prefixes = [name.rpartition("-")[0] for name in by_name]
    assert prefixes == sorted(prefixes)


def test_the_typed_classes_know_every_field() -> None:
    for made, cls in [*((one, Pod) for one in pods(20)), *((one, ConfigMap) for one in config_maps(20))]:
        manifest = {**made.manifest, "status": made.status} if made.status else made.manifest
        read = msgspec.json.decode(msgspec.json.encode(manifest), type=cls)
        assert keys(manifest) <= keys(msgspec.json.decode(msgspec.json.encode(read)))


def test_config_maps_differ_in_length() -> None:
    sizes = [len(msgspec.json.encode(made.manifest)) for made in config_maps(100)]
    assert min(sizes) < 600 < max(sizes)
    assert len({made.name for made in config_maps(100)}) == 100


def test_names_are_those_that_the_go_peers_ask_for() -> None:
    assert settings_name(7) == "settings-007"
    assert [made.name for made in settings(2)] == ["settings-000", "settings-001"]


def test_what_is_made_in_memory_looks_as_if_a_server_had_sent_it() -> None:
    read = [msgspec.json.decode(line, type=Pod) for line in served_pods(60)]
    assert len({one.metadata.uid for one in read}) == len({one.metadata.resource_version for one in read}) == 60
    assert [entry.manager for entry in read[0].metadata.managed_fields] == ["kube-controller-manager", "kubelet"]
    assert sorted(one.metadata.name for one in read) == sorted(one.name for one in pods(60))


def test_managed_fields_name_the_entries_of_a_list_by_what_they_are_called() -> None:
    given = {"a": 1, "args": ["x"], "env": [{"name": "A", "value": "1"}], "conditions": [{"type": "Ready"}]}
    assert fields(given) == {
        "f:a": {},
        "f:args": {},
        "f:env": {'k:{"name":"A"}': {".": {}, "f:name": {}, "f:value": {}}},
        "f:conditions": {'k:{"type":"Ready"}': {".": {}, "f:type": {}}},
    }


def test_the_processor_is_found_in_cpuinfo() -> None:
    assert cpu_model("processor\t: 0\nmodel name\t: ACME  Fast CPU\nflags\t: fpu\n") == "ACME Fast CPU"
    assert cpu_model("") is None


def statuses(made: Made) -> list[dict[str, Any]]:
    assert made.status is not None
    return list(made.status["containerStatuses"])


def keys(value: object, path: str = "") -> set[str]:
    """The paths of all values but nulls."""
    if isinstance(value, dict):
        return set().union(*(keys(v, f"{path}.{k}") for k, v in value.items()), set())
    if isinstance(value, list):
        return set().union(*(keys(v, f"{path}[{n}]") for n, v in enumerate(value)), set())
    return set() if value is None else {path}
