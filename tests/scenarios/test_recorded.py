"""All scenarios on local clusters in virtual time, beside what happened on a real control plane when recorded."""

import pytest
from tests.scenarios import baseline
from tests.scenarios.reading import corpus
from tests.scenarios.recording import Recording, differences
from tests.scenarios.servers import locally

_CORPUS = corpus()
_MOST_WAITING = 0.1


def test_there_are_many_and_they_were_recorded() -> None:
    assert len(_CORPUS) >= 60
    assert len({scenario.key for scenario in _CORPUS}) == len(_CORPUS)
    recording = Recording()
    missing = [scenario.key for scenario in _CORPUS if recording.expected(scenario) is None]
    # New scenarios wait for the next recording; more than a few would go unnoticed.
    assert len(missing) <= len(_CORPUS) * _MOST_WAITING, f"not recorded: make scenarios ARGS=--record: {missing}"


@pytest.mark.parametrize("area", sorted({scenario.area for scenario in _CORPUS}))
def test_the_same_happens_as_on_the_real_one(area: str) -> None:
    recording, listed = Recording(), baseline.read()
    wrong: list[str] = []
    for scenario in _CORPUS:
        expected = recording.expected(scenario)
        if scenario.area == area and expected is not None and scenario.key not in listed:
            wrong += [f"{scenario.key}: {line}" for line in differences(scenario, expected, locally(scenario))]
    assert not wrong, "\n".join(wrong)
