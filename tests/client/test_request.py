"""Paths, queries and the words for a target."""

from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from yarl import URL

from trimtab.client.request import Target, query_string, read
from trimtab.errors import TrimtabError
from trimtab.kube.apps.v1 import Deployment
from trimtab.kube.core.v1 import Node, Pod
from trimtab.kube.kinds import Resource
from trimtab.kube.policy.v1 import Eviction

POD, NODE, DEPLOYMENT = Pod.resource, Node.resource, Deployment.resource


@pytest.mark.parametrize(
    ("target", "path", "words"),
    [
        (Target(POD), "/api/v1/pods", "pods"),
        (Target(POD, "shop"), "/api/v1/namespaces/shop/pods", "pods in shop"),
        (Target(POD, "shop", "web"), "/api/v1/namespaces/shop/pods/web", "pods shop/web"),
        (
            Target(POD, "shop", "web", "eviction"),
            "/api/v1/namespaces/shop/pods/web/eviction",
            "pods/eviction shop/web",
        ),
        (
            Target(DEPLOYMENT, "shop", "web"),
            "/apis/apps/v1/namespaces/shop/deployments/web",
            "deployments.apps shop/web",
        ),
        (Target(NODE, "", "n1"), "/api/v1/nodes/n1", "nodes n1"),
        (Target(NODE, "ignored", "n1"), "/api/v1/nodes/n1", "nodes ignored/n1"),
        # What RBAC allows in names and Python's quoting would not leave alone.
        (Target(NODE, "", "system:node:a@b"), "/api/v1/nodes/system:node:a@b", "nodes system:node:a@b"),
    ],
)
def test_a_target_has_a_path_and_words(target: Target, path: str, words: str) -> None:
    assert target.path == path
    assert str(target) == words
    assert str(read("get", target)) == f"get {words}"


SEGMENTS = st.text(min_size=1) | st.text(alphabet="./%?#&=\\:@;~ \r\n\0aZé\ud800", min_size=1)


@given(name=SEGMENTS, namespace=SEGMENTS, subresource=st.sampled_from(["", "status"]))
@example(name="..", namespace="a", subresource="")
@example(name="a", namespace=".", subresource="")
@example(name="a?x=y#z", namespace="b", subresource="status")
@example(name="a%2f..", namespace="b", subresource="")
@example(name="a\r\nHost: b", namespace="b", subresource="")
def test_nothing_leaves_its_segment(name: str, namespace: str, subresource: str) -> None:
    target = Target(POD, namespace, name, subresource)
    try:
        path = target.path
    except TrimtabError as refused:
        assert len(str(refused).splitlines()) == 1  # noqa: PT017 - whether it is refused depends on the name
        return
    wanted = ["", "api", "v1", "namespaces", namespace, "pods", name, *([subresource] if subresource else [])]
    assert [unquote(part) for part in path.split("/")] == wanted
    assert path.isascii()
    assert path.isprintable()
    assert len(str(target).splitlines()) == 1  # it stands in errors and logs
    # Neither a plain reader of URLs nor the one that sends it sees anything but that path.
    assert urlsplit(f"https://host{path}").path == path
    sent = URL(f"https://host{path}", encoded=True)
    assert (sent.host, sent.raw_path, sent.raw_query_string, sent.fragment) == ("host", path, "", "")


@pytest.mark.parametrize("name", [".", "..", "a/b", "/", "a%2Fb", "a\nb", "a\0", "\ud800"])
@pytest.mark.parametrize("where", ["name", "namespace", "subresource"])
def test_what_could_leave_is_refused(where: str, name: str) -> None:
    with pytest.raises(TrimtabError, match=f"is no {where}"):
        _ = Target(POD, **{"namespace": "a", "name": "b", where: name}).path


def test_a_kind_without_a_plural_has_no_path() -> None:
    assert Eviction.resource.plural == ""
    with pytest.raises(TrimtabError, match="Eviction of policy/v1 has no address of its own"):
        _ = Target(Eviction.resource, "a", "b").path


@given(
    st.dictionaries(
        st.sampled_from(["limit", "watch", "labelSelector", "continue"]),
        st.none() | st.booleans() | st.integers(0, 1000) | st.text(alphabet="a=&?#+%, ()!é\n", max_size=9),
    )
)
def test_a_query_comes_back_as_it_was(query: dict[str, str | int | bool | None]) -> None:
    text = query_string(query)
    said = {k: str(v).lower() if isinstance(v, bool) else str(v) for k, v in query.items() if v is not None and v != ""}
    assert {k: v[0] for k, v in parse_qs(text.removeprefix("?"), keep_blank_values=True).items()} == said
    assert text == "" or text.startswith("?")


def test_a_resource_with_a_group_is_below_apis() -> None:
    assert Target(Resource("example.com", "v1", "Widget", "widgets", namespaced=False)).path == (
        "/apis/example.com/v1/widgets"
    )
