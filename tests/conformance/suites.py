"""Which of Kubernetes' conformance tests are played, and which of them cannot pass where no container really runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final


@dataclass(frozen=True, slots=True)
class Suite:
    """Tests that are chosen by their names."""

    focus: str
    skip: str
    cannot: dict[str, str] = field(default_factory=dict)
    """Those that cannot pass, by a part of their names, with the reason."""

    def excuse(self, name: str) -> str | None:
        """Why a test cannot pass, if so."""
        return next((reason for part, reason in self.cannot.items() if part in name), None)


SUITES: Final = {
    "api": Suite(
        focus="sig-api-machinery.*Conformance",
        skip="Serial|Slow|AdmissionWebhook|Aggregator|CustomResourceConversionWebhook",
        cannot={
            "CustomResourceFieldSelectors": "it deploys a conversion webhook, whose container would have to answer",
        },
    ),
    "apps": Suite(focus="sig-apps.*Conformance", skip="Serial|Slow"),
    "auth": Suite(focus="sig-auth.*Conformance", skip="Serial|Slow"),
    "cli": Suite(focus="sig-cli.*Conformance", skip="Serial|Slow"),
    "scheduling": Suite(focus="sig-scheduling.*Conformance", skip="Serial|Slow"),
}
