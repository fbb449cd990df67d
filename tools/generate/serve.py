"""A real API server with every built-in API on, and what it says of its kinds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from served import Served, note_served

from trimtab.testing.binaries import DEFAULT_KUBERNETES
from trimtab.testing.control_plane import ControlPlane
from trimtab.testing.waiting import wait_until

ALL_APIS = ("--runtime-config=api/all=true", "--feature-gates=AllAlpha=true,AllBeta=true")

Get = Callable[[str], Any]


@contextmanager
def api_server() -> Iterator[Get]:
    """Run the server, of one version whichever the tests run against; the function reads JSON from it."""
    with ControlPlane(DEFAULT_KUBERNETES, flags={"kube-apiserver": ALL_APIS}, announce=print) as plane:

        def get(path: str) -> Any:
            return plane.request("GET", path)

        version = get("/version")["gitVersion"]
        if version != f"v{DEFAULT_KUBERNETES}":
            raise SystemExit(
                f"the kube-apiserver found is {version}, not v{DEFAULT_KUBERNETES}: unset KUBEBUILDER_ASSETS"
            )
        # Each group publishes its schemas on its own, some a moment after the server is ready.
        wait_until(lambda: group_versions(get) <= get("/openapi/v3")["paths"].keys(), "the schemas of all groups")
        yield get


def group_versions(get: Get) -> set[str]:
    """All of them by path: `api/v1`, `apis/apps/v1`."""
    named = [v["groupVersion"] for group in get("/apis")["groups"] for v in group["versions"]]
    return {"api/v1", *(f"apis/{name}" for name in named)}


def read(get: Get) -> tuple[dict[str, Any], dict[tuple[str, str, str], Served]]:
    """All schemas by name, and for each (group, version, kind) what discovery says."""
    schemas: dict[str, Any] = {}
    served: dict[tuple[str, str, str], Served] = {}
    for path in sorted(group_versions(get)):
        schemas.update(get(f"/openapi/v3/{path}")["components"]["schemas"])
        _, *group, version = path.split("/")
        note_served(served, "".join(group), version, get(f"/{path}")["resources"])
    return dict(sorted(schemas.items())), served
