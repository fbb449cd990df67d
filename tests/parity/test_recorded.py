"""A tenth of the corpus against the embedded server, beside what a real one answered when it was recorded."""

from pathlib import Path

import pytest
from tests.parity import baseline, recording, servers
from tests.parity.hooks import Hooks
from tests.parity.running import compared, run
from tests.parity.scripts import areas

_MINOR = "1.36"


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_tenth_of_the_corpus_is_as_equal_as_the_baseline_says(tmp_path: Path) -> None:
    recorded = recording.read(_MINOR)
    listed = baseline.read(_MINOR)
    scripts = {area: [s for s in some if recording.chosen(f"{area}/{s.name}")] for area, some in areas().items()}
    chosen = {f"{area}/{s.name}" for area, some in scripts.items() for s in some}
    assert chosen == recorded.keys(), "the corpus has changed: make parity ARGS=--record"
    with Hooks(tmp_path) as hooks, servers.ours(tmp_path, hooks) as server:
        played = run(scripts, server, 4)
    wrong: list[str] = []
    for key, wanted in recorded.items():
        found = compared(wanted, played[key])
        if found and key not in listed:
            wrong.append(f"REGRESSION: {key}: {found[0].line()}")
        if not found and key in listed:
            wrong.append(f"BETTER: {key} is equal now: make parity ARGS=--accept")
    assert not wrong, "\n".join(wrong)
