"""The generator, on schemas small enough to read."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from textwrap import dedent
from typing import Any

import msgspec
import pytest

from trimtab.kube import Struct
from trimtab.kube._index import MODULES

GENERATOR = Path(__file__).parents[2] / "tools/generate"
sys.path.insert(0, str(GENERATOR))
kinds, names, served, nesting = map(import_module, ("kinds", "names", "served", "nesting"))

META = "io.k8s.apimachinery.pkg.apis.meta.v1"
API = "io.k8s.api.toys.v1"


def ref(name: str, **more: Any) -> dict[str, Any]:
    return {"allOf": [{"$ref": f"#/components/schemas/{name}"}], **more}


def schema(required: list[str] | None = None, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "description": "TELLTALE", "required": required or [], "properties": properties}


STRING = {"type": "string"}
INTEGER = {"type": "integer", "format": "int32"}

TOY = {
    f"{API}.Toy": {
        **schema(
            apiVersion=STRING,
            kind=STRING,
            metadata=ref(f"{META}.ObjectMeta", default={}),
            spec=ref(f"{API}.ToySpec", default={}),
            status=ref(f"{API}.ToyStatus", default={}),
        ),
        "x-kubernetes-group-version-kind": [{"group": "toys.example.com", "version": "v1", "kind": "Toy"}],
    },
    f"{API}.ToyList": {
        **schema(items={"type": "array", "items": ref(f"{API}.Toy")}),
        "x-kubernetes-group-version-kind": [{"group": "toys.example.com", "version": "v1", "kind": "ToyList"}],
    },
    f"{API}.ToySpec": schema(
        ["parts"],
        parts={
            "type": "array",
            "items": ref(f"{API}.Part", default={}),
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name", "size"],
            "x-kubernetes-patch-strategy": "merge",
            "x-kubernetes-patch-merge-key": "name",
        },
        tags={"type": "array", "items": STRING, "x-kubernetes-list-type": "set"},
        order={"type": "array", "items": STRING, "x-kubernetes-list-type": "atomic"},
        colours={"type": "object", "additionalProperties": STRING, "x-kubernetes-map-type": "atomic"},
        config=ref("io.k8s.apimachinery.pkg.runtime.RawExtension"),
        secret={"type": "string", "format": "byte"},
        weight=ref("io.k8s.apimachinery.pkg.api.resource.Quantity"),
        part=ref(f"{API}.Part"),
        box=ref(f"{API}.Box", default={}),
        protocol={"type": "string", "default": "TCP"},
        clusterIPs={"type": "array", "items": STRING},
    ),
    f"{API}.Part": schema(["name"], name={**STRING, "default": ""}, size=INTEGER, bool={"type": "boolean"}),
    f"{API}.Box": schema(label={**STRING, "default": ""}, selector=ref(f"{META}.LabelSelector")),
    f"{API}.ToyStatus": schema(
        ["ready"],
        ready={**INTEGER, "default": 0},
        seen=INTEGER,
        since=ref(f"{META}.MicroTime"),
        part=ref(f"{API}.Part", default={}),
    ),
    f"{META}.ObjectMeta": schema(name=STRING, generation=INTEGER, selfLink=STRING),
    f"{META}.LabelSelector": schema(),
    f"{META}.Time": STRING,
    f"{META}.MicroTime": STRING,
}
SERVED = {("toys.example.com", "v1", "Toy"): served.Served("toys", True, ["status", "scale"])}


def test_a_module() -> None:
    files = kinds.modules(TOY, SERVED, "v1.0")
    assert set(files) == {"meta/__init__.py", "meta/v1.py", "toys/__init__.py", "toys/v1.py", "_index.py"}
    assert "TELLTALE" not in "".join(files.values())
    _, _, classes = files["toys/v1.py"].partition("\n\n\n")
    assert (
        classes.strip()
        == dedent(
            """
        class Box(Struct):
            label: str = ''
            selector: meta_v1.LabelSelector | None = None


        class Part(Struct):
            bool_: bool | None = None
            name: str
            size: int | None = None


        class ToySpec(Struct):
            box: Box = field(default_factory=Box)
            cluster_ips: list[str] = field(default=[], name='clusterIPs')
            colours: Annotated[dict[str, str], ATOMIC] = {}
            config: Any = UNSET
            order: list[str] = []
            part: Part | None = None
            parts: Annotated[list[Part], ListMap('name', 'size'), Strategic('merge', 'name')]
            protocol: Annotated[str | None, Default('TCP')] = None
            secret: bytes | None = None
            tags: Annotated[list[str], SET] = []
            weight: QuantityLike | None = None


        class ToyStatus(Struct):
            part: Part | None = None
            ready: int = 0
            seen: int = 0
            since: MicroTime | None = None


        class Toy(Object):
            resource: ClassVar[Resource] = Resource('toys.example.com', 'v1', 'Toy', 'toys', namespaced=True, subresources=('scale', 'status'))
            spec: ToySpec
            status: ToyStatus = field(default_factory=ToyStatus)
        """  # noqa: E501  # as it comes, before ruff
        ).strip()
    )
    assert "name: str = ''" in files["meta/v1.py"]
    assert "generation: int = 0" in files["meta/v1.py"]
    assert "self_link: str | None = None" in files["meta/v1.py"]
    assert "{'toys.example.com/v1/Toy': 'toys.v1'}" in files["_index.py"]


def test_what_the_text_uses_is_imported() -> None:
    assert [*kinds.imports("class A(Struct):\n    field: str | None = None\n    b: core_v1.B")] == [
        "from trimtab.kube.base import Struct",
        "from trimtab.kube.core import v1 as core_v1",
    ]
    assert [*kinds.imports("class A(Object):\n    a: Any = UNSET\n    b: B = field(default_factory=B)")] == [
        "from typing import Any",
        "from msgspec import UNSET, field",
        "from trimtab.kube.objects import Object",
    ]


@pytest.mark.parametrize(
    ("json", "python"),
    [
        ("name", "name"),
        ("clusterIP", "cluster_ip"),
        ("clusterIPs", "cluster_ips"),
        ("podCIDR", "pod_cidr"),
        ("podCIDRs", "pod_cidrs"),
        ("nonResourceURLs", "non_resource_urls"),
        ("serverAddressByClientCIDRs", "server_address_by_client_cidrs"),
        ("hostPID", "host_pid"),
        ("hostIPC", "host_ipc"),
        ("apiServerID", "api_server_id"),
        ("setHostnameAsFQDN", "set_hostname_as_fqdn"),
        ("targetWWNs", "target_wwns"),
        ("insecureSkipTLSVerify", "insecure_skip_tls_verify"),
        ("openAPIV3Schema", "open_api_v3_schema"),
        ("fieldsV1", "fields_v1"),
        ("scaleIO", "scale_io"),
        ("Port", "port"),
        ("$ref", "ref"),
        ("$schema", "schema"),
        ("continue", "continue_"),
        ("from", "from_"),
        ("not", "not_"),
        ("bool", "bool_"),
        ("x-kubernetes-list-map-keys", "x_kubernetes_list_map_keys"),
    ],
)
def test_python_names(json: str, python: str) -> None:
    assert names.python_name(json) == python
    assert names.camel(python) == msgspec.defstruct("S", [(python, str)], rename="camel").__struct_encode_fields__[0]


def test_every_field_has_the_name_that_its_json_name_gives() -> None:
    for name in sorted({"meta.v1", *MODULES.values()}):
        module = import_module(f"trimtab.kube.{name}")
        for cls in (getattr(module, name) for name in module.__all__):
            assert issubclass(cls, Struct)
            assert [*map(names.python_name, cls.__struct_encode_fields__)] == [*cls.__struct_fields__], cls


def test_two_fields_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="Twins get one Python name"):
        kinds.modules({f"{API}.Twins": schema(hostIP=STRING, hostIp=STRING)}, {}, "v1.0")


def test_a_type_without_a_python_type_is_refused() -> None:
    with pytest.raises(ValueError, match="no Python type for"):
        kinds.modules({f"{API}.Odd": schema(odd={"type": "null"})}, {}, "v1.0")


def test_discovery_gives_subresources_to_their_kind() -> None:
    found: dict[tuple[str, str, str], Any] = {}
    resources = [
        {"name": "toys/scale", "kind": "Scale", "namespaced": True, "group": "autoscaling", "version": "v1"},
        {"name": "toys", "kind": "Toy", "namespaced": True},
        {"name": "toys/status", "kind": "Toy", "namespaced": True},
    ]
    served.note_served(found, "toys.example.com", "v1", resources)
    assert found == {
        ("toys.example.com", "v1", "Toy"): served.Served("toys", True, ["scale", "status"]),
        ("autoscaling", "v1", "Scale"): served.Served("", True, []),
    }


def test_a_class_that_only_statuses_hold_asks_for_nothing() -> None:
    schemas = {
        "a.v1.Toy": schema(spec=ref("a.v1.Spec", default={}), status=ref("a.v1.ToyStatus", default={})),
        "a.v1.Spec": schema(["size"], size=INTEGER),
        "a.v1.ToyStatus": schema(["ready"], ready=INTEGER, deep=ref("a.v1.Deep", default={}), spec=ref("a.v1.Spec")),
        "a.v1.Deep": schema(["port"], port=INTEGER),
    }
    found = nesting.Nesting(schemas)
    assert {name for name in schemas if found.zeroed(name)} == {"a.v1.ToyStatus", "a.v1.Deep"}

    def of(owner: str, name: str) -> str:
        return found.of(owner, name, schemas[owner]["properties"][name])

    assert of("a.v1.Toy", "spec") == "given"
    assert of("a.v1.Toy", "status") == "made"
    assert of("a.v1.ToyStatus", "deep") == "made"
    assert of("a.v1.ToyStatus", "spec") == "none"


def test_files_are_written_only_where_they_change(tmp_path: Path) -> None:
    spec = spec_from_file_location("generate", GENERATOR / "__main__.py")
    assert spec
    assert spec.loader
    generate = module_from_spec(spec)
    spec.loader.exec_module(generate)
    texts = {"a/v1.py": "A = 1\n", "b/v1.py": "B = 1\n"}
    generate.write(texts, tmp_path, map(Path, texts))
    (tmp_path / "c").mkdir()
    (tmp_path / "c/v1.py").touch()
    (tmp_path / "b/v1.py").write_text("B = 2\n")
    changes = generate.changed(texts, tmp_path)
    assert changes == [Path("b/v1.py"), Path("c/v1.py")]
    generate.write(texts, tmp_path, changes)
    assert generate.changed(texts, tmp_path) == []
    assert not (tmp_path / "c/v1.py").exists()
