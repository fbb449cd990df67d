"""A tenth of the corpus against the embedded server, beside what a real one answered when it was recorded."""

from pathlib import Path

from tests.parity import baseline, recording, servers
from tests.parity.hooks import Hooks
from tests.parity.running import compared, run
from tests.parity.scripts import areas

_MINOR = "1.36"


def test_what_was_equal_in_a_tenth_of_the_corpus_is_equal(tmp_path: Path) -> None:
    recorded = recording.read(_MINOR)
    listed = baseline.read(_MINOR)
    scripts = {area: [s for s in some if f"{area}/{s.name}" in recorded] for area, some in areas().items()}
    known = {f"{area}/{s.name}" for area, some in scripts.items() for s in some}
    assert known == recorded.keys(), "scripts have gone: make parity ARGS=--record"
    with Hooks(tmp_path) as hooks, servers.ours(tmp_path, hooks) as server:
        played = run(scripts, server, 4)
    found = {key: compared(wanted, played[key]) for key, wanted in recorded.items() if key not in listed}
    wrong = [f"REGRESSION: {key}: {differs[0].line()}" for key, differs in found.items() if differs]
    assert not wrong, "\n".join(wrong)
