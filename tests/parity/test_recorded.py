"""A part of the corpus against the embedded server, beside what a real one answered when it was recorded."""

from pathlib import Path

from tests.parity import baseline, servers
from tests.parity.hooks import Hooks
from tests.parity.recording import Recording, chosen
from tests.parity.running import compared, run
from tests.parity.scripts import areas

_MINOR = "1.36"
_MOST_WAITING = 0.1


def test_what_was_equal_is_equal(tmp_path: Path) -> None:
    recording = Recording(_MINOR)
    listed = baseline.read(_MINOR)
    scripts = {area: [s for s in some if chosen(f"{area}/{s.name}")] for area, some in areas(_MINOR).items()}
    by_key = {f"{area}/{s.name}": s for area, some in scripts.items() for s in some}
    wanted = {key: recording.answers(key, script) for key, script in by_key.items()}
    missing = [key for key, answers in wanted.items() if answers is None]
    # New scripts wait for the next recording; more than a few would go unnoticed.
    assert len(missing) <= len(wanted) * _MOST_WAITING, f"not recorded: make parity ARGS=--record: {missing}"
    with Hooks(tmp_path) as hooks, servers.ours(tmp_path, hooks) as server:
        played = run(scripts, server, 4)
    known = {key: answers for key, answers in wanted.items() if answers is not None and key not in listed}
    found = {key: compared(answers, played[key]) for key, answers in known.items()}
    wrong = [f"REGRESSION: {key}: {differs[0].line()}" for key, differs in found.items() if differs]
    assert not wrong, "\n".join(wrong)
