"""Whatever arrives, the answer is a Status, and none of them a fault of ours. `make fuzz` asks for much more."""

from __future__ import annotations

import pytest
from tests.apiserver.fuzzing import running, wires


@pytest.mark.parametrize("seed", range(3))
async def test_no_request_is_a_fault_of_ours(seed: int) -> None:
    outcome = await running.run(seed, 2000)
    assert outcome.asked == 2000
    assert not outcome.findings, "\n".join(map(str, outcome.findings))


async def test_no_client_makes_the_server_deaf() -> None:
    outcome = await wires.run(0, 200)
    assert outcome.asked == 200
    assert not outcome.findings, "\n".join(map(str, outcome.findings))
