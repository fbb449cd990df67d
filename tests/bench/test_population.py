import msgspec
from bench.machine import cpu_model
from bench.population import config_map, config_map_name, pod, pod_status

from trimtab.kube.core.v1 import ConfigMap, Pod, PodStatus


def test_pods_differ_as_those_of_a_cluster_do_and_are_the_same_at_every_run() -> None:
    pods = [pod(number) for number in range(200)]
    assert len({p["metadata"]["name"] for p in pods}) == 200
    assert len({c["image"] for p in pods for c in p["spec"]["containers"]}) > 300
    assert len({s["containerID"] for n in range(200) for s in pod_status(n)["containerStatuses"]}) == 600
    assert pods == [pod(number) for number in range(200)]


def test_the_typed_classes_know_every_field() -> None:
    for number in range(20):
        for manifest, cls in ((pod(number), Pod), (config_map(number), ConfigMap), (pod_status(number), PodStatus)):
            read = msgspec.json.decode(msgspec.json.encode(manifest), type=cls)
            written = msgspec.json.decode(msgspec.json.encode(read))
            assert keys(manifest) <= keys(written)


def test_names_are_those_that_the_go_peers_ask_for() -> None:
    assert config_map_name(7) == "settings-007"


def test_the_processor_is_found_in_cpuinfo() -> None:
    assert cpu_model("processor\t: 0\nmodel name\t: ACME  Fast CPU\nflags\t: fpu\n") == "ACME Fast CPU"
    assert cpu_model("") is None


def keys(value: object, path: str = "") -> set[str]:
    """The paths of all values but nulls."""
    if isinstance(value, dict):
        return set().union(*(keys(v, f"{path}.{k}") for k, v in value.items()), set())
    if isinstance(value, list):
        return set().union(*(keys(v, f"{path}[{n}]") for n, v in enumerate(value)), set())
    return set() if value is None else {path}
