"""kubectl looks: at documents of what there is to know."""

from __future__ import annotations

from tests.peers.serving import Place


def test_explain(here: Place) -> None:
    """By both versions of OpenAPI, the older of which comes in protobuf."""
    for output in ("plaintext", "plaintext-openapiv2"):
        container = here.kubectl(f"explain pod.spec.containers --output={output}")
        assert "imagePullPolicy\t<string>" in container
        assert "ports\t<[]" in container
        schema = here.kubectl(f"explain crd.spec.versions.schema.openAPIV3Schema --output={output}")
        assert "$ref\t<string>" in schema
        assert "rollingUpdate\t<" in here.kubectl(f"explain deployment.spec.strategy --output={output}")
    assert "FIELDS:\n  apiVersion\t<string>\n" in here.kubectl("explain pod --recursive")
    assert "does not exist" in here.kubectl("explain pod.nope", fails=True)
