import pytest

from trimtab.errors import TrimtabError
from trimtab.kube.core.v1 import ConfigMap, Namespace, Node, Secret
from trimtab.kube.dynamic import dynamic
from trimtab.kube.meta.v1 import ObjectMeta, OwnerReference
from trimtab.kube.owners import controller_of, is_controlled_by, is_owned_by, owner_reference, set_owner


def config_map(name: str = "web", uid: str = "u1", namespace: str = "shop") -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace=namespace, uid=uid))


def secret(namespace: str = "shop") -> Secret:
    return Secret(metadata=ObjectMeta(name="web-1", namespace=namespace, uid="p1"))


def test_a_reference_names_the_owner_and_makes_it_the_manager() -> None:
    child, owner = secret(), config_map()
    assert set_owner(child, owner)
    assert child.metadata.owner_references == [
        OwnerReference(
            api_version="v1", kind="ConfigMap", name="web", uid="u1", controller=True, block_owner_deletion=True
        )
    ]
    assert controller_of(child) == owner_reference(owner)
    assert is_controlled_by(child, owner)
    assert is_owned_by(child, owner)
    assert not set_owner(child, owner), "nothing was left to change"


def test_an_owner_that_does_not_manage() -> None:
    child, manager, other = secret(), config_map(), config_map("other", "u2")
    set_owner(child, other, controller=False, block_owner_deletion=False)
    assert controller_of(child) is None
    assert is_owned_by(child, other)
    assert not is_controlled_by(child, other)
    set_owner(child, manager)
    assert [each.uid for each in child.metadata.owner_references] == ["u2", "u1"]
    assert is_controlled_by(child, manager)
    assert set_owner(child, manager, controller=False), "one that gives up management stays an owner"
    assert [each.controller for each in child.metadata.owner_references] == [False, False]


def test_a_namesake_is_another_object() -> None:
    child = secret()
    set_owner(child, config_map(uid="u1"))
    assert not is_controlled_by(child, config_map(uid="u2"))
    assert not is_owned_by(child, config_map(uid="u2"))
    with pytest.raises(
        TrimtabError, match=r"ConfigMap shop/new cannot manage Secret shop/web-1, for ConfigMap web does"
    ):
        set_owner(child, config_map("new", uid="u2"))


def test_owners_that_kubernetes_would_take_for_gone() -> None:
    node = Node(metadata=ObjectMeta(name="n1"))
    with pytest.raises(
        TrimtabError, match=r"^ConfigMap shop/web is in a namespace and cannot own Node n1, which is in"
    ):
        set_owner(node, config_map())
    with pytest.raises(TrimtabError, match=r"^ConfigMap shop/web cannot own Secret db/web-1, .*: put it into 'shop'"):
        set_owner(secret("db"), config_map())
    with pytest.raises(TrimtabError, match=r"^ConfigMap shop/web has no uid, so it cannot own yet"):
        set_owner(secret(), config_map(uid=""))
    assert node.metadata.owner_references == []


def test_what_is_in_no_namespace_owns_everywhere() -> None:
    owner = Namespace(metadata=ObjectMeta(name="shop", uid="n1"))
    for child in (secret(), secret("db"), Node(metadata=ObjectMeta(name="n1"))):
        assert set_owner(child, owner)


def test_dynamic_objects_own_too() -> None:
    owner = dynamic("example.com/v1", "Widget")({"metadata": {"name": "w", "namespace": "shop", "uid": "d1"}})
    child = secret()
    set_owner(child, owner)
    assert child.metadata.owner_references[0].api_version == "example.com/v1"
    assert is_controlled_by(child, owner)
